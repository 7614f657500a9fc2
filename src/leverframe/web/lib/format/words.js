// The texts of the pages in five languages. Each text exists once, in words/*.json: frame.json for
// what all pages share, PAGE.json for one page, codes.json for the words of code lists,
// findings.json for the sentences of findings by their kind, parts.json for the parts in trouble.

import { signal } from "../../vendor/signals-core.js";
import * as api from "../live/api.js";
import { secondOfDay } from "./zone.js";

/** @typedef {keyof typeof LANGUAGES} Language */
/** @typedef {Record<string, Record<Language, string>>} Words */

export const LANGUAGES = { en: "EN", pl: "PL", fr: "FR", hu: "HU", cs: "CZ" };
// As those call them who speak them.
/** @type {Record<string, string>} */
const OWN_NAMES = { EN: "English", PL: "Polski", FR: "Français", HU: "Magyar", CZ: "Čeština" };
/** @returns {[string, string][]} */
export const languageChoices = () =>
  Object.entries(LANGUAGES).map(([name, setting]) => [name, OWN_NAMES[setting]]);
const KEPT = "leverframe.language";
// The factory setting: it says nothing about what people here speak, so the browser decides.
const UNDECIDED = "EN";

/** @type {Map<string, Promise<Words>>} */
const fetched = new Map();
// Those that have come.
/** @type {Map<string, Words>} */
const come = new Map();
/** @type {Words} */
let frame = {};
/** @type {Words} */
let wordsOfForms = {};
/** @type {Words} */
let codes = {};
/** @type {Words} */
let page = {};
/** @type {string | null} */
let pageWanted = null;
let language = chosenLanguage() ?? preferredLanguage();
// How often words have come that something on the page may wait for, or others were chosen.
const changes = signal(0);
// A text of the controller with the names of things instead of their labels.
let withNames = (/** @type {string} */ text) => text;

/** @param {string} name @returns {name is Language} */
function isLanguage(name) {
  return name in LANGUAGES;
}

function chosenLanguage() {
  const stored = localStorage.getItem(KEPT) ?? "";
  return isLanguage(stored) ? stored : null;
}

function preferredLanguage() {
  const spoken = navigator.languages.map((tag) => tag.slice(0, 2).toLowerCase());
  return spoken.find(isLanguage) ?? "en";
}

/** @param {Language} name */
function use(name) {
  language = name;
  document.documentElement.lang = name;
  changes.value++;
}

// What draws is drawn again when there are other words.
export const followWords = () => changes.value;

export const currentLanguage = () => language;

export async function startWords() {
  use(language);
  api.translateRefusals(refusalText);
  frame = await fetchWords("frame");
}

// The sentences of findings: most first views have no finding, and so do not wait for them.
function sentencesOfFindings() {
  const sentences = come.get("findings");
  if (!sentences) fetchWords("findings").catch(() => {});
  return sentences ?? NO_WORDS;
}

/** @type {Words} */
const NO_WORDS = {};
/** @type {WeakMap<Words, Words>} */
const found = new WeakMap();

// Those by which a text can be found: the one about a part in trouble holds any.
function textsOfFindings() {
  const all = sentencesOfFindings();
  const { trouble: _, ...texts } = all;
  const known = found.get(all) ?? texts;
  found.set(all, known);
  return known;
}

// Of code lists and forms: no part of the first view.
export async function completeWords() {
  [codes, wordsOfForms] = await Promise.all([fetchWords("codes"), fetchWords("forms")]);
  changes.value++;
}

// Each file comes once; one that could not be fetched is asked for again the next time.
/** @param {string} name */
export function fetchWords(name) {
  const coming = fetched.get(name) ?? api.words(name);
  if (!fetched.has(name)) {
    coming.then(
      (words) => {
        come.set(name, words);
        changes.value++;
      },
      () => fetched.delete(name),
    );
    fetched.set(name, coming);
  }
  return coming;
}

// The words of a page; null where a page has none of its own. Of several calls the last one counts,
// though an earlier one may get its words later: people leave pages that have not come yet.
/** @param {string | null} name */
export async function usePageWords(name) {
  pageWanted = name;
  const words = name ? await fetchWords(name) : {};
  if (pageWanted === name) page = words;
}

// Draws with the words of something else than the open page: of what stands over it.
/** @template T @param {string} name @param {() => T} draw @returns {T} */
export function speaking(name, draw) {
  const before = page;
  page = come.get(name) ?? page;
  try {
    return draw();
  } finally {
    page = before;
  }
}

// A text of a file of words that has come; null where there is none.
/** @param {string} name @param {string} key */
export function wordIn(name, key) {
  const entry = come.get(name)?.[key] ?? frame[key] ?? wordsOfForms[key];
  return entry ? entry[language] : null;
}

/** @param {string} name */
export function chooseLanguage(name) {
  localStorage.setItem(KEPT, name);
  if (isLanguage(name)) use(name);
}

