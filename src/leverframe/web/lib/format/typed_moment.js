// Dates and times as they are typed: "2026-01-31 18:30" in every language and every browser. A
// picker of the browser would follow its own language, with a clock of twelve hours.

import { isoDay, secondsOfDay, timeText } from "./moments.js";
import { dayOf, momentOf, secondOfDay } from "./zone.js";

/** @param {number} seconds */
export function momentText(seconds) {
  const minute = Math.floor(secondOfDay(seconds) / 60);
  return `${isoDay(dayOf(seconds))} ${timeText(minute * 60)}`;
}

// What the clock shows then, in seconds since 1970 as if that were UTC; null where it is no moment.
/** @param {string} typed */
export function wallOfMoment(typed) {
  const [, year, month, day, time = ""] =
    /^(\d{4})-(\d{1,2})-(\d{1,2})[ T]+(.+)$/.exec(typed.trim()) ?? [];
  const second = secondsOfDay(time);
  if (second === null) return null;
  return Date.UTC(Number(year), Number(month) - 1, Number(day)) / 1000 + second;
}

// Seconds since 1970; null where it is no moment.
/** @param {string} typed */
export function secondsOfMoment(typed) {
  const wall = wallOfMoment(typed);
  return wall === null ? null : momentOf(wall);
}
