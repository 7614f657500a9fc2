// The week of the schedule: spans between two entries that belong together, and single moments.
//
// Two entries are a span if they have the name and the target in common, one switches on and the
// other off, and the second runs on the days on which the first one's spans end.

import { isSame } from "../../lib/live/tree.js";
import { WEEKDAYS } from "./entry.js";

/** @import { EntryDraft } from "./entry.js" */

/**
 * @typedef {object} Piece
 * @property {number[]} places Of the entry that begins it, and of the one that ends it.
 * @property {string} name
 * @property {string} action
 * @property {number} begin
 * @property {number | null} end Null for a moment.
 * @property {string[]} days On which it begins.
 * @property {boolean} isActive
 * @property {number} lane
 */
/**
 * A part of a span that lies in one day; `tail` began the day before, `nose` continues.
 * @typedef {{ piece: Piece, from: number, to: number, tail: boolean, nose: boolean }} Part
 */

export const DAY_S = 86_400;
export const SNAP_S = 300;

/** @param {string} day */
const dayAfter = (day) => WEEKDAYS[(WEEKDAYS.indexOf(day) + 1) % WEEKDAYS.length];
/** @param {string[]} days */
const inOrder = (days) => WEEKDAYS.filter((day) => days.includes(day));

// The days on which spans end. Whole days have no end between two of them.
/** @param {number} from @param {number} to @param {string[]} days */
export function daysOfEnd(from, to, days) {
  if (to > from) return inOrder(days);
  const after = days.map(dayAfter);
  return inOrder(to === from ? after.filter((day) => !days.includes(day)) : after);
}

// Names need the room of `label` seconds at least.
/** @param {(Api.ScheduleEntry | null)[]} schedule @returns {Piece[]} */
export function piecesOf(schedule, label = LABEL_S) {
  const entries = schedule.flatMap((entry, place) => (isWeekly(entry) ? [{ entry, place }] : []));
  const taken = new Set();
  /** @type {Piece[]} */
  const pieces = [];
  for (const { entry, place } of entries) {
    if (entry.value !== 1) continue;
    const end = entries.find((other) => !taken.has(other.place) && ends(entry, other.entry));
    if (!end) continue;
    taken.add(place).add(end.place);
    pieces.push(pieceOf(entry, [place, end.place], end.entry.time));
  }
  const moments = entries.filter(({ place }) => !taken.has(place));
  pieces.push(...moments.map(({ entry, place }) => pieceOf(entry, [place], null)));
  return inLanes(pieces, label);
}

/** @param {Api.ScheduleEntry | null} entry @returns {entry is Api.ScheduleEntry} */
export const isWeekly = (entry) => entry !== null && !entry.periodic && entry.date === null;

/** @param {Api.ScheduleEntry} one @param {Api.ScheduleEntry} other */
function ends(one, other) {
  const isPair = other.value === 0 && one.action === other.action && one.name === other.name;
  const days = daysOfEnd(one.time, other.time, one.days);
  return isPair && one.active === other.active && String(days) === String(other.days);
}

/** @param {Api.ScheduleEntry} entry @param {number[]} places @param {number | null} end */
const pieceOf = ({ name, action, time, days, active }, places, end) => ({
  ...{ places, name, action, begin: time, end, days, isActive: active, lane: 0 },
});

// What would lie over each other stands in different lanes.
export const LABEL_S = 4 * 3600;
// On a narrow screen a name takes more of the day.
export const WIDE_LABEL_S = 8 * 3600;
/** @param {Piece[]} pieces @param {number} label */
function inLanes(pieces, label) {
  /** @type {Piece[][]} */
  const lanes = [];
  for (const piece of pieces) {
    let lane = lanes.findIndex((others) => others.every((other) => !overlap(piece, other, label)));
    if (lane < 0) lane = lanes.push([]) - 1;
    lanes[lane].push(piece);
    piece.lane = lane;
  }
  return pieces;
}

/** @param {Piece} one @param {Piece} other @param {number} label */
function overlap(one, other, label) {
  /** @param {Piece} piece @param {string} day */
  const roomsOn = (piece, day) => partsOn([piece], day).map((part) => roomOf(part, label));
  return WEEKDAYS.some((day) =>
    roomsOn(one, day).some((room) =>
      roomsOn(other, day).some((another) => room.from < another.to && another.from < room.to),
    ),
  );
}

// What a part takes with its name: that stands in it, behind it, or late in the day before it.
/** @param {Part} part @param {number} label */
export function roomOf({ from, to }, label) {
  if (to - from >= label) return { from, to, side: "within" };
  if (from + label <= DAY_S) return { from, to: from + label, side: "behind" };
  return { from: to - label, to, side: "before" };
}

// What is drawn on a day.
/** @param {Piece[]} pieces @param {string} day @returns {Part[]} */
export function partsOn(pieces, day) {
  const before = WEEKDAYS[(WEEKDAYS.indexOf(day) + 6) % WEEKDAYS.length];
  return pieces.flatMap((piece) => {
    const { begin, end, days } = piece;
    /** @type {Part[]} */
    const parts = [];
    const isToday = days.includes(day);
    if (end === null) {
      return isToday ? [{ piece, from: begin, to: begin, tail: false, nose: false }] : [];
    }
    const isOver = end <= begin;
    if (isOver && days.includes(before) && end > 0) {
      parts.push({ piece, from: 0, to: end, tail: true, nose: false });
    }
    if (isToday) {
      parts.push({ piece, from: begin, to: isOver ? DAY_S : end, tail: false, nose: isOver });
    }
    return parts;
  });
}

