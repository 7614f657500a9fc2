// Moments and times of day in words, and whose they are.

import { html, nothing } from "../../vendor/lit-html.js";
import { address } from "../frame/router.js";
import { durationText } from "./numbers.js";
import { clock, currentLanguage, t } from "./words.js";
import { dayOf, readerAhead, displayZone, zoneName } from "./zone.js";

// Moments in words, in the time of the place (see zone.js). The day has 24 hours in every language,
// as it has for the schedule.

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
    timeZone: displayZone(),
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

// Times of day as people write them, by 24 hours in every language: `06:30`, `22:00`. Reading is
// the inverse of writing, and takes more ways than are written.
//
//   timeText(23400)         "06:30"; with seconds only where there are any
//   secondsOfDay("6:30")    23400; null where it is no time of day

/** @param {number} seconds */
export function timeText(seconds) {
  const parts = [seconds / 3600, (seconds / 60) % 60, seconds % 60].map(Math.floor);
  const shown = parts[2] ? parts : parts.slice(0, 2);
  return shown.map((part) => String(part).padStart(2, "0")).join(":");
}

// 6:30, 06:30:15, 6.30, 6h30, 18, 6:30 pm
const TIME = /^(\d{1,2})(?:\s*[:.h]\s*(\d{2})(?:[:.](\d{2}))?)?\s*(?:h|([ap])\.?m\.?)?$/;
const NOON = 12;

/** @param {string} text @returns {number | null} */
export function secondsOfDay(text) {
  const [, hour, minutes = "0", seconds = "0", half] = TIME.exec(text.trim().toLowerCase()) ?? [];
  if (hour === undefined) return null;
  const isHalf = half !== undefined;
  const hours = isHalf ? (Number(hour) % NOON) + (half === "p" ? NOON : 0) : Number(hour);
  const isTime = isHalf ? Number(hour) >= 1 && Number(hour) <= NOON : hours < 24;
  if (!isTime || Number(minutes) > 59 || Number(seconds) > 59) return null;
  return hours * 3600 + Number(minutes) * 60 + Number(seconds);
}

// Says where the times of a page are those of, if the reader's clock shows another.

/** @param {number | null | undefined} now @param {Template} [more] */
export function zoneNote(now, more = nothing) {
  const note = now ? difference(now) : null;
  return note ? html`<p class="note zone">${note} ${more}</p>` : nothing;
}

// UTC that was not chosen is hardly the zone of the place.
/** @param {Context} context */
export const zoneNoteOf = ({ live, settings }) =>
  zoneNote(
    live.state.time,
    settings?.timezone === "" && zoneName() === "UTC"
      ? html`<a href=${address("system", { open: "interface" })}>${t("zone_choose")}</a>`
      : nothing,
  );

/** @param {number} now */
function difference(now) {
  const zone = zoneName().replaceAll("_", " ");
  if (zone && !displayZone()) return t("zone_unknown", { zone });
  const ahead = readerAhead(now);
  if (ahead === 0) return null;
  const values = { zone, time: clock(now).slice(0, 5), amount: durationText(Math.abs(ahead)) };
  return t(ahead > 0 ? "zone_ahead" : "zone_behind", values);
}
