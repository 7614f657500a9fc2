// An output on for a while: so many seconds, or until a time of the day. Its return time stays as
// it is.

import * as api from "./api.js";
import { outOfReach } from "./lever_state.js";
import { t } from "./words.js";
import { dayOf, momentsOf } from "./zone.js";

const DAY_S = 86_400;

export class Pulse {
  // Why the last one was not sent.
  /** @type {string | null} */
  refusal = null;
  #context;
  #index;

  /** @param {Context} context @param {number} index */
  constructor(context, index) {
    this.#context = context;
    this.#index = index;
  }

  // Why none can be sent now; null if one can.
  get hindrance() {
    return outOfReach(this.#context);
  }

  /** @param {number} seconds */
  async send(seconds) {
    this.refusal = null;
    try {
      await api.pulseOutput(this.#index, seconds);
    } catch (error) {
      this.refusal = error instanceof api.Refused ? error.message : t("not_reached");
    }
    this.#context.redraw();
  }

  /** @param {string} time */
  sendUntil(time) {
    return this.send(secondsUntil(time, this.#context.live.state.time));
  }
}

// From a moment until the clocks of the place show a time of the day, "20:00". One that has passed
// today is one of tomorrow.
/** @param {string} time @param {number} now */
export function secondsUntil(time, now) {
  const [hours, minutes] = time.split(":").map(Number);
  const today = dayOf(now);
  const moments = [today, today + 1].flatMap((day) =>
    momentsOf(day * DAY_S + (hours * 60 + minutes) * 60),
  );
  return Math.min(...moments.filter((one) => one > now)) - Math.floor(now);
}
