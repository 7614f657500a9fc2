// What commands, paths and their fields are for, in the reader's language. The controller describes
// them in English; words/commands.json has each text by what it says.

import { fetchWords, inLanguage } from "./words.js";

/** @type {Map<string, import("./words.js").Words[string]>} */
let entries = new Map();

export async function useDescriptions() {
  const words = await fetchWords("commands");
  entries = new Map(Object.values(words).map((entry) => [entry.en, entry]));
}

// The text itself where there is no other, as of a program that is newer than these pages. A number
// at the end is one of several: "entry 3".
/** @param {string} text */
export function described(text) {
  const [, begin, number] = /^(.+)( \d+)$/.exec(text) ?? [];
  const whole = entries.get(text);
  if (whole) return inLanguage(whole);
  const several = entries.get(begin);
  return several ? inLanguage(several) + number : text;
}
