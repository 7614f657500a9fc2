// A condition as people write it: "below 18, until 20". The controller keeps the distance between
// the two values, its hysteresis.

import { numberOf, numberText } from "../../lib/format/numbers.js";
import { t } from "../../lib/format/words.js";

/** @typedef {{ compare: string, reference: number, hysteresis: number }} Condition */

const DIGITS = 12;

// Towards which side a condition ends.
/** @param {string} compare */
const wayOf = (compare) => (compare === "<" ? 1 : -1);

/** @param {number} number */
const tidy = (number) => Number(number.toPrecision(DIGITS));

// At which values a condition begins to hold and ceases.
/** @param {Condition} condition */
export function thresholds({ compare, reference, hysteresis }) {
  return { on: reference, off: tidy(reference + wayOf(compare) * hysteresis) };
}

/** @typedef {"until" | "until2"} End */
/** @typedef {"compare" | "reference" | "hysteresis"} First */
/** @typedef {"compare2" | "reference2" | "hysteresis2"} Second */
/** @typedef {Record<First | Second, string> & Record<End, string | null>} Typed */

// The end of a condition, by the letter of its hysteresis, with the blanks that it belongs to.
/**
 * @type {Record<string, {
 *   end: End,
 *   compare: "compare" | "compare2",
 *   reference: "reference" | "reference2",
 *   hysteresis: "hysteresis" | "hysteresis2",
 * }>}
 */
export const ENDS = {
  E: { end: "until", compare: "compare", reference: "reference", hysteresis: "hysteresis" },
  K: { end: "until2", compare: "compare2", reference: "reference2", hysteresis: "hysteresis2" },
};

// What is typed as the end, or as far from the beginning as before; nothing where that is none.
/** @param {Typed} typed @param {string} letter */
export function endText(typed, letter) {
  const { end, compare, reference, hysteresis } = ENDS[letter];
  const { off } = thresholds({
    compare: typed[compare],
    reference: numberOf(typed[reference]),
    hysteresis: numberOf(typed[hysteresis]),
  });
  return typed[end] ?? (Number.isNaN(off) ? "" : numberText(off));
}

// The distance that is meant; below zero where the end lies on the wrong side.
/** @param {Typed} typed @param {string} letter */
export function hysteresisText(typed, letter) {
  const { end, compare, reference, hysteresis } = ENDS[letter];
  const until = typed[end];
  if (until === null) return typed[hysteresis];
  const found = tidy(wayOf(typed[compare]) * (numberOf(until) - numberOf(typed[reference])));
  return Number.isNaN(found) ? "" : numberText(found);
}

// What is typed, with its distances instead of its ends.
/** @template {Typed} T @param {T} typed @returns {T} */
export const withDistances = (typed) => ({
  ...typed,
  ...{ until: null, until2: null },
  ...{ hysteresis: hysteresisText(typed, "E"), hysteresis2: hysteresisText(typed, "K") },
});

// Why an end cannot be sent, by the value that was typed and not by its distance.
/** @param {Typed} typed @param {string} letter */
export function endProblem(typed, letter) {
  const { end, compare, reference } = ENDS[letter];
  if (typed[end] === null) return null;
  const found = numberOf(hysteresisText(typed, letter));
  if (Number.isNaN(found)) return t("only_number");
  const key = typed[compare] === "<" ? "until_at_least" : "until_at_most";
  return found < 0 ? t(key, { reference: typed[reference] }) : null;
}
