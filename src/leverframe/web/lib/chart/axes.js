// The axes of all charts: local time below, plain numbers at the left.

import { currentLanguage, decimal } from "../words.js";

const MINUTE_S = 60;
const DAY_S = 86_400;
const LETTER_PX = 7.5;
// The room below a chart for its times.
export const TIME_PX = 32;
const FONT = "13px system-ui, sans-serif";

/** @type {Intl.DateTimeFormatOptions} */
const DATE = { day: "numeric", month: "short" };

/** @param {number} seconds @param {number} step */
function timeText(seconds, step) {
  const moment = new Date(seconds * 1000);
  const isMidnight = moment.getHours() === 0 && moment.getMinutes() === 0;
  if (step >= 27 * DAY_S) {
    return moment.toLocaleDateString(currentLanguage(), { month: "short", year: "2-digit" });
  }
  if (step >= DAY_S || isMidnight) return moment.toLocaleDateString(currentLanguage(), DATE);
  /** @type {Intl.DateTimeFormatOptions} */
  const options = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  if (step < MINUTE_S) options.second = "2-digit";
  return moment.toLocaleTimeString(currentLanguage(), options);
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
