// The last hour of every value as a small line: read once, then extended by what is heard.
//
// Each label has one value per minute; null where it was absent.

import * as api from "../../lib/api.js";

const MINUTE_S = 60;
const MINUTES = 60;
// Changes smaller than this share of the value are drawn flat.
const MIN_SPAN = 0.005;
export const WIDTH = 60;
export const HEIGHT = 20;

export class LastHour {
  // The minute that all lines end with, counted from 1970.
  #end = 0;
  /** @type {Map<string, (number | null)[]>} */
  #lines = new Map();
  /** @type {Map<string, string>} */
  #paths = new Map();

  async read() {
    const history = await api.history({ points: MINUTES });
    this.#end = Math.floor(history.now / MINUTE_S);
    this.#paths.clear();
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
      const value = state[label] ?? null;
      if (passed === 0 && line.at(-1) === value) continue;
      for (let minute = 0; minute < passed; minute++) line.push(line.at(-1) ?? null);
      line.splice(0, line.length - MINUTES);
      line[line.length - 1] = value;
      this.#paths.delete(label);
    }
    this.#end = Math.max(now, this.#end);
  }

  // The path of an SVG picture of WIDTH by HEIGHT; empty where nothing is known.
  /** @param {string} label */
  path(label) {
    if (!this.#paths.has(label)) this.#paths.set(label, drawn(this.#lines.get(label) ?? []));
    return this.#paths.get(label);
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

/** @param {(number | null)[]} line */
function drawn(line) {
  const known = line.filter((value) => value !== null);
  if (known.length === 0) return "";
  const low = Math.min(...known);
  const high = Math.max(...known);
  const span = Math.max(high - low, Math.abs(high) * MIN_SPAN, 1e-9);
  const middle = (low + high) / 2;
  /** @param {number} value */
  const y = (value) => (HEIGHT / 2 - ((value - middle) / span) * (HEIGHT - 4)).toFixed(1);
  return line
    .map((value, x) => {
      if (value === null) return "";
      const joined = x > 0 && line[x - 1] !== null;
      return joined ? `L${x} ${y(value)}` : `M${x} ${y(value)}h0.01`;
    })
    .join("");
}
