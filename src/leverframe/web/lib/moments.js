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

// As short as it can be: today by hours and minutes, before and after that with the day.
/** @param {number} seconds @param {number} [now] */
export function shortMoment(seconds, now = seconds) {
  const time = clock(seconds).slice(0, 5);
  const [day, today] = [seconds, now].map((one) => new Date(one * 1000).toDateString());
  if (day === today) return time;
  return `${fullMoment(seconds, { day: "numeric", month: "short" })} ${time}`;
}
