// New passwords: one rule for all accounts, and typed twice.

import { fetchWords, speaking, t } from "../format/words.js";
import { problemOf } from "./schema.js";

// To be awaited before a form with passwords is drawn.
export const fetchPasswordWords = () => fetchWords("passwords");

// What is wrong with a new password, else with its repetition, each "" where nothing is. `names`
// are names that are public. An account that may not read the commands has no schema: the
// controller says what it refuses.
/**
 * @param {{ wanted: string, again: string }} typed
 * @param {Schema | null | undefined} schema
 * @param {string[]} names
 */
export function passwordProblems({ wanted, again }, schema, names) {
  const weak = weakness(wanted, names);
  return speaking("passwords", () => {
    const wrong = (schema && problemOf(schema, wanted)) || (weak ? t(`weak_${weak}`) : "");
    return { wanted: wrong, again: wrong || wanted === again ? "" : t("not_same") };
  });
}

// Why a password is easy to guess, as far as the password itself shows it.

// Long enough, and among the first that are tried.
const COMMON = /^((password|passw0rd|leverframe|changeme|iloveyou)\d*|administrator|\d+)$/i;
const MIN_DIFFERENT = 5;

// The key of the reason; null without one.
/** @param {string} password @param {string[]} names */
export function weakness(password, names) {
  const folded = password.toLowerCase();
  if (COMMON.test(password)) return "common";
  if (new Set(folded).size < MIN_DIFFERENT) return "alike";
  const known = names.filter((name) => name.length > 2).map((name) => name.toLowerCase());
  const rest = known.reduce((text, name) => text.replaceAll(name, ""), folded);
  return known.length > 0 && rest.length < folded.length / 2 ? "name" : null;
}
