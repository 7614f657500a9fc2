// Numbers as people write them: with a decimal comma in all these languages but English, and digits
// in groups of three where there are many. Reading takes point or comma, groups or none.
//
//   numberText(1234.5)             "1234,5": also what stands in a field
//   limitText(1000000)             "1 000 000"
//   numberOf("1 000 000")          1000000; NaN where it is no number

import { currentLanguage } from "./words.js";

// A comma between groups, as English has it, would be taken for a decimal comma where it is typed.
const BETWEEN_GROUPS = "\u00a0";
// Fewer are read at a glance.
const MANY_DIGITS = /^(-?)(\d{5,})/;
const DIGITS = 12;

// With the digits that it has.
/** @param {unknown} value */
export function numberText(value) {
  const tidy = typeof value === "number" ? Number(value.toPrecision(DIGITS)) : value;
  const text = String(tidy);
  return currentLanguage() === "en" ? text : text.replace(".", ",");
}

/** @param {number} value */
export const limitText = (value) =>
  numberText(value).replace(
    MANY_DIGITS,
    (_, sign, digits) => sign + digits.replace(/\B(?=(\d{3})+$)/g, BETWEEN_GROUPS),
  );

/** @param {string} typed */
export function numberOf(typed) {
  const plain = typed
    .trim()
    .replace(/(\d)\s(?=\d{3}(?!\d))/g, "$1")
    .replace(",", ".");
  return plain === "" ? NaN : Number(plain);
}
