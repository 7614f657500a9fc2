// What can be searched: things, rules, pages, what stands on them, and commands; and how well an
// entry fits.

import { fetchWords, fold, inLanguage, t } from "../../lib/format/words.js";
import { listGroups } from "../../lib/frame/frame.js";
import { partsOf } from "../../lib/frame/parts.js";
import { address } from "../../lib/frame/router.js";
import { describe, useDescriptions } from "../../lib/live/commands.js";
import { numberRules } from "../../lib/live/tree.js";
import { things } from "../../lib/things/things.js";
import { MODULES } from "../things/lists.js";

/** @import { Words } from "../../lib/format/words.js" */

/**
 * `kind` is also its text in words/search.json; `beside` stands in quiet letters behind the name.
 * `text` is all that it is found by, `names` what it is called, here and by other people.
 * @typedef {{ kind: "thing" | "rule" | "page" | "setting" | "command", name: string,
 *   beside: string, address: string, text: string, names: string }} SearchEntry
 */

// Longer texts are sentences, and those with blanks are never shown as they are.
const MAX_LETTERS = 40;
// What every user chooses in this browser; the page of all pages has it, too.
const OWN_CHOICES = ["language", "theme"];
const KINDS = ["thing", "rule", "page", "setting", "command"];

/**
 * @param {SearchEntry["kind"]} kind
 * @param {string} name
 * @param {string} beside
 * @param {string} to
 * @param {string} [more] found, too, but not shown
 * @returns {SearchEntry}
 */
const entry = (kind, name, beside, to, more = "") => ({
  kind,
  name,
  beside,
  address: to,
  text: plain(`${name} ${beside} ${more}`),
  names: plain(`${name} ${kind === "command" ? "" : more}`),
});

// "Wi-Fi" is looked for as "wifi", "e-mail" as "email".
/** @param {string} text */
const plain = (text) => fold(text).replaceAll("-", "");

/** @param {Context} context */
const pagesOf = (context) => listGroups(context).flatMap(([, group]) => group);

// All that can be found, also by other words for the same.
/** @param {Context} context */
export async function allEntries(context) {
  const synonyms = await fetchWords("synonyms");
  return [...nearEntries(context, synonyms), ...(await farEntries(context, synonyms))];
}

// What else a text is looked for by: a page or a choice by its key, what stands on one with the
// file of its words: "email.host".
/** @param {Words} synonyms @param {string} key */
const alsoCalled = (synonyms, key) => (synonyms[key] ? inLanguage(synonyms[key]) : "");

// The entries that need no request.
/** @param {Context} context @param {Words} [synonyms] */
export function nearEntries(context, synonyms = {}) {
  return [
    ...things(context).map(({ label, name, value, address: to }) =>
      entry("thing", name, value, to, label),
    ),
    ...ruleEntries(context),
    ...pagesOf(context).map(({ name, group }) => {
      const also = alsoCalled(synonyms, `page_${name}`);
      return entry("page", t(`page_${name}`), t(`group_${group}`), address(name), also);
    }),
    ...groupsOf(context).map(({ file, page, params, title }) => {
      const also = alsoCalled(synonyms, `page_${file}`);
      return entry("page", title, t(`page_${page}`), address(page, params), also);
    }),
    ...OWN_CHOICES.map((key) => {
      const to = address("more", { find: t(key) });
      return entry("setting", t(key), t("own_choices"), to, alsoCalled(synonyms, key));
    }),
  ];
}

// What has to be fetched: the texts of all pages, and the commands.
/** @param {Context} context @param {Words} synonyms */
async function farEntries(context, synonyms) {
  const [texts] = await Promise.all([
    Promise.all([...drawersOf(context), ...groupsOf(context), ...sheetsOf(context)].map(read)),
    context.knowCommands(),
    useDescriptions(),
  ]);
  return [
    ...texts.flatMap((place) => settingEntries(place, synonyms)),
    ...context.commands.all.map(({ line, doc }) =>
      entry(
        "command",
        line.split(" ").at(-1) ?? line,
        describe(doc).replaceAll("`", ""),
        address("console", { row: line }),
      ),
    ),
  ];
}

/** @param {Context} context */
const ruleEntries = ({ settings }) =>
  numberRules(settings?.rules).flatMap(({ number, rule: { name } }) =>
    name ? [entry("rule", name, "", address("rules", { edit: number }))] : [],
  );

// Where settings stand: the file of their words, what that place is called, and its address.
/** @typedef {{ file: string, title: string, page: string, params: Params }} Place */

/** @param {Context} context @returns {Place[]} */
const sheetsOf = (context) =>
  pagesOf(context)
    .filter(({ wordless }) => !wordless)
    .map(({ name }) => ({ file: name, title: t(`page_${name}`), page: name, params: {} }));

// The groups of pages that have such.
/** @param {Context} context @returns {Place[]} */
const groupsOf = (context) =>
  pagesOf(context).flatMap((page) =>
    partsOf(context, page).map((part) => ({
      file: part,
      title: t(`page_${part}`),
      page: page.name,
      params: { open: part },
    })),
  );

// The drawer of the first thing of each kind.
/** @param {Context} context @returns {Place[]} */
function drawersOf(context) {
  const firsts = new Map(
    things(context)
      .toReversed()
      .map(({ kind, label, name }) => [MODULES[kind ?? ""], { label, name }]),
  );
  return [...firsts].flatMap(([file, { label, name }]) =>
    file && context.isAdmin
      ? [{ file, title: name, page: "things", params: { thing: label } }]
      : [],
  );
}

/** @param {Place} place */
const read = async (place) => ({ ...place, words: await fetchWords(place.file) });

// What stands there: each text once, with the way to it.
/** @param {Place & { words: Words }} place @param {Words} synonyms */
function settingEntries({ file, title, page, params, words }, synonyms) {
  /** @type {Map<string, string>} */
  const found = new Map();
  for (const [key, word] of Object.entries(words)) {
    const text = inLanguage(word);
    if (text.length <= 2 || text.length > MAX_LETTERS || /[{}.…:]/.test(text)) continue;
    found.set(text, `${found.get(text) ?? ""} ${alsoCalled(synonyms, `${file}.${key}`)}`);
  }
  return [...found].map(([text, also]) =>
    entry("setting", text, title, address(page, { ...params, find: text }), also),
  );
}

// The best first: names with words that begin as typed, then those that contain it, then the rest;
// among these things before pages before what stands on them.
/** @param {SearchEntry[]} entries @param {string} typed @param {number} most */
export function bestOf(entries, typed, most) {
  const words = plain(typed).split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  return entries
    .filter(({ text }) => words.every((word) => text.includes(word)))
    .map((one) => ({ one, rank: rank(one, words) }))
    .sort((a, b) => a.rank - b.rank)
    .slice(0, most)
    .map(({ one }) => one);
}

/** @param {SearchEntry} searchEntry @param {string[]} words */
function rank({ names, kind }, words) {
  const begins = words.every((word) => ` ${names}`.includes(` ${word}`));
  const fit = begins ? 0 : words.every((word) => names.includes(word)) ? 1 : 2;
  return fit * KINDS.length + KINDS.indexOf(kind) - (names.startsWith(words[0]) ? 0.5 : 0);
}
