// How values are shown: unit and decimals by label.

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

/** @param {string} label @param {number | null | undefined} value */
export function shown(label, value) {
  if (value === null || value === undefined) return { text: "–", unit: "", absent: true };
  const [, unit, decimals] = UNITS.find(([pattern]) => pattern.test(label)) ?? [null, "", 0];
  return { text: decimal(value, decimals), unit, absent: false };
}