// The controller's language setting applies until another is chosen in this browser.
/** @param {string} setting */
export function followSetting(setting) {
  const name = Object.keys(LANGUAGES)
    .filter(isLanguage)
    .find((key) => LANGUAGES[key] === setting);
  if (chosenLanguage() === null && setting !== UNDECIDED && name) use(name);
}

/** @param {string} key @param {Values} [values] */
export function t(key, values = {}) {
  const entry = page[key] ?? frame[key] ?? wordsOfForms[key];
  if (!entry) {
    console.error(`There is no text "${key}".`);
    return key;
  }
  return fill(entry[language], values);
}

// A place can name the forms of a word by a number: "{count} {count|setting|settings}".
const PLACE = /\{(\w+)(?:\|([^}]*))?\}/g;

/** @param {string} text @param {Values} values */
const fill = (text, values) =>
  text.replace(PLACE, (_, name, forms) =>
    forms === undefined ? String(values[name]) : formOf(forms.split("|"), Number(values[name])),
  );

// Forms for one, for a few where the language has such, and for many. The rules of the browser
// would cost the first view a hundredth of a second.
/** @param {string[]} forms @param {number} count */
function formOf(forms, count) {
  const isOne = language === "fr" ? count >= 0 && count < 2 : count === 1;
  if (isOne) return forms[0];
  return isFew(count) ? forms[1] : forms[forms.length - 1];
}

/** @param {number} count */
function isFew(count) {
  if (language === "cs") return [2, 3, 4].includes(count);
  return language === "pl" && [2, 3, 4].includes(count % 10) && ![12, 13, 14].includes(count % 100);
}

// The sentence of a finding; null before its words are there, or where its kind is newer. The
// trouble of a part comes as a sentence of the part, and with its name.
/** @param {string} kind @param {Values} values */
export function findingSentence(kind, values) {
  const entry = sentencesOfFindings()[kind];
  // Journals have findings of earlier versions, which did not name the state.
  if (!entry || (kind === "rule_held" && values.state === undefined)) return null;
  if (!values.sentence) {
    const [state, mover] = [onOrOff(values.state), moverText(String(values.mover))];
    return fill(entry[language], { ...values, state, mover });
  }
  const [part, sentence] = [String(values.part), String(values.sentence)];
  return fill(entry[language], { part: partName(part), sentence: serverText(sentence) });
}

// By the detail that the engine gives.
/** @type {Record<string, string>} */
export const TIMERS = {
  "return time": "by_timer_return",
  pulse: "by_timer_pulse",
  "periodic switching": "by_timer_periodic",
  "start delay": "by_timer_start_delay",
  "PID regulator": "by_timer_pid",
};
/** @type {[string, string][]} */
const MOVERS = [
  ["rule ", "cause_rule"],
  ["schedule entry ", "cause_schedule"],
  ["watchdog ", "cause_watchdog"],
  ["restart", "cause_start"],
];

// What has set an output, as findings name it: "return time", "rule Frost".
/** @param {string} mover */
function moverText(mover) {
  if (language === "en") return mover;
  if (TIMERS[mover]) return t(TIMERS[mover]);
  const [start, word] = MOVERS.find(([begin]) => mover.startsWith(begin)) ?? [mover, "cause_hand"];
  return `${t(word)} ${mover.slice(start.length)}`.trim();
}

/** @param {unknown} state */
const onOrOff = (state) => t(state === "on" ? "state_on" : "state_off");

/** @param {string} name */
function partName(name) {
  if (language === "en") return name;
  const parts = come.get("parts");
  if (!parts) fetchWords("parts").catch(() => {});
  return (parts && translate(parts, name, (value) => value)) ?? name;
}

// An entry of a file of words in the present language.
/** @param {Words[string]} entry */
export const inLanguage = (entry) => entry[language];

// Limits, perhaps with a unit: "0 to 3600", "1 to 100 edges", "0.1s to 1d".
const RANGE = /^(-?[\d.]\S*) to (-?[\d.]\S*)(?: (\S.*))?$/;

// The command that would fix it, for readers outside the pages.
const COMMAND = /; set (?:one|it up) with \S+=\S*\.\.\.$|\. Unlock with \S+$|: \/\w+\.cgi\?\S+$/;
// Places of sentences that hold words of code lists.
const OF_CODE_LISTS = ["sensor", "amplified"];
// The field as requests call it: a page says so where the field stands.
const FIELD = /^Field \w+: /;

// A sentence that the server made, in the reader's language: found by its text, in which places
// hold what differs. In English it stays as it is; before the words have come, too.
/** @param {string} text @returns {string} */
export function serverText(text) {
  if (!text) return text;
  if (language === "en") return text.replace(COMMAND, ".");
  const [, least, most, unit = ""] = RANGE.exec(text) ?? [];
  if (least) return `${least} – ${most} ${serverText(unit)}`.trim();
  const sentences = come.get("server");
  if (!sentences) {
    fetchWords("server").catch(() => {});
    return text;
  }
  const translated = translate(sentences, text, (value, name) =>
    OF_CODE_LISTS.includes(name) ? code(value) : serverText(value),
  );
  if (translated !== null) return translated;
  const finding = translate(textsOfFindings(), text, (value, name) =>
    name === "state" ? onOrOff(value) : name === "mover" ? moverText(value) : value,
  );
  if (finding !== null) return finding;
  // What a sentence is about stands before it: "OUT0: ...", "E-mail: ...".
  const [, about, rest] = /^([^:]{1,60}): (.+)$/s.exec(text) ?? [];
  return rest ? `${partName(about)}: ${serverText(rest)}` : text;
}