/** @param {number} seconds */
export const snap = (seconds) => Math.round(seconds / SNAP_S) * SNAP_S;

/** @param {number} seconds */
const within = (seconds) => ((seconds % DAY_S) + DAY_S) % DAY_S;

// The whole piece later or earlier; it begins on the days on which it did.
/** @param {Piece} piece @param {number} seconds @returns {Piece} */
export function move(piece, seconds) {
  const begin = Math.min(Math.max(piece.begin + snap(seconds), 0), DAY_S - SNAP_S);
  const { end } = piece;
  return { ...piece, begin, end: end === null ? null : within(end + begin - piece.begin) };
}

// One of its edges later or earlier; a span keeps some length.
/** @param {Piece} piece @param {"begin" | "end"} edge @param {number} seconds @returns {Piece} */
export function stretch(piece, edge, seconds) {
  const { begin, end } = piece;
  if (end === null) return move(piece, seconds);
  const changed = within((edge === "begin" ? begin : end) + snap(seconds));
  const other = edge === "begin" ? end : begin;
  return changed === other ? piece : { ...piece, [edge]: changed };
}

// On further days.
/** @param {Piece} piece @param {string[]} days @returns {Piece} */
export const copyTo = (piece, days) => ({ ...piece, days: inOrder([...piece.days, ...days]) });

/** What a place is to hold, or nothing. @typedef {[number, Api.ScheduleEntry | null]} Stored */

// What makes a day look like another: its own pieces end, those of the other begin there as
// entries of their own, so that each day can be changed apart. Null where there is no room. Only
// whole days stay together: apart, one would end in the moment in which the next begins.
/**
 * @param {(Api.ScheduleEntry | null)[]} schedule
 * @param {string} from
 * @param {string} to
 * @returns {Stored[] | null}
 */
export function dayCopied(schedule, from, to) {
  const pieces = piecesOf(schedule);
  const after = [...schedule];
  /** @param {Piece} piece */
  const staysTogether = ({ begin, end, days }) => begin === end && days.includes(from);
  for (const piece of pieces.filter(staysTogether)) {
    for (const [place, entry] of entriesOf(schedule, copyTo(piece, [to]))) after[place] = entry;
  }
  const apart = pieces.filter((piece) => !staysTogether(piece));
  for (const piece of apart.filter(({ days }) => days.includes(to))) {
    const days = piece.days.filter((day) => day !== to);
    for (const [place, entry] of entriesOf(schedule, { ...piece, days })) {
      after[place] = days.length > 0 ? entry : null;
    }
  }
  for (const piece of apart.filter(({ days }) => days.includes(from))) {
    for (const [, entry] of entriesOf(schedule, { ...piece, days: [to] })) {
      const free = after.indexOf(null);
      if (free < 0) return null;
      after[free] = entry;
    }
  }
  return after.flatMap((entry, place) =>
    isSame(entry, schedule[place]) ? [] : [/** @type {Stored} */ ([place, entry])],
  );
}

// What ends a span that an entry begins.
/** @param {Api.ScheduleEntry} entry @param {number} until @returns {Api.ScheduleEntry} */
const endOf = (entry, until) => ({
  ...entry,
  ...{ value: 0, time: until, days: daysOfEnd(entry.time, until, entry.days) },
});

// What a draft would store, by place: its entry, and the end where it has one.
/** @param {EntryDraft} draft @returns {Stored[]} */
export function toEntries(draft) {
  const entry = draft.entry();
  const { until, ending } = draft;
  /** @type {Stored[]} */
  const stored = [[draft.index, entry]];
  if (ending.place === null || (until === null && !ending.entry)) return stored;
  return [...stored, [ending.place, until === null ? null : endOf(entry, until)]];
}

// The places of entries that belong together: the two of a span, any other alone.
/** @param {(Api.ScheduleEntry | null)[]} schedule @returns {number[][]} */
export function groupsOf(schedule) {
  return piecesOf(schedule)
    .map(({ places }) => places)
    .concat(schedule.flatMap((entry, place) => (entry && !isWeekly(entry) ? [[place]] : [])))
    .sort(([one], [other]) => one - other);
}

// The entries of a piece as they would be stored, by place.
/** @param {(Api.ScheduleEntry | null)[]} schedule @param {Piece} piece */
export function entriesOf(schedule, { places, begin, end, days }) {
  const [first, second] = places.map((place) => schedule[place]);
  /** @type {[number, Api.ScheduleEntry][]} */
  const entries = first ? [[places[0], { ...first, time: begin, days: inOrder(days) }]] : [];
  if (second && end !== null) {
    entries.push([places[1], { ...second, time: end, days: daysOfEnd(begin, end, days) }]);
  }
  return entries;
}
