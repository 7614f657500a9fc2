// An entry of the schedule being written: what is typed, what is wrong with it, and its fields on
// the wire. The controller takes the schedule as a whole.

import { choices, problemOf, range } from "../../lib/schema.js";
import { isSame } from "../../lib/tree.js";

/** @typedef {ReturnType<typeof typedFrom>} TypedEntry */

export const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const PERIODIC = 256;
const DAY_MS = 86_400_000;

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

// How an entry repeats: at a time on weekdays, on one day, or every so many seconds.
/** @param {Api.ScheduleEntry} scheduleEntry */
export const kindOf = ({ periodic, date }) => (periodic ? "period" : date ? "date" : "days");

/** @param {number} seconds */
export function clockText(seconds) {
  const parts = [seconds / 3600, (seconds / 60) % 60, seconds % 60].map(Math.floor);
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}

/** @param {string} text */
function secondsOf(text) {
  const [hours = 0, minutes = 0, seconds = 0] = text.split(":").map(Number);
  return hours * 3600 + minutes * 60 + seconds;
}

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
    F: entry.date ? Math.round(Date.parse(`${entry.date}T00:00:00Z`) / DAY_MS) : 0,
    G: weekdays + (entry.periodic ? PERIODIC : 0),
    H: entry.active,
  };
}

export class EntryDraft {
  #command;
  #saved;

  // `saved` is the stored entry, or null for a new one.
  /** @param {Command} command @param {number} index @param {Api.ScheduleEntry | null} saved */
  constructor(command, index, saved) {
    this.#command = command;
    this.#saved = saved;
    this.index = index;
    this.typed = typedFrom(saved ?? EMPTY_ENTRY);
  }

  get saved() {
    return this.#saved;
  }

  get isNew() {
    return this.#saved === null;
  }

  get isChanged() {
    return this.isNew || !isSame(this.typed, typedFrom(this.#saved ?? EMPTY_ENTRY));
  }

  /** @param {keyof TypedEntry} name @param {string | boolean | string[]} typed */
  type(name, typed) {
    this.typed = { ...this.typed, [name]: typed };
  }

  restore() {
    this.typed = typedFrom(this.#saved ?? EMPTY_ENTRY);
  }

  get actions() {
    return choices(this.#command.schema("C"));
  }

  // What the action can be set to.
  get values() {
    const { min, max } = range(this.#command.schema("D"));
    return Array.from({ length: max - min + 1 }, (_, step) => String(min + step));
  }

  // Letter -> why what is typed cannot be sent.
  problems() {
    const { name, period, kind, date, days } = this.typed;
    /** @type {Record<string, string | null>} */
    const found = { B: problemOf(this.#command.schema("B"), name) };
    const periods = { ...this.#command.schema("E"), minimum: 1 };
    if (kind === "period") found.E = problemOf(periods, period);
    if (kind === "date") found.F = date ? null : "missing_date";
    if (kind === "days") found.G = days.length ? null : "missing_days";
    return Object.fromEntries(Object.entries(found).filter(([, problem]) => problem !== null));
  }

  // The entry as it would be stored.
  entry() {
    const { name, action, value, kind, time, period, date, days, active } = this.typed;
    return {
      name,
      action,
      value: Number(value),
      time: kind === "period" ? Number(period) : secondsOf(time),
      date: kind === "date" ? date : null,
      days: kind === "date" ? [] : WEEKDAYS.filter((day) => days.includes(day)),
      periodic: kind === "period",
      active,
    };
  }
}

/** @param {Api.ScheduleEntry} entry */
function typedFrom(entry) {
  return {
    name: entry.name,
    action: entry.action,
    value: String(entry.value),
    kind: kindOf(entry),
    time: clockText(entry.periodic ? 0 : entry.time),
    period: entry.periodic ? String(entry.time) : "3600",
    date: entry.date ?? "",
    days: [...entry.days],
    active: entry.active,
  };
}