// A text in the reader's language, found by its English one, with what stands in its places.
/**
 * @param {Words} texts
 * @param {string} text
 * @param {(value: string, name: string) => string} inPlace
 */
function translate(texts, text, inPlace) {
  for (const [pattern, names, entry] of patternsOf(texts)) {
    const places = pattern.exec(text);
    if (!places) continue;
    const values = names.map((name, at) => [name, inPlace(places[at + 1], name)]);
    return fill(entry[language], Object.fromEntries(values));
  }
  return null;
}

// A refusal waits for its words: it is said once.
/** @param {string} text */
async function refusalText(text) {
  if (language !== "en") await fetchWords("server").catch(() => {});
  return withNames(serverText(text.replace(FIELD, "")));
}

// A refusal calls things by their labels; a page knows what people call them.
/** @param {typeof withNames} names */
export function nameThings(names) {
  withNames = names;
}

/** @typedef {[RegExp, string[], Record<Language, string>]} Pattern */
/** @type {WeakMap<Words, Pattern[]>} */
const patterns = new WeakMap();

/** @param {Words} sentences */
function patternsOf(sentences) {
  const made = patterns.get(sentences) ?? Object.values(sentences).map(patternOf);
  patterns.set(sentences, made);
  return made;
}

/** @param {Record<Language, string>} entry @returns {Pattern} */
function patternOf(entry) {
  /** @type {string[]} */
  const names = [];
  const pieces = entry.en.split(/\{(\w+)\}/).map((piece, at) => {
    if (at % 2 === 0) return piece.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    names.push(piece);
    return "(.*?)";
  });
  return [new RegExp(`^${pieces.join("")}$`, "s"), names, entry];
}

// A text by its key, or by [key, values]: the way in which cards and fields name their texts.
/** @param {Named} named */
export const text = (named) => (Array.isArray(named) ? t(...named) : t(named));

// The word of a code list. Labels and names of parts are the same in every language, also where one
// stands at the end: "RESET ENERGY1".
/** @param {string} word */
export const code = (word) => OWN_NAMES[word] ?? wordOf(codes, String(word));

// Whether it is a word of a code list, rather than a text of the user.
/** @param {string} word */
export const isCode = (word) => code(word) !== word || word in codes;

// What a module of the controller's own list calls its reading: "voltage L1".
/** @param {string} name */
export function readingWord(name) {
  if (language === "en" || !name) return name;
  if (!come.has("readings")) fetchWords("readings").catch(() => {});
  return wordOf(come.get("readings") ?? {}, name);
}

/** @param {Words} words @param {string} whole */
function wordOf(words, whole) {
  const cut = whole.lastIndexOf(" ");
  const [begin, end] = cut < 0 ? ["", ""] : [whole.slice(0, cut), whole.slice(cut)];
  return words[whole]?.[language] ?? (words[begin] ? words[begin][language] + end : whole);
}

// Values and times are everywhere and change all the time, so they are written without the costly
// formats of the browser. All these languages but English have a decimal comma.
/** @param {number} value @param {number} digits */
export function decimal(value, digits) {
  // Without the sign of what rounds to zero.
  const written = Number(value)
    .toFixed(digits)
    .replace(/^-(?=0(\.0*)?$)/, "");
  return language === "en" ? written : written.replace(".", ",");
}

/** @param {number} seconds */
export function clock(seconds) {
  const second = secondOfDay(seconds);
  return [second / 3600, (second / 60) % 60, second % 60]
    .map((part) => String(Math.floor(part)).padStart(2, "0"))
    .join(":");
}

// Texts whose places hold more than text: inputs, marks, links.
//
//   rich(t("after", PLACES), { delay: html`<input />` })
//
// Each language has its own order of words, and so of what stands between them.

const MARKED = /\uE000(\w+)\uE001/;

// Instead of values: leaves every place of a text open.
export const PLACES = new Proxy({}, { get: (_, name) => `\uE000${String(name)}\uE001` });

/** @param {string} whole @param {Record<string, Template>} parts */
export function rich(whole, parts) {
  return whole.split(MARKED).map((piece, index) => (index % 2 ? parts[piece] : piece));
}

// A text without accents and case, so that who types "zarovka" finds "Žárovka".

/** @param {string} accented */
export const fold = (accented) =>
  accented
    .normalize("NFD")
    .replace(/\p{Diacritic}/gu, "")
    .toLowerCase();
