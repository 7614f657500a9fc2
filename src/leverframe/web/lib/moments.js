// Moments in words, in the time of the place (see lib/zone.js). The day has 24 hours in every
// language, as it has for the schedule.

import { clock, currentLanguage } from "./words.js";
import { dayOf, shownZone } from "./zone.js";

const DAY_S = 86_400;
const DAY_MS = 86_400_000;
// The fifth of January 1970.
const MONDAY = 4;

// Date and time, with the parts that `options` of the browser's formats name.
/**
 * @param {number} seconds
 * @param {Intl.DateTimeFormatOptions} options
 * @param {string} [language]
 */
export const fullMoment = (seconds, options, language = currentLanguage()) =>
  new Date(seconds * 1000).toLocaleString(language, {
    ...options,
    hourCycle: "h23",
    timeZone: shownZone(),
  });

// With its seconds.
/** @param {number} seconds */
export const exactMoment = (seconds) =>
  fullMoment(seconds, { dateStyle: "medium", timeStyle: "medium" });

// One of the last day by its time alone.
/** @param {number} seconds @param {number} [now] */
export const moment = (seconds, now = seconds) =>
  now - seconds < DAY_S
    ? clock(seconds)
    : fullMoment(seconds, { dateStyle: "medium", timeStyle: "short" });

// As short as it can be: today by hours and minutes, before and after that with the day.
/** @param {number} seconds @param {number} [now] */
export function shortMoment(seconds, now = seconds) {
  const time = clock(seconds).slice(0, 5);
  if (dayOf(seconds) === dayOf(now)) return time;
  return `${fullMoment(seconds, { day: "numeric", month: "short" })} ${time}`;
}

// A day by its number since 1970.
/** @param {number} day @param {Intl.DateTimeFormatOptions} options */
export const dayText = (day, options) =>
  new Date(day * DAY_MS).toLocaleDateString(currentLanguage(), { ...options, timeZone: "UTC" });

// A day of the week, counted from Monday.
/** @param {number} weekday */
export const weekdayName = (weekday) => dayText(MONDAY + weekday, { weekday: "short" });

// "2026-01-31", and the number of that day.
/** @param {number} day */
export const isoDay = (day) => new Date(day * DAY_MS).toISOString().slice(0, "2026-01-31".length);
/** @param {string} text */
export const dayNumber = (text) => Math.round(Date.parse(`${text}T00:00:00Z`) / DAY_MS);

// For machines, whatever the zone.
/** @param {number} seconds */
export const isoMoment = (seconds) => new Date(seconds * 1000).toISOString();
