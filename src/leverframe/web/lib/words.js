// The texts of the pages in five languages. Each text exists once, in words/*.json: frame.json for
// what all pages share, PAGE.json for one page, codes.json for the words of code lists.

import * as api from "./api.js";

export const LANGUAGES = { en: "EN", pl: "PL", fr: "FR", hu: "HU", cs: "CZ" };
const KEPT = "leverframe.language";
// The factory setting: it says nothing about what people here speak, so the browser decides.
const UNDECIDED = "EN";

const fetched = new Map();
let frame = {};
let codes = {};
let page = {};
let language = chosen() ?? preferred();

function chosen() {
  const kept = localStorage.getItem(KEPT);
  return kept in LANGUAGES ? kept : null;
}

function preferred() {
  const spoken = navigator.languages.map((tag) => tag.slice(0, 2).toLowerCase());
  return spoken.find((tag) => tag in LANGUAGES) ?? "en";
}

function use(name) {
  language = name;
  document.documentElement.lang = name;
}

export const currentLanguage = () => language;

export async function startWords() {
  use(language);
  frame = await fetchWords("frame");
}

// No part of the first view.
export async function useCodes() {
  codes = await fetchWords("codes");
}

// Each file comes once; one that could not be fetched is asked for again the next time.
export function fetchWords(name) {
  if (!fetched.has(name)) {
    const coming = api.words(name);
    coming.catch(() => fetched.delete(name));
    fetched.set(name, coming);
  }
  return fetched.get(name);
}

// The words of a page; null where a page has none of its own.
export async function usePageWords(name) {
  page = name ? await fetchWords(name) : {};
}

export function chooseLanguage(name) {
  localStorage.setItem(KEPT, name);
  use(name);
}

// The controller's own language setting holds until somebody chooses another in this browser.
export function followSetting(code) {
  const name = Object.keys(LANGUAGES).find((key) => LANGUAGES[key] === code);
  if (chosen() === null && code !== UNDECIDED && name) use(name);
}

export function t(key, values = {}) {
  const entry = page[key] ?? frame[key];
  if (!entry) {
    console.error(`There is no text "${key}".`);
    return key;
  }
  return entry[language].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

// A text by its key, or by [key, values]: the way in which cards and fields name their texts.
export const text = (named) => (Array.isArray(named) ? t(...named) : t(named));

// The word of a code list. Labels and names of parts are the same in every language, also where one
// stands at the end: "RESET ENERGY1".
export function code(word) {
  const whole = String(word);
  const cut = whole.lastIndexOf(" ");
  const [begin, end] = [whole.slice(0, cut), whole.slice(cut)];
  return codes[whole]?.[language] ?? (codes[begin] ? codes[begin][language] + end : whole);
}

// Values and times are everywhere and change all the time, so they are written without the costly
// formats of the browser. All these languages but English have a decimal comma.
export function decimal(value, digits) {
  const text = Number(value).toFixed(digits);
  return language === "en" ? text : text.replace(".", ",");
}

export function clock(seconds) {
  const date = new Date(seconds * 1000);
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}
