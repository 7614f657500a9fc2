// Time windows of rules: "between 22:00 and 06:00, on weekdays".
//
// A window is an event variable that two entries of the schedule switch on and off, and nothing
// else; both have the same name. The rule looks at the variable as its second condition. All of it
// is made with the rule and goes with it, unless another rule looks at the same variable. The
// engine finds windows in the same way (`event_variables.py`).

import { timeText } from "../../lib/format/moments.js";
import { numberRules } from "../../lib/live/tree.js";
import { VARIABLES } from "../../lib/things/labels.js";
import { WEEKDAYS, wireOf } from "../schedule/entry.js";
import { daysOfEnd } from "../schedule/week.js";

/** @typedef {{ place: number, entry: Api.ScheduleEntry }} Edge */
/**
 * `from` and `to` are seconds of the day, `days` those on which it begins.
 * @typedef {{ from: number, to: number, days: string[] }} Hours
 */
/** @typedef {Hours & { label: string, begins: Edge, ends: Edge }} Window */
/** @typedef {Pick<Settings, "rules" | "schedule" | "event_variables">} Uses */

export const WORKDAYS = WEEKDAYS.slice(0, 5);
export const WEEKEND = WEEKDAYS.slice(5);

/** @param {string[]} days */
const inOrder = (days) => WEEKDAYS.filter((day) => days.includes(day));

// The days on which a window ends.
/** @param {Hours} hours */
export const endDays = ({ from, to, days }) => daysOfEnd(from, to, days);

/** @param {Uses} settings @param {string} label @returns {Window | null} */
export function windowOf(settings, label) {
  const edges = settings.schedule.flatMap((entry, place) =>
    entry?.action === label ? [{ place, entry }] : [],
  );
  const begins = edges.find(({ entry }) => entry.value === 1);
  const ends = edges.find(({ entry }) => entry.value === 0);
  if (edges.length !== 2 || !begins || !ends || !edges.every(isWeekly)) return null;
  if (!begins.entry.name || begins.entry.name !== ends.entry.name) return null;
  if (numberRules(settings.rules).some(({ rule }) => rule.action === label)) return null;
  const hours = { from: begins.entry.time, to: ends.entry.time, days: begins.entry.days };
  const isWhole = String(endDays(hours)) === String(ends.entry.days);
  return isWhole ? { label, ...hours, begins, ends } : null;
}

/** @param {Edge} edge */
const isWeekly = ({ entry }) => entry.active && !entry.periodic && !entry.date;

// The window that a rule has as its second condition: the sentence of a window says "and".
/** @param {Uses} settings @param {Rule} rule */
export function windowOfRule(settings, { operator, source2 }) {
  return operator === "AND" && VARIABLES.includes(source2) ? windowOf(settings, source2) : null;
}

/** @param {Uses} settings @param {string} label */
export const watchers = (settings, label) =>
  numberRules(settings.rules).flatMap(({ number, rule: { source, operator, source2 } }) =>
    source === label || (operator !== "-" && source2 === label) ? [number - 1] : [],
  );

// Whether a window goes when the rule at a place goes.
/** @param {Uses} settings @param {Window} window @param {number} index */
export const goesWith = (settings, { label }, index) =>
  watchers(settings, label).every((one) => one === index);

// A variable that nothing uses; the last ones first, because people begin with the first.
/** @param {Uses} settings */
export function freeVariable({ rules, schedule, event_variables: variables }) {
  const used = new Set([
    ...numberRules(rules).flatMap(({ rule: { source, source2, operator, action } }) =>
      operator === "-" ? [source, action] : [source, source2, action],
    ),
    ...schedule.map((entry) => entry?.action),
    ...VARIABLES.filter((_, index) => variables[index]?.name),
  ]);
  return VARIABLES.findLast((label) => !used.has(label)) ?? null;
}

/** @param {Uses} settings @param {number} count */
export const freePlaces = ({ schedule }, count) =>
  schedule.flatMap((entry, place) => (entry ? [] : [place])).slice(0, count);

// The name of a window without a name.
/** @param {Pick<Hours, "from" | "to">} hours */
export const windowName = ({ from, to }) => `${timeText(from)}-${timeText(to)}`;

// The entries of a window at two places; their name is what it is.
/** @param {Hours} hours @param {string} label @param {number[]} places */
export function windowEntries(hours, label, places, name = windowName(hours)) {
  const common = { name, action: label, date: null, periodic: false, active: true };
  const [begins, ends] = places;
  return [
    wireOf(begins, { ...common, value: 1, time: hours.from, days: inOrder(hours.days) }),
    wireOf(ends, { ...common, value: 0, time: hours.to, days: endDays(hours) }),
  ];
}

// Whether a moment of the week lies in it: second of the day, and the day.
/** @param {Hours} hours @param {number} second @param {string} day */
export function isWithin({ from, to, days }, second, day) {
  const before = WEEKDAYS[(WEEKDAYS.indexOf(day) + 6) % WEEKDAYS.length];
  if (to > from) return days.includes(day) && second >= from && second < to;
  return (days.includes(day) && second >= from) || (days.includes(before) && second < to);
}

// What an entry of the list stands on: rules that need this one, or look at what it switches.
/** @param {Uses} settings @param {number} index */
export function dependentsOf(settings, index) {
  const action = settings.rules[index]?.action;
  const needing = numberRules(settings.rules).flatMap(({ number, rule: { depends } }) =>
    depends === index + 1 || depends === index + 21 ? [number - 1] : [],
  );
  const watching = action && VARIABLES.includes(action) ? watchers(settings, action) : [];
  return [...new Set([...needing, ...watching])].filter((other) => other !== index);
}
