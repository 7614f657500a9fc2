// The test bench: what the simulated board is made to be, and the requests that change it.

import { signal } from "../../vendor/signals-core.js";
import * as api from "../../lib/live/api.js";
import { observe } from "../../lib/live/drawing.js";

export class Bench {
  // As the controller reports it; nothing is drawn before that.
  /** @type {Signal<BenchReport | null>} */
  #report = signal(null);
  // What was sent last, { target }; null before.
  /** @type {CommandRequest | null} */
  lastRequest = null;
  #reading = false;
  #stale = false;

  get isRead() {
    return this.#report.value !== null;
  }

  get report() {
    return /** @type {BenchReport} */ (this.#report.value);
  }

  constructor() {
    observe(this, "lastRequest");
  }

  // However often it is asked for, one reading is under way, and one more after the last change.
  async read() {
    this.#stale = true;
    if (this.#reading) return;
    this.#reading = true;
    try {
      while (this.#stale) {
        this.#stale = false;
        this.#report.value = await api.bench();
      }
    } finally {
      this.#reading = false;
    }
  }

  // Items are [name, value].
  /** @param {...BenchItem} items */
  send(...items) {
    return this.post(api.benchTarget(items));
  }

  /** @param {string} target */
  async post(target) {
    this.lastRequest = { target };
    await api.send(target);
    await this.read();
  }

  // Where nothing stands beside it that could say why it was refused.
  /** @param {...BenchItem} items */
  sendQuietly(...items) {
    return this.send(...items).catch(() => {});
  }

  // Whether a plant gives this reading.
  /** @param {string} label */
  isFed(label) {
    return this.report.plants.wired.some((wiring) =>
      wiring.split("*").some((field) => FEEDS.some((name) => field === `${name}:${label}`)),
    );
  }
}

// The fields of a plant that name what it gives.
const FEEDS = ["reading", "switch"];
