// Which stretch of time the timeline shows: one that rolls with now, or a part that was chosen.

import { note, step } from "../../lib/router.js";

/** @typedef {keyof typeof SPANS} Span */

const HOUR_S = 3600;
export const SPANS = { "6h": 6 * HOUR_S, "24h": 24 * HOUR_S, "7d": 7 * 24 * HOUR_S };
const DEFAULT_SPAN = "24h";
// How much of what is to come stands beside what was.
const AHEAD = 1 / 6;
const MIN_S = 60;
const MAX_S = 31 * 24 * HOUR_S;

/** @param {string} name @returns {name is Span} */
const isSpan = (name) => name in SPANS;

export class Stretch {
  // Null for a part that does not move with time.
  /** @type {Span | null} */
  span = DEFAULT_SPAN;
  #from = 0;
  #to = 0;

  /** @param {URLSearchParams} params */
  constructor(params) {
    const [from, to, at] = ["from", "to", "at"].map((name) => Number(params.get(name)));
    const span = params.get("span") ?? "";
    if (isSpan(span)) this.span = span;
    const length = SPANS[this.span ?? DEFAULT_SPAN];
    if (from > 0 && to - from >= MIN_S) this.#set(from, to);
    else if (at > 0) this.#set(at - length / 2, at + length / 2);
  }

  // [from, to] in seconds since 1970.
  /** @param {number} now @returns {[number, number]} */
  bounds(now) {
    if (this.span === null) return [this.#from, this.#to];
    return [now - SPANS[this.span], now + SPANS[this.span] * AHEAD];
  }

  // Back leads to a part that was left, and to no other span.
  /** @param {Span} span */
  choose(span) {
    const way = this.span === null ? step : note;
    this.span = span;
    way("timeline", { span });
  }

  // Back leads to what was shown before.
  /** @param {number} from @param {number} to */
  zoom(from, to) {
    const middle = (from + to) / 2;
    const length = Math.min(Math.max(to - from, MIN_S), MAX_S);
    this.#set(middle - length / 2, middle + length / 2);
    step("timeline", { from: this.#from, to: this.#to });
  }

  // By a share of what is shown; steps through time are one place to go back from.
  /** @param {number} share @param {number} now */
  shift(share, now) {
    const [from, to] = this.bounds(now);
    const by = (to - from) * share;
    const wasRolling = this.span !== null;
    this.#set(from + by, to + by);
    (wasRolling ? step : note)("timeline", { from: this.#from, to: this.#to });
  }

  /** @param {number} factor @param {number} now @param {number} around */
  scale(factor, now, around) {
    const [from, to] = this.bounds(now);
    this.zoom(around - (around - from) * factor, around + (to - around) * factor);
  }

  /** @param {number} from @param {number} to */
  #set(from, to) {
    this.span = null;
    [this.#from, this.#to] = [Math.max(0, Math.round(from)), Math.round(to)];
  }
}
