// The axes of all charts: the time of the place below, plain numbers at the left.

import { fullMoment } from "../moments.js";
import { clock, decimal } from "../words.js";
import { secondOfDay } from "../zone.js";
import { MONTHLY_S, roundTimes } from "./round_times.js";

const MINUTE_S = 60;
const DAY_S = 86_400;
const LETTER_PX = 7.5;
// The room below a chart for its times.
export const TIME_PX = 32;
const FONT = "13px system-ui, sans-serif";

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
