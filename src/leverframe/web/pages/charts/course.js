// What was, for the labels and the time that are shown: read from the controller, extended by what
// is heard.

import * as api from "../../lib/api.js";

// Points for each pixel of the widest charts, so that nothing is lost to the eye.
const POINTS = 1500;
// Reduced values grow by whole intervals; they are read again when one is over, but not too often.
const READ_AGAIN_S = 5;

export class Course {
  /** @type {HistoryReply | null} */
  history = null;
  /** @type {string[]} */
  #labels = [];

  /** @param {string[]} labels @param {[number, number]} span */
  query(labels, [from, to]) {
    return { labels: labels.join(","), from, to, points: POINTS };
  }

  /** @param {string[]} labels @param {[number, number]} span */
  async read(labels, span) {
    this.#labels = labels;
    const history = labels.length > 0 ? await api.history(this.query(labels, span)) : null;
    // Somebody may have chosen others meanwhile.
    if (labels === this.#labels) this.history = history;
    return labels === this.#labels;
  }

  // Takes in what the state says now; false where it must be read again.
  /** @param {State} state @param {[number, number]} span */
  extend(state, [from, to]) {
    const { history } = this;
    if (history === null || state.time <= history.now) return true;
    if (history.step > 0) return state.time - history.now < Math.max(READ_AGAIN_S, history.step);
    for (const label of this.#labels) {
      const { times, values } = history.series[label];
      const value = state[label] ?? null;
      if (values.length === 0 ? value !== null : values.at(-1) !== value) {
        times.push(state.time);
        values.push(value);
      }
      forget(history.series[label], from);
    }
    Object.assign(history, { from, to, now: state.time });
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
