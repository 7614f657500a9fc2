// Entries of the schedule in words.

import { durationText } from "../../lib/durations.js";
import { dayNumber, dayText, weekdayName } from "../../lib/moments.js";
import { namedCode } from "../../lib/things.js";
import { timeText } from "../../lib/time_of_day.js";
import { t } from "../../lib/words.js";
import { WEEKDAYS, kindOf } from "./entry.js";

const SWITCHED = /^(OUT|PWM|EVENT)\d$|^COUNT /;
const DOES = ["off", "on", "reverse"];

/** @type {[string, string[]][]} */
const NAMED_DAYS = [
  ["days_every", WEEKDAYS],
  ["days_work", WEEKDAYS.slice(0, 5)],
  ["days_weekend", WEEKDAYS.slice(5)],
];

/** @param {string} day */
export const dayName = (day) => weekdayName(WEEKDAYS.indexOf(day));

// "At 06:00, on weekdays: set Pump on."; with its end, "From 06:00 to 20:00, ..."
/**
 * @param {Api.ScheduleEntry} entry
 * @param {Context} context
 * @param {Api.ScheduleEntry | null} [end]
 */
export function entrySentence(entry, context, end = null) {
  const effect = effectOf(entry, context);
  const time = timeText(entry.time);
  const days = daysText(entry);
  const kind = kindOf(entry);
  if (end) return t("tells_span", { time, until: timeText(end.time), days, effect });
  if (kind === "period") {
    return t("tells_period", { period: durationText(entry.time), days, effect });
  }
  if (kind === "days") return t("tells_days", { time, days, effect });
  const date = dayText(dayNumber(entry.date ?? ""), { dateStyle: "medium" });
  return t("tells_date", { time, date, effect });
}

// "21:30 to 05:45, every day"
/** @param {{ from: number, to: number, days: string[] }} span */
export const hoursOf = ({ from, to, days }) =>
  t("hours_of", { from: timeText(from), to: timeText(to), days: daysText({ days }) });

// All seven are "every day"; "on weekdays" are Monday to Friday and nothing else.
/** @param {Pick<Api.ScheduleEntry, "days"> & { periodic?: boolean }} scheduleEntry */
export function daysText({ days, periodic = false }) {
  const named = NAMED_DAYS.find(([, meant]) => String(meant) === String(days));
  if (named) return t(named[0]);
  return periodic && days.length === 0 ? t("days_every") : days.map(dayName).join(", ");
}

/** @param {Api.ScheduleEntry} scheduleEntry @param {Context} context */
function effectOf({ action, value }, context) {
  const target = namedCode(context, action);
  return SWITCHED.test(action)
    ? t(`effect_${DOES[value]}`, { target })
    : t("effect_do", { target });
}
