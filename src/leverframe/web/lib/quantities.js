// How values are shown: unit and decimals by label. What somebody has set has the decimals that it
// was set with.

import { numberText } from "./numbers.js";
import { decimal } from "./words.js";

/** @type {[RegExp, string, number][]} */
const UNITS = [
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
export function shown(label, value) {
  if (value === null || value === undefined) return { text: "–", unit: "", absent: true };
  const [, unit, decimals] = UNITS.find(([pattern]) => pattern.test(label)) ?? [null, "", 0];
  const text = decimal(value, decimals);
  const isLong = SHORTENED.test(label);
  return { text: isLong ? text.replace(/[.,]?0+$/, "") : text, unit, absent: false };
}

// What somebody has set for a reading: a threshold, a target.
/** @param {Pick<Context, "overview">} context @param {string} label @param {number} value */
export const setText = ({ overview }, label, value) =>
  `${numberText(value)} ${overview.unit(label) || shown(label, 0).unit}`.trim();
