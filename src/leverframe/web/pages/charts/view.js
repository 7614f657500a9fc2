// Which time and labels are shown: kept in the address, moved by buttons, drags and time itself.

import { signal } from "../../vendor/signals-core.js";
import { note, step } from "../../lib/frame/router.js";
import { observe } from "../../lib/live/drawing.js";

/** @typedef {keyof typeof RANGES} Range */

// The ranges that are offered, and how long each is.
const HOUR_S = 3600;
export const RANGES = {
  "1h": HOUR_S,
  "24h": 24 * HOUR_S,
  "7d": 7 * 24 * HOUR_S,
  "30d": 30 * 24 * HOUR_S,
  "1y": 365 * 24 * HOUR_S,
};
// What can stand behind: the same time a day or a week before.
export const BEHIND = { day: 24 * HOUR_S, week: 7 * 24 * HOUR_S };
/** @param {string} name @returns {name is keyof typeof BEHIND} */
const isBehind = (name) => name in BEHIND;
/** @param {string} name @returns {name is Range} */
const isRange = (name) => name in RANGES;
export const DEFAULT_RANGE = "24h";
// The smallest span in seconds; nothing is stored longer than the largest.
const MIN_S = 10;
const MAX_S = 10 * 365 * 24 * HOUR_S;

export class View {
  // One of RANGES while the end is now; null for a part of the past.
  /** @type {Range | null} */
  range = DEFAULT_RANGE;
  /** @type {string[] | null} */
  labels = null;
  /** @type {keyof typeof BEHIND | null} */
  behind = null;
  #from = signal(0);
  #to = signal(0);

  /** @param {URLSearchParams} params */
  constructor(params) {
    observe(this, "range", "labels", "behind");
    const behind = params.get("behind") ?? "";
    if (isBehind(behind)) this.behind = behind;
    const labels = params.get("labels");
    if (labels !== null) this.labels = labels.split(",").filter(Boolean);
    const [from, to] = [Number(params.get("from")), Number(params.get("to"))];
    if (to - from >= MIN_S && from > 0) {
      this.range = null;
      [this.#from.value, this.#to.value] = [from, to];
    } else {
      const range = params.get("range") ?? "";
      if (isRange(range)) this.range = range;
    }
  }

  get isLive() {
    return this.range !== null;
  }

  // [from, to] in seconds since 1970.
  /** @param {number} now @returns {[number, number]} */
  span(now) {
    return this.range ? [now - RANGES[this.range], now] : [this.#from.value, this.#to.value];
  }

  // Back leads to a part that was left, and to no other range.
  /** @param {Range} range */
  choose(range) {
    const way = this.range === null ? step : note;
    this.range = range;
    this.#note(way);
  }

  // A part of the past, or of the last moments; the end never passes now, and what is shown does
  // not become shorter by that.
  /** @param {number} from @param {number} to @param {number} now */
  zoom(from, to, now) {
    const length = Math.min(Math.max(to - from, MIN_S), MAX_S);
    const end = Math.min((from + to + length) / 2, now);
    // Back leads to the range that was left.
    const way = this.range === null ? note : step;
    this.range = null;
    [this.#from.value, this.#to.value] = [Math.round(end - length), Math.round(end)];
    this.#note(way);
  }

  // Moves the time by a share of what is shown.
  /** @param {number} share @param {number} now */
  shift(share, now) {
    const [from, to] = this.span(now);
    const offset = (to - from) * share;
    this.zoom(from + offset, to + offset, now);
  }

  // Shows `factor` times as much time around the middle.
  /** @param {number} factor @param {number} now */
  scale(factor, now) {
    const [from, to] = this.span(now);
    const more = ((to - from) * (factor - 1)) / 2;
    this.zoom(from - more, to + more, now);
  }

  /** @param {string} label @param {boolean} wanted */
  toggle(label, wanted) {
    const others = (this.labels ?? []).filter((one) => one !== label);
    this.labels = wanted ? [...others, label] : others;
    this.#note();
  }

  /** @param {keyof typeof BEHIND | null} behind */
  putBehind(behind) {
    this.behind = behind;
    this.#note();
  }

  #note(way = note) {
    const labels = (this.labels ?? []).join(",");
    /** @type {Params} */
    const time = this.range
      ? { range: this.range }
      : { from: this.#from.value, to: this.#to.value };
    way("charts", { labels, ...time, ...(this.behind ? { behind: this.behind } : {}) });
  }
}
