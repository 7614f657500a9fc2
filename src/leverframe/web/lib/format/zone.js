// The zone of the place that a page is about: schedule, rules and journal of a controller go by it,
// wherever the reader is. No other module asks the browser for its own zone or for local time.
//
//   offsetAt(seconds)       how far the clocks of the place are ahead of UTC at a moment
//   wallOf(seconds)         what they show: seconds since 1970 as if that were UTC
//   momentOf(wall)          the moment at which they show it
//   dayOf(seconds)          the number of the day there, counted since 1970
//   secondOfDay(seconds)    how far that day has come, by the clock
//   dayStart(seconds, -1)   when the day before began
//
// Until a zone is named, and where the browser does not know it, it is the reader's own.

const QUARTER_S = 900;
const MINUTE_S = 60;
const DAY_S = 86_400;
// The first of January 1970 was a Thursday.
const FIRST_WEEKDAY = 3;

let named = "";
// Null for the reader's own.
/** @type {Intl.DateTimeFormat | null} */
let clocks = null;
// By quarters of an hour: no zone changes its clocks within one. To ask the browser takes long, and
// times are everywhere.
/** @type {Map<number, number>} */
const offsets = new Map();

/** @param {string} name */
export function useZone(name) {
  if (name === named) return;
  named = name;
  clocks = clocksOf(name);
  offsets.clear();
}

// As the controller names it; empty until it has.
export const zoneName = () => named;

// For the formats of the browser: undefined is the reader's own.
export const displayZone = () => (clocks ? named : undefined);

/** @param {string} name */
function clocksOf(name) {
  if (!name) return null;
  try {
    return new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      hourCycle: "h23",
      ...{ year: "numeric", month: "numeric", day: "numeric" },
      ...{ hour: "numeric", minute: "numeric", second: "numeric" },
    });
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

// --- the reader's own zone ---

export const ownZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

/** @param {number} seconds */
const ownOffsetAt = (seconds) => -new Date(seconds * 1000).getTimezoneOffset() * MINUTE_S;

// How many seconds the reader's clocks are ahead of those of the place.
/** @param {number} seconds */
export const readerAhead = (seconds) => ownOffsetAt(seconds) - offsetAt(seconds);

// --- the clocks of the place ---

/** @param {number} seconds */
export function offsetAt(seconds) {
  if (clocks === null || !Number.isFinite(seconds)) return ownOffsetAt(seconds);
  const quarter = Math.floor(seconds / QUARTER_S);
  const offset = offsets.get(quarter) ?? readOffset(clocks, quarter * QUARTER_S);
  offsets.set(quarter, offset);
  return offset;
}

/** @param {Intl.DateTimeFormat} format @param {number} seconds */
function readOffset(format, seconds) {
  const shown = Object.fromEntries(
    format.formatToParts(seconds * 1000).map(({ type, value }) => [type, Number(value)]),
  );
  const { year, month, day, hour, minute, second } = shown;
  return Date.UTC(year, month - 1, day, hour, minute, second) / 1000 - seconds;
}

/** @param {number} seconds */
export const wallOf = (seconds) => seconds + offsetAt(seconds);

// One moment, or both where clocks are put back. What they leave out when they are put forward is
// the moment of that, as it is for the schedule.
/** @param {number} wall */
export function momentsOf(wall) {
  const [before, after] = [offsetAt(wall - DAY_S), offsetAt(wall + DAY_S)];
  const found = [...new Set([before, after])]
    .filter((offset) => offsetAt(wall - offset) === offset)
    .map((offset) => wall - offset);
  return found.length > 0 ? found : [changeBetween(wall - after, wall - before)];
}

// The first of them.
/** @param {number} wall */
export const momentOf = (wall) => Math.min(...momentsOf(wall));

// When clocks change after one moment and not after another.
/** @param {number} early @param {number} late */
function changeBetween(early, late) {
  let [low, high] = [Math.floor(early), Math.ceil(late)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle) === offsetAt(early)) low = middle;
    else high = middle;
  }
  return high;
}

/** @param {number} seconds */
export const dayOf = (seconds) => Math.floor(wallOf(seconds) / DAY_S);

/** @param {number} seconds */
export const secondOfDay = (seconds) => Math.floor(wallOf(seconds)) - dayOf(seconds) * DAY_S;

// The day this number of days after the day of a moment, or before it.
/** @param {number} seconds */
export const dayStart = (seconds, days = 0) => momentOf((dayOf(seconds) + days) * DAY_S);

// Counted from Monday.
/** @param {number} seconds */
export const weekdayOf = (seconds) => (dayOf(seconds) + FIRST_WEEKDAY) % 7;
