// An entry of the schedule being written: what is typed, what is wrong with it, and its fields on
// the wire. The controller takes the schedule as a whole.

import {
  dayNumber,
  dayText,
  secondsOfDay,
  timeText,
  weekdayName,
} from "../../lib/format/moments.js";
import { durationText, secondsOf } from "../../lib/format/numbers.js";
import { t } from "../../lib/format/words.js";
import { choices, problemOf, range } from "../../lib/forms/schema.js";
import { observe } from "../../lib/live/drawing.js";
import { isSame } from "../../lib/live/tree.js";
import { codeName } from "../../lib/things/things.js";

/** @typedef {ReturnType<typeof toTyped>} TypedEntry */
/**
 * Where the end of a span is kept, or would be; no place where all are used.
 * @typedef {{ place: number | null, entry: Api.ScheduleEntry | null }} Ending
 */

export const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const PERIODIC = 256;
const SWITCHED = /^(OUT|PWM|EVENT)\d$/;
/** @type {Ending} */
const NO_END = { place: null, entry: null };
const USUAL_PERIOD_S = 3600;
const DAY_S = 86_400;

const EMPTY_ENTRY = {
  name: "",
  action: "OUT0",
  value: 1,
  time: 0,
  date: null,
  days: WEEKDAYS,
  periodic: false,
  active: true,
};

// How an entry repeats: at a time on weekdays, on one day, or periodically.
/** @param {Api.ScheduleEntry} scheduleEntry */
export const kindOf = ({ periodic, date }) => (periodic ? "period" : date ? "date" : "days");

// The fields of `sched_save` for an entry as it is stored.
/** @param {number} index @param {Api.ScheduleEntry} entry */
export function wireOf(index, entry) {
  const weekdays = WEEKDAYS.reduce(
    (mask, day, bit) => mask + (entry.days.includes(day) ? 2 ** bit : 0),
    0,
  );
  return {
    A: index,
    B: entry.name,
    C: entry.action,
    D: entry.value,
    E: entry.time,
    F: entry.date ? dayNumber(entry.date) : 0,
    G: weekdays + (entry.periodic ? PERIODIC : 0),
    H: entry.active,
  };
}

export class EntryDraft {
  #command;
  #saved;

  // `saved` is the stored entry, or null for a new one.
  /**
   * @param {Command} command
   * @param {number} index
   * @param {Api.ScheduleEntry | null} saved
   * @param {Ending} [ending]
   */
  constructor(command, index, saved, ending = NO_END) {
    this.#command = command;
    this.#saved = saved;
    this.index = index;
    this.ending = ending;
    this.typed = this.#stored;
    observe(this, "typed");
  }

  get #stored() {
    return toTyped(this.#saved ?? EMPTY_ENTRY, this.ending.entry);
  }

  get saved() {
    return this.#saved;
  }

  get isNew() {
    return this.#saved === null;
  }

  // Whether there is anything to save that would be lost. The defaults of a new entry do not count.
  get isChanged() {
    return !isSame(this.typed, this.#stored);
  }

  /** @param {keyof TypedEntry} name @param {string | boolean | string[] | null} typed */
  type(name, typed) {
    this.typed = { ...this.typed, [name]: typed };
  }

  // The hours of a span that was drawn; what is typed besides stays.
  /** @param {{ day: string, from: number, to: number }} span */
  takeHours({ day, from, to }) {
    const [time, until] = [timeText(from), timeText(to % DAY_S)];
    this.typed = { ...this.typed, kind: "days", days: [day], time, until };
  }

  restore() {
    this.typed = this.#stored;
  }

  get actions() {
    return choices(this.#command.schema("C"));
  }

  // What the action can be set to.
  get values() {
    const { min, max } = range(this.#command.schema("D"));
    return Array.from({ length: max - min + 1 }, (_, step) => String(min + step));
  }

  // What is switched on, on days of the week, can be switched off again.
  get canEnd() {
    const { kind, action, value } = this.typed;
    return kind === "days" && value === "1" && SWITCHED.test(action);
  }

  // When it is switched off again; null where it is not.
  get until() {
    const { until } = this.typed;
    return this.canEnd && until !== null ? secondsOfDay(until) : null;
  }

  // Letter -> why what is typed cannot be sent: a sentence, or the key of one.
  problems() {
    const { name, period, kind, time, date, days } = this.typed;
    /** @type {Record<string, string | null>} */
    const found = { B: problemOf(this.#command.schema("B"), name), U: this.#problemOfEnd() };
    /** @type {Schema} */
    const periods = { ...this.#command.schema("E"), minimum: 1, "x-quantity": "duration" };
    if (kind === "period") found.E = problemOf(periods, period);
    else if (secondsOfDay(time) === null) found.E = "wrong_time";
    if (kind === "date") found.F = date ? null : "missing_date";
    if (kind === "days") found.G = days.length ? null : "missing_days";
    return Object.fromEntries(Object.entries(found).filter(([, problem]) => problem !== null));
  }

  #problemOfEnd() {
    const { until, time } = this.typed;
    if (!this.canEnd || until === null) return null;
    if (this.until === null) return "wrong_time";
    if (this.until === secondsOfDay(time)) return "same_time";
    return this.ending.place === null ? "no_place_for_end" : null;
  }

  // The entry as it would be stored.
  entry() {
    const { name, action, value, kind, time, period, date, days, active } = this.typed;
    return {
      name,
      action,
      value: Number(value),
      time: kind === "period" ? secondsOf(period) : (secondsOfDay(time) ?? 0),
      date: kind === "date" ? date : null,
      days: kind === "date" ? [] : WEEKDAYS.filter((day) => days.includes(day)),
      periodic: kind === "period",
      active,
    };
  }
}

/** @param {Api.ScheduleEntry} entry @param {Api.ScheduleEntry | null} end */
function toTyped(entry, end) {
  return {
    name: entry.name,
    action: entry.action,
    value: String(entry.value),
    kind: kindOf(entry),
    time: timeText(entry.periodic ? 0 : entry.time),
    until: end ? timeText(end.time) : null,
    period: durationText(entry.periodic ? entry.time : USUAL_PERIOD_S),
    date: entry.date ?? "",
    days: [...entry.days],
    active: entry.active,
  };
}

// Entries of the schedule in words.

const SWITCHED_OR_COUNTED = /^(OUT|PWM|EVENT)\d$|^COUNT /;
const DOES = ["off", "on", "reverse"];

/** @type {[string, string[]][]} */
export const NAMED_DAYS = [
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
  if (end) return t("entry_span", { time, until: timeText(end.time), days, effect });
  if (kind === "period") {
    return t("entry_period", { period: durationText(entry.time), days, effect });
  }
  if (kind === "days") return t("entry_days", { time, days, effect });
  const date = dayText(dayNumber(entry.date ?? ""), { dateStyle: "medium" });
  return t("entry_date", { time, date, effect });
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
  const target = codeName(context, action);
  return SWITCHED_OR_COUNTED.test(action)
    ? t(`effect_${DOES[value]}`, { target })
    : t("effect_do", { target });
}
