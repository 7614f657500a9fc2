// What the timeline shows, as the controller recorded it: read for a stretch of time, and again
// when enough of it is new or something has changed.

import * as api from "../../lib/api.js";
import { dutyOf, isState } from "../../lib/labels.js";
import { t } from "../../lib/words.js";
import { readingsOf } from "./rows.js";

/** @import { Timeline } from "./chain.js" */
/** @import { Stretch } from "./stretch.js" */

const POINTS = 500;
// What rolls is read again when so much of it is new, but not too often.
const NEW_SHARE = 1 / 300;
const READ_AGAIN_S = 5;

export class Recorded {
  /** @type {Timeline | null} */
  timeline = null;
  /** @type {HistoryReply | null} */
  history = null;
  // Why the last reading, or what was asked of the controller meanwhile, was refused.
  /** @type {string | null} */
  refusal = null;
  isReading = false;
  #context;
  #hasGap;
  // What was known when it was last asked for, and how often it was.
  #known = "";
  #asked = 0;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    this.#hasGap = context.live.watchGaps();
  }

  get now() {
    return this.timeline?.now ?? this.#context.live.state.time;
  }

  /** @param {Stretch} stretch */
  async read(stretch) {
    const { live } = this.#context;
    const { heard } = live;
    const asked = ++this.#asked;
    this.#known = this.#signature();
    this.isReading = true;
    try {
      const answer = await this.#ask(stretch.bounds(live.state.time));
      // Somebody may have chosen another stretch meanwhile.
      if (asked !== this.#asked) return;
      [this.timeline, this.history] = answer;
      this.refusal = null;
    } catch (error) {
      if (asked !== this.#asked) return;
      this.refuse(error);
    }
    this.isReading = false;
    // The answer may be older than what was heard meanwhile.
    if (live.heard !== heard) this.follow(stretch);
    this.#context.redraw();
  }

  // What is on its way is taken by nobody any more.
  leave() {
    this.#asked++;
  }

  /** @param {[number, number]} bounds @returns {Promise<[Timeline, HistoryReply | null]>} */
  async #ask([from, to]) {
    const timeline = await api.timeline({ from, to });
    const labels = [
      ...readingsOf(this.#context, timeline.rules),
      ...timeline.lanes.filter(({ kind }) => kind === "pwm").map(({ label }) => dutyOf(label)),
    ].join(",");
    return [timeline, labels ? await api.history({ labels, from, to, points: POINTS }) : null];
  }

  /** @param {unknown} error */
  refuse(error) {
    this.refusal = error instanceof api.Refused ? error.message : t("not_reached");
  }

  // What changes in the picture besides time.
  #signature() {
    const { state } = this.#context.live;
    const met = (state.rules ?? []).map((/** @type {{ met: boolean }} */ rule) => rule.met);
    return JSON.stringify([Object.keys(state).filter(isState).map((label) => state[label]), met]);
  }

  /** @param {Stretch} stretch */
  follow(stretch) {
    if (this.isReading || !this.timeline) return;
    const { time } = this.#context.live.state;
    const [from, to] = stretch.bounds(time);
    const passed = time - this.timeline.now;
    const isOld = passed > Math.max(READ_AGAIN_S, (to - from) * NEW_SHARE);
    const isSeen = stretch.span !== null || to > this.timeline.now;
    const isOther = isOld || this.#signature() !== this.#known;
    if (this.#hasGap() || passed < 0 || (isSeen && isOther)) this.read(stretch);
  }
}
