// Durations as people write them: `10 s`, `5 min`, `1 h 25 min`. Reading is the inverse of writing.
//
//   durationText(5100)             "1 h 25 min"
//   roughText(3725)                "1 h 2 min": as precise as people care to hear
//   inOneUnit(7200)                "2 h": in the largest unit of which there are two
//   secondsOf("1 h 25 min")        5100; NaN where it is no duration

import { numberText } from "./numbers.js";
import { t } from "./words.js";

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
  const said = text.trim().toLowerCase();
  let milliseconds = 0;
  let before = Infinity;
  PIECE.lastIndex = 0;
  while (PIECE.lastIndex < said.length) {
    const [, number, unit] = PIECE.exec(said) ?? [];
    const size = sizeOf(unit ?? "?");
    if (size >= before || (unit === "" && said !== number)) return NaN;
    milliseconds += Math.round(Number(number.replace(",", ".")) * size * MILLI);
    before = size;
  }
  return said === "" ? NaN : milliseconds / MILLI;
}

// Infinity where there is no such unit.
/** @param {string} unit */
function sizeOf(unit) {
  if (unit === "") return 1;
  return UNITS.find(([, , pattern]) => pattern.test(unit))?.[1] ?? Infinity;
}
