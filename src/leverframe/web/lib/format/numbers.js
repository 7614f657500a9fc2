// Numbers, quantities and durations as people write them.

import { currentLanguage, decimal, t } from "./words.js";

// Numbers as people write them: with a decimal comma in all these languages but English, and digits
// in groups of three where there are many. Reading takes point or comma, groups or none.
//
//   numberText(1234.5)             "1234,5": also what stands in a field
//   limitText(1000000)             "1 000 000"
//   numberOf("1 000 000")          1000000; NaN where it is no number

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

// How values are shown: unit and decimals by label. Values set by the user keep their decimals.

/** @type {[RegExp, string, number][]} */
const UNIT_OF = [
  [/^(DS\d|T1|TEMP|DEWPOINT)$/, "°C", 1],
  [/^H1$/, "%", 1],
  [/^P1$/, "hPa", 1],
  [/^VCC$/, "V", 2],
  [/^CO2$/, "ppm", 0],
  [/^PM/, "µg/m³", 1],
  [/^POWER\d$/, "", 3],
  [/^ENERGY\d$/, "", 3],
  [/^(INPA\d|DIFF\d|DISTANCE|m\d+)$/, "", 2],
];

// Of power and energy, zeros behind the last figure say nothing: 1.5 kW.
const SHORTENED = /^(POWER|ENERGY)\d$/;

/** @param {string} label @param {number | null | undefined} value */
export function formatValue(label, value) {
  if (value === null || value === undefined) return { text: "–", unit: "", absent: true };
  const [, unit, decimals] = UNIT_OF.find(([pattern]) => pattern.test(label)) ?? [null, "", 0];
  const text = decimal(value, decimals);
  const isLong = SHORTENED.test(label);
  return { text: isLong ? text.replace(/[.,]?0+$/, "") : text, unit, absent: false };
}

// A value set for a reading: a threshold, a target.
/** @param {Pick<Context, "overview">} context @param {string} label @param {number} value */
export const setText = ({ overview }, label, value) =>
  `${numberText(value)} ${overview.unit(label) || formatValue(label, 0).unit}`.trim();

// Durations as people write them: `10 s`, `5 min`, `1 h 25 min`. Reading is the inverse of writing.
//
//   durationText(5100)             "1 h 25 min"
//   roughText(3725)                "1 h 2 min": as precise as people care to hear
//   inOneUnit(7200)                "2 h": in the largest unit of which there are two
//   secondsOf("1 h 25 min")        5100; NaN where it is no duration

// They are written as `in_NAME` has it; what people say instead is understood, too.
/** @type {[name: string, seconds: number, said: RegExp][]} */
const UNITS = [
  ["days", 86_400, /^(d|days?|j|jours?|dni|dzień|dzien|nap|dn[eíů]|den|dny)$/],
  ["hours", 3600, /^(h|hours?|heures?|godz|godzin[ay]?|óra|ora|hod|hodin[ay]?)$/],
  ["minutes", 60, /^(min|m|mins|minutes?|minut[ay]?|perc|p)$/],
  ["seconds", 1, /^(s|sec|secs|seconds?|secondes?|sek|sekund[ay]?|mp|másodperc)$/],
];
const PIECE = /(\d+(?:[.,]\d+)?)\s*([\p{L}]*)\.?\s*/uy;
const MILLI = 1000;

/** @param {string} unit @param {number} count */
const amount = (unit, count) => t(`in_${unit}`, { count: numberText(count) });

/** @param {number} seconds */
export const durationText = (seconds) => piecesOf(seconds).join(" ");

/** @param {number} seconds */
function piecesOf(seconds) {
  const pieces = [];
  let left = Math.round(seconds * MILLI);
  for (const [unit, size] of UNITS) {
    const whole = size === 1 ? left / MILLI : Math.floor(left / (size * MILLI));
    left -= whole * size * MILLI;
    if (whole > 0) pieces.push(amount(unit, whole));
  }
  return pieces.length > 0 ? pieces : [amount("seconds", 0)];
}

// As a limit: "3 d 19 h" instead of "3 d 19 h 1 min 10 s", and never more than is allowed.
/** @param {number} seconds */
export const limitDuration = (seconds) => piecesOf(seconds).slice(0, ROUGH_PARTS).join(" ");

const ROUGH_PARTS = 2;
const MINUTE_S = 60;

// Seconds count up to ten minutes, minutes up to two days.
/** @param {number} seconds */
export function roughText(seconds) {
  const step = seconds < 10 * MINUTE_S ? 1 : seconds < 2 * 86_400 ? MINUTE_S : 3600;
  return piecesOf(Math.round(seconds / step) * step).slice(0, ROUGH_PARTS).join(" ");
}

/** @param {number} seconds */
export function inOneUnit(seconds) {
  const [unit, size] = UNITS.find(([, one]) => seconds >= 2 * one) ?? ["seconds", 1];
  return amount(unit, Math.round(seconds / size));
}

// A number alone is seconds; beside others it needs a unit. Units go from great to small.
/** @param {string} text */
export function secondsOf(text) {
  const typed = text.trim().toLowerCase();
  let milliseconds = 0;
  let before = Infinity;
  PIECE.lastIndex = 0;
  while (PIECE.lastIndex < typed.length) {
    const [, number, unit] = PIECE.exec(typed) ?? [];
    const size = sizeOf(unit ?? "?");
    if (size >= before || (unit === "" && typed !== number)) return NaN;
    milliseconds += Math.round(Number(number.replace(",", ".")) * size * MILLI);
    before = size;
  }
  return typed === "" ? NaN : milliseconds / MILLI;
}

// Infinity where there is no such unit.
/** @param {string} unit */
function sizeOf(unit) {
  if (unit === "") return 1;
  return UNITS.find(([, , pattern]) => pattern.test(unit))?.[1] ?? Infinity;
}
