// The axes of all charts: the time of the place below, plain numbers at the left.

import { fullMoment, isoDay } from "../format/moments.js";
import { clock, decimal } from "../format/words.js";
import { momentsOf, offsetAt, secondOfDay } from "../format/zone.js";

const MINUTE_S = 60;
const DAY_S = 86_400;
const LETTER_PX = 7.5;
// The room below a chart for its times.
export const TIME_PX = 32;
export const FACE = "Inter, system-ui, sans-serif";
const FONT = `13px ${FACE}`;

/** @param {number} seconds @param {number} step */
function timeText(seconds, step) {
  if (step >= MONTHLY_S) return fullMoment(seconds, { month: "short", year: "2-digit" });
  const isMidnight = secondOfDay(seconds) < MINUTE_S;
  if (step >= DAY_S || isMidnight) return fullMoment(seconds, { day: "numeric", month: "short" });
  return step < MINUTE_S ? clock(seconds) : clock(seconds).slice(0, 5);
}

// As many decimals as the places need: steps of 2.5 one, of 0.25 two.
/** @param {number} step */
export const digitsOf = (step) =>
  [0, 1, 2, 3, 4, 5, 6].find((digits) => isWhole(step * 10 ** digits)) ?? 6;
/** @param {number} number */
const isWhole = (number) => Math.abs(number - Math.round(number)) < 1e-6;

/** @param {Colours} colours @returns {uPlot.Axis} */
export function timeAxis(colours, show = true) {
  return {
    show,
    font: FONT,
    stroke: () => colours("quiet"),
    grid: { stroke: () => colours("line"), width: 1 },
    ticks: { stroke: () => colours("line"), width: 1, size: 4 },
    space: 72,
    size: TIME_PX,
    splits: (_, __, from, to, step) => roundTimes(from, to, step),
    values: (_, places, __, ___, step) => places.map((place) => timeText(place, step)),
  };
}

/** @param {Colours} colours @returns {uPlot.Axis} */
export function valueAxis(colours) {
  return {
    font: FONT,
    stroke: () => colours("quiet"),
    grid: { stroke: () => colours("line"), width: 1 },
    ticks: { show: false },
    size: valueAxisWidth,
    values: (_, places, __, ___, step) => places.map((place) => decimal(place, digitsOf(step))),
  };
}

// All charts of a page begin at the same place, so that their times stand above each other.
export const LEFT_PX = 64;

/** @param {uPlot} _ @param {string[] | null} values */
function valueAxisWidth(_, values) {
  const longest = Math.max(0, ...(values ?? []).map((value) => value.length));
  return Math.max(LEFT_PX, longest * LETTER_PX + 16);
}

// Where the marks of an axis of time stand: at round times of the place, as its clocks show them.

// Of a twelfth of a year; marks that are about so far apart stand at the first of a month.
const MONTH_S = (365 * DAY_S) / 12;
const MONTHLY_S = 27 * DAY_S;

// All moments from one to another, this number of seconds apart by the clocks.
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
