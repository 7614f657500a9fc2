// The history of readings and states, made ready to be drawn.

import { signal } from "../../vendor/signals-core.js";

// From an answer of /api/history to columns for drawing: absent stays absent, nothing is guessed.

/** Times, then the values of each line. @typedef {[number[], ...(number | null)[][]]} Drawn */

// Several series on common times: { times, columns, step }. A column is { values } of raw values,
// which hold until the next time, or { mean, min, max } of reduced ones.
/** @param {HistoryReply} history @param {string[]} labels @returns {ChartTable} */
export function tableOf(history, labels) {
  const series = labels.map((label) => history.series[label]);
  return history.step === 0 ? rawTable(history, series) : meanTable(history, series);
}

/** @param {HistoryReply} history @param {(RawSeries | undefined)[]} series */
function rawTable({ to, now }, series) {
  const known = series.map((one) => one ?? { times: [], values: [] });
  const end = Math.min(to, now);
  const times = known.length === 1 ? [...known[0].times] : merge(known.map((one) => one.times));
  // The last value still holds.
  if (times.length > 0 && times[times.length - 1] < end) times.push(end);
  return { step: 0, times, columns: known.map((one) => ({ values: holdValues(one, times) })) };
}

// An answer about an earlier time, shifted by a number of seconds.
/** @param {HistoryReply} history @param {number} offset @returns {HistoryReply} */
export function shift(history, offset) {
  /** @param {number[]} times */
  const later = (times) => times.map((time) => time + offset);
  const series = Object.entries(history.series).map(([label, one]) => [
    label,
    one.times ? { ...one, times: later(one.times) } : one,
  ]);
  const [from, to, now] = [history.from + offset, history.to + offset, history.now + offset];
  const times = later(history.times);
  return { ...history, from, to, now, times, series: Object.fromEntries(series) };
}

// Both on common times. What one has nothing to say about is undefined there, which is no gap.
/** @param {Drawn} one @param {Drawn} other @returns {Drawn} */
export function join(one, other) {
  const times = merge([one[0], other[0]]);
  const places = new Map(times.map((time, place) => [time, place]));
  const columns = [one, other].flatMap(([own, ...lists]) =>
    lists.map((list) => {
      const column = new Array(times.length).fill(undefined);
      list.forEach((value, index) => {
        column[places.get(own[index]) ?? 0] = value;
      });
      return column;
    }),
  );
  return [times, ...columns];
}

/** @param {number[][]} lists */
function merge(lists) {
  return [...new Set(lists.flat())].sort((one, other) => one - other);
}

/** @param {RawSeries} series @param {number[]} common */
function holdValues({ times, values }, common) {
  const column = new Array(common.length);
  let next = 0;
  /** @type {number | null} */
  let value = null;
  for (let index = 0; index < common.length; index++) {
    while (next < times.length && times[next] <= common[index]) value = values[next++];
    column[index] = value;
  }
  return column;
}

// A mean stands for its whole interval, so it is drawn in the middle of it.
/** @param {HistoryReply} history @param {(ReducedSeries | undefined)[]} series */
function meanTable({ times, step }, series) {
  const empty = times.map(() => null);
  return {
    step,
    times: times.map((time) => time + step / 2),
    columns: series.map((one) => one ?? { min: empty, mean: empty, max: empty }),
  };
}

// When a state was on: [from, to, share of the time] each. Of an inverted one, when it was low.
/** @param {HistoryReply} history @param {string} label @param {boolean} [isInverted] */
export function barsOf(history, label, isInverted = false) {
  const series = history.series[label];
  if (!series) return [];
  /** @param {number | null} level */
  const share = (level) => (level === null ? 0 : isInverted ? 1 - level : level);
  return history.step === 0 ? rawBars(history, series, share) : meanBars(history, series, share);
}

/** @typedef {(level: number | null) => number} Share */

/** @param {HistoryReply} history @param {RawSeries} series @param {Share} share */
function rawBars({ to, now }, { times, values }, share) {
  const end = Math.min(to, now);
  /** @type {Bar[]} */
  const bars = [];
  values.forEach((value, index) => {
    if (share(value)) bars.push([times[index], times[index + 1] ?? end, 1]);
  });
  return bars;
}

/** @param {HistoryReply} history @param {ReducedSeries} series @param {Share} share */
function meanBars({ times, step }, { mean }, share) {
  /** @type {Bar[]} */
  const bars = [];
  mean.forEach((level, index) => {
    if (share(level)) bars.push([times[index], times[index] + step, share(level)]);
  });
  return bars;
}

// Lowest, highest and last value of one label within an answer; nulls where there is none.
/** @param {HistoryReply} history @param {string} label */
export function summaryOf(history, label) {
  const series = history.series[label];
  /** @param {"min" | "mean" | "max"} name */
  const column = (name) => (series?.[history.step === 0 ? "values" : name] ?? []).filter(isThere);
  const lowest = column("min").reduce((least, value) => Math.min(least, value), Infinity);
  const highest = column("max").reduce((most, value) => Math.max(most, value), -Infinity);
  return lowest > highest
    ? { min: null, max: null, last: null }
    : { min: lowest, max: highest, last: column("mean").at(-1) ?? null };
}

/** @param {number | null} value @returns {value is number} */
const isThere = (value) => value !== null;

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

// The moment that people point at: the timeline and the charts draw one line through it.

/** @type {Signal<number | null>} */
const moment = signal(null);

// Null while nothing is pointed at: then it is now.
export const pointedMoment = () => moment.value;

/** @param {number | null} time */
export function pointAt(time) {
  moment.value = time;
}
