// The course of a reading as a line that is drawn by hand: what is known of it, and its path.

/** Time and value. @typedef {[number, number | null]} Point */

// As far as anything is known; null begins a gap.
/** @param {HistoryReply | null} history @param {string} label @returns {Point[]} */
export function pointsOf(history, label) {
  const series = history?.series[label];
  if (!history || !series) return [];
  const { step, to, now } = history;
  /** @type {number[]} */
  const times = step === 0 ? series.times : history.times.map((time) => time + step / 2);
  /** @type {(number | null)[]} */
  const values = step === 0 ? series.values : series.mean;
  /** @type {Point[]} */
  const points = times.map((time, index) => [time, values[index]]);
  const last = values.at(-1) ?? null;
  return last === null ? points : [...points, [Math.min(to, now), last]];
}

/** @param {Point[]} points @param {number} time */
export const valueAt = (points, time) => points.findLast(([one]) => one <= time)?.[1] ?? null;

// A value that was read holds until the next one; means of intervals are joined. A gap stays a gap.
/**
 * @param {HistoryReply | null} history
 * @param {Point[]} points
 * @param {(time: number) => number} x
 * @param {(value: number) => number} y
 */
export function pathOf(history, points, x, y) {
  const isHeld = history?.step === 0;
  let path = "";
  let isDown = false;
  for (const [time, value] of points) {
    const place = x(time).toFixed(1);
    if (isDown && isHeld) path += `H${place}`;
    if (value !== null) path += lineTo(isDown, isHeld, place, y(value).toFixed(1));
    isDown = value !== null;
  }
  return path;
}

/** @param {boolean} isDown @param {boolean} isHeld @param {string} place @param {string} height */
function lineTo(isDown, isHeld, place, height) {
  if (!isDown) return `M${place},${height}`;
  return isHeld ? `V${height}` : `L${place},${height}`;
}
