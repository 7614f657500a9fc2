// Moments in words, in the time of whoever looks. The day has 24 hours in every language, as it
// has for the schedule.

import { clock, currentLanguage } from "./words.js";

const DAY_S = 86_400;

// Date and time, with the parts that `options` of the browser's formats name.
/** @param {number} seconds @param {Intl.DateTimeFormatOptions} options */
export const fullMoment = (seconds, options) =>
  new Date(seconds * 1000).toLocaleString(currentLanguage(), { ...options, hourCycle: "h23" });

// One of the last day by its time alone.
/** @param {number} seconds @param {number} [now] */
export const moment = (seconds, now = seconds) =>
  now - seconds < DAY_S
    ? clock(seconds)
    : fullMoment(seconds, { dateStyle: "medium", timeStyle: "short" });
