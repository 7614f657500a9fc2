// What can be searched: things, rules, pages, what stands on them, and commands; and how well an
// entry fits.

import { folded } from "../../lib/folded.js";
import { offeredGroups } from "../../lib/navigation.js";
import { address } from "../../lib/router.js";
import { things } from "../../lib/things.js";
import { fetchWords, inLanguage, t } from "../../lib/words.js";

/**
 * `kind` is also its text in words/search.json; `beside` stands in quiet letters behind the name.
 * @typedef {{ kind: "thing" | "rule" | "page" | "setting" | "command", name: string,
 *   beside: string, address: string, text: string }} SearchEntry
 */

// Longer texts are sentences, and those with blanks are never shown as they are.
const MAX_LETTERS = 40;
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
  text: folded(`${name} ${beside} ${more}`),
});

/** @param {Context} context */
const pagesOf = (context) => offeredGroups(context).flatMap(([, group]) => group);

// What is known at once.
/** @param {Context} context */
export function nearEntries(context) {
  return [
    ...things(context).map(({ label, name, value, address: to }) =>
      entry("thing", name, value, to, label),
    ),
    ...ruleEntries(context),
    ...pagesOf(context).map(({ name, group }) =>
      entry("page", t(`page_${name}`), t(`group_${group}`), address(name)),
    ),
  ];
}

// What has to be fetched: the texts of all pages, and the commands.
/** @param {Context} context */
export async function farEntries(context) {
  const [texts] = await Promise.all([
    Promise.all(
      pagesOf(context).map(async ({ name, wordless }) => {
        return { name, words: wordless ? {} : await fetchWords(name) };
      }),
    ),
    context.knowCommands(),
  ]);
  return [
    ...texts.flatMap(({ name, words }) => settingEntries(name, words)),
    ...context.commands.all.map(({ line, doc }) =>
      entry("command", line.split(" ").at(-1) ?? line, doc, address("console", { row: line })),
    ),
  ];
}

/** @param {Context} context */
const ruleEntries = ({ settings }) =>
  (settings?.rules ?? []).flatMap(({ name }, index) =>
    name ? [entry("rule", name, "", address("rules", { edit: index + 1 }))] : [],
  );

// What stands on a page: each text once, with the way to it.
/** @param {string} page @param {import("../../lib/words.js").Words} words */
function settingEntries(page, words) {
  const texts = Object.values(words)
    .map(inLanguage)
    .filter((text) => text.length > 2 && text.length <= MAX_LETTERS && !/[{}.…:]/.test(text));
  return [...new Set(texts)].map((text) =>
    entry("setting", text, t(`page_${page}`), address(page, { find: text })),
  );
}

// The best first: names with words that begin as typed, then those that contain it, then the rest;
// among these things before pages before what stands on them.
/** @param {SearchEntry[]} entries @param {string} typed @param {number} most */
export function bestOf(entries, typed, most) {
  const words = folded(typed).split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  return entries
    .filter(({ text }) => words.every((word) => text.includes(word)))
    .map((one) => ({ one, rank: rank(one, words) }))
    .sort((a, b) => a.rank - b.rank)
    .slice(0, most)
    .map(({ one }) => one);
}

/** @param {SearchEntry} searchEntry @param {string[]} words */
function rank({ name, kind }, words) {
  const own = folded(name);
  const begins = words.every((word) => ` ${own}`.includes(` ${word}`));
  const fit = begins ? 0 : words.every((word) => own.includes(word)) ? 1 : 2;
  return fit * KINDS.length + KINDS.indexOf(kind) - (own.startsWith(words[0]) ? 0.5 : 0);
}
