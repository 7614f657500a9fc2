// What was, for the labels and the time that are shown: read from the controller, extended by what
// is heard.

import * as api from "../../lib/api.js";
import { shifted } from "../../lib/chart/table.js";

// Points for each pixel of the widest charts, so that nothing is lost to the eye.
const POINTS = 1500;
// Reduced values grow by whole intervals; they are read again when one is over, but not too often.
const READ_AGAIN_S = 5;
// What stands behind is read a little further than it is shown, because the time goes on.
const AHEAD = 0.1;

export class Course {
  /** @type {HistoryReply | null} */
  history = null;
  // The same labels some time before, as if it were now.
  /** @type {HistoryReply | null} */
  behind = null;
  /** @type {string[]} */
  #labels = [];

  /** @param {string[]} labels @param {[number, number]} span */
  query(labels, [from, to]) {
    return { labels: labels.join(","), from, to, points: POINTS };
  }

  /** @param {string[]} labels @param {[number, number]} span @param {number} [before] */
  async read(labels, span, before = 0) {
    this.#labels = labels;
    const [history, behind] = await Promise.all([
      labels.length > 0 ? api.history(this.query(labels, span)) : null,
      labels.length > 0 && before ? this.#readBehind(labels, span, before) : null,
    ]);
    // Somebody may have chosen others meanwhile.
    if (labels === this.#labels) [this.history, this.behind] = [history, behind];
    return labels === this.#labels;
  }

  /** @param {string[]} labels @param {[number, number]} span @param {number} before */
  async #readBehind(labels, [from, to], before) {
    const end = to - before + (to - from) * AHEAD;
    return shifted(await api.history(this.query(labels, [from - before, end])), before);
  }

  // What is on its way is taken by nobody any more.
  leave() {
    this.#labels = [];
  }

  // Takes in what the state says now; false where it must be read again: what was in between is not
  // known after a leap, and a clock may be set back.
  /** @param {State} state @param {[number, number]} span */
  extend(state, [from]) {
    const { history } = this;
    if (history === null) return true;
    const known = Math.min(history.to, history.now);
    if (Math.abs(state.time - known) >= Math.max(READ_AGAIN_S, history.step)) return false;
    if (history.step > 0) return true;
    // Several messages may tell of one moment, and one that was long on its way of an earlier one.
    const now = Math.max(state.time, known);
    for (const [label, series] of Object.entries(history.series)) {
      const { times, values } = series;
      const value = state[label] ?? null;
      if (values.length === 0 ? value !== null : values.at(-1) !== value) {
        times.push(now);
        values.push(value);
      }
      forget(series, from);
    }
    Object.assign(history, { from, to: now, now });
    return true;
  }
}

// Leaves out what ended before the beginning; the value that held then begins there.
/** @param {RawSeries} series @param {number} from */
function forget({ times, values }, from) {
  let gone = 0;
  while (gone + 1 < times.length && times[gone + 1] <= from) gone++;
  times.splice(0, gone);
  values.splice(0, gone);
  if (times.length > 0 && times[0] < from) times[0] = from;
}
