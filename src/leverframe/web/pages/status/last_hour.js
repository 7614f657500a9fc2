// The last hour of every value as a small line: read once, then extended by what is heard.
//
// Each label has one value per minute; null where it was absent.

import * as api from "../../lib/api.js";

const MINUTE_S = 60;
const MINUTES = 60;
// Changes smaller than this share of the value are drawn flat.
const MIN_SPAN = 0.005;
// A threshold further away than so many spans would make the line flat: it is left out.
const NEAR_SPANS = 3;
export const WIDTH = 59;
export const HEIGHT = 34;

/** @typedef {(number | null)[]} Minutes */

export class LastHour {
  // The minute that all lines end with, counted from 1970.
  #end = 0;
  /** @type {Map<string, Minutes>} */
  #lines = new Map();
  /** @type {Set<string>} */
  #asked = new Set();

  // Is there one that nobody has asked for?
  /** @param {string[]} labels */
  lacks(labels) {
    return labels.some((label) => !this.#asked.has(label));
  }

  /** @param {string[]} labels */
  async read(labels) {
    if (labels.length === 0) return;
    this.#asked = new Set(labels);
    const history = await api.history({ labels: labels.join(","), points: MINUTES });
    this.#end = Math.floor(history.now / MINUTE_S);
    for (const [label, series] of Object.entries(history.series)) {
      this.#lines.set(
        label,
        history.step === 0 ? this.#fromRaw(series) : this.#fromReduced(history, series),
      );
    }
  }

  /** @param {State} state */
  follow(state) {
    if (this.#end === 0 || state.time === undefined) return;
    const now = Math.floor(state.time / MINUTE_S);
    const passed = Math.min(MINUTES, Math.max(0, now - this.#end));
    for (const [label, line] of this.#lines) {
      for (let minute = 0; minute < passed; minute++) line.push(line.at(-1) ?? null);
      line.splice(0, line.length - MINUTES);
      line[line.length - 1] = state[label] ?? null;
    }
    this.#end = Math.max(now, this.#end);
  }

  /** @param {string} label @returns {Minutes} */
  line(label) {
    return this.#lines.get(label) ?? [];
  }

  // When a label got the value that it has now, as far as it is known: at a start nothing was
  // before. Null where that was before the hour.
  /** @param {string} label */
  since(label) {
    const line = this.line(label);
    const now = line.at(-1) ?? null;
    const before = line.findLastIndex((value) => value !== null && value !== now);
    const first = line.indexOf(now, Math.max(before, 0));
    return first > 0 ? (this.#end - (line.length - 1 - first)) * MINUTE_S : null;
  }

  // Each value holds until the next one.
  /** @param {RawSeries} series */
  #fromRaw({ times, values }) {
    const line = [];
    let next = 0;
    let held = null;
    for (let minute = this.#end - MINUTES + 1; minute <= this.#end; minute++) {
      while (next < times.length && times[next] < (minute + 1) * MINUTE_S) held = values[next++];
      line.push(held);
    }
    return line;
  }

  /** @param {HistoryReply} history @param {ReducedSeries} series */
  #fromReduced({ times }, { mean }) {
    const line = new Array(MINUTES).fill(null);
    times.forEach((time, index) => {
      const place = Math.floor(time / MINUTE_S) - this.#end + MINUTES - 1;
      if (place >= 0 && place < MINUTES) line[place] = mean[index];
    });
    return line;
  }
}

// The paths of a picture of WIDTH by HEIGHT: the line, its end while it is silent, and the
// thresholds that are near enough.
/** @param {Minutes} line @param {number[]} limits */
export function drawn(line, limits) {
  const known = line.filter((value) => value !== null);
  if (known.length === 0) return { course: "", silence: "", limits: [] };
  const own = spanOf(known);
  const near = limits.filter(
    (limit) => Math.abs(limit - own.middle) <= own.span * (0.5 + NEAR_SPANS),
  );
  const { middle, span } = spanOf([...known, ...near]);
  /** @param {number} value */
  const y = (value) => (HEIGHT / 2 - ((value - middle) / span) * (HEIGHT - 8)).toFixed(1);
  const last = line.findLastIndex((value) => value !== null);
  return {
    course: line.map((value, x) => step(value, x, line, y)).join(""),
    silence: last < line.length - 1 ? `M${last} ${y(Number(line[last]))}H${WIDTH}` : "",
    limits: near.map((limit) => `M0 ${y(limit)}H${WIDTH}`),
  };
}

/** @param {number[]} values */
function spanOf(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const span = Math.max(high - low, Math.abs(high) * MIN_SPAN, 1e-9);
  return { middle: (low + high) / 2, span };
}

/**
 * @param {number | null} value
 * @param {number} x
 * @param {Minutes} line
 * @param {(value: number) => string} y
 */
function step(value, x, line, y) {
  if (value === null) return "";
  const isJoined = x > 0 && line[x - 1] !== null;
  return isJoined ? `L${x} ${y(value)}` : `M${x} ${y(value)}h0.01`;
}

// How much a line has risen in its hour; null where it has no beginning.
/** @param {Minutes} line */
export function rise(line) {
  const first = line.find((value) => value !== null);
  const last = line.findLast((value) => value !== null);
  return first == null || last == null ? null : last - first;
}
