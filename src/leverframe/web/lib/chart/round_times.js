// Where the marks of an axis of time stand: at round times of the place, as its clocks show them.

import { isoDay } from "../moments.js";
import { momentsOf, offsetAt } from "../zone.js";

const DAY_S = 86_400;
// Of a twelfth of a year; marks that are about so far apart stand at the first of a month.
const MONTH_S = (365 * DAY_S) / 12;
export const MONTHLY_S = 27 * DAY_S;

// All from a moment to another, so many seconds apart by the clocks.
/** @param {number} from @param {number} to @param {number} step */
export function roundTimes(from, to, step) {
  const offsets = [from, to].map(offsetAt);
  const [begin, end] = [from + Math.min(...offsets), to + Math.max(...offsets)];
  const walls = step < MONTHLY_S ? multiples(begin, end, step) : months(begin, end, step);
  // What the clocks show twice has two marks; what they leave out has none of its own.
  const times = [...new Set(walls.flatMap(momentsOf))];
  return times.filter((time) => time >= from && time <= to).sort((one, other) => one - other);
}

/** @param {number} begin @param {number} end @param {number} step */
function multiples(begin, end, step) {
  const first = Math.ceil(begin / step);
  const count = Math.max(0, Math.floor(end / step) - first + 1);
  return Array.from({ length: count }, (_, index) => (first + index) * step);
}

/** @param {number} begin @param {number} end @param {number} step */
function months(begin, end, step) {
  const year = Number(isoDay(Math.floor(begin / DAY_S)).slice(0, "2026".length));
  const apart = Math.round(step / MONTH_S);
  const found = [];
  for (let month = 0; Date.UTC(year, month) / 1000 <= end; month += apart) {
    found.push(Date.UTC(year, month) / 1000);
  }
  return found;
}
