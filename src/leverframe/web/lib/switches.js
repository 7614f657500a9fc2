// The levers of all that can be switched, as every account may use them, with what counts down.

import * as api from "./api.js";
import { durationText } from "./durations.js";
import { OUTPUTS, VARIABLES, indexOf } from "./labels.js";
import { Lever } from "./lever.js";
import { outOfReach, returning, ruleName } from "./lever_state.js";
import { thingName } from "./things.js";
import { t } from "./words.js";

export class Switches {
  #context;
  #overview;
  /** @type {Map<string, Lever>} */
  #levers = new Map();

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    this.#overview = context.overview;
  }

  // A row.
  /** @param {string} label */
  lever(label) {
    return this.#of(label).view();
  }

  // The large one of a frame.
  /** @param {string} label @param {string} [place] */
  upright(label, place) {
    return this.#of(label).upright(place);
  }

  /** @param {string} label */
  #of(label) {
    const lever = this.#levers.get(label) ?? this.#make(label);
    this.#levers.set(label, lever);
    return lever;
  }

  // Why it cannot be switched now; null if it can.
  /** @param {string} label */
  hindrance(label) {
    return outOfReach(this.#context) ?? this.prohibition(label);
  }

  // Why this account may not switch it, whether or not the controller is reached; null if it may.
  /** @param {string} label */
  prohibition(label) {
    if (this.#overview.isReadOnly) return t("lever_read_only");
    return this.#overview.isLocked && !VARIABLES.includes(label) ? t("lever_locked") : null;
  }

  // Who locked it is in the audit trail, which only the administrator may read.
  /** @param {string} label */
  async #explain(label) {
    const isKnown = outOfReach(this.#context) !== null || this.#overview.isReadOnly;
    if (isKnown || !this.#context.isAdmin) return this.hindrance(label);
    const { lockText } = await import("./lock.js");
    return lockText(this.#context);
  }

  // What will happen to it by itself next.
  /** @param {string} label */
  notes(label) {
    const returns = returning(this.#context, label);
    return [...(returns ? [returns] : []), ...this.soon(label)];
  }

  // The rule that acts on it next. Only the administrator knows which rule moves what.
  /** @param {string} label */
  soon(label) {
    const { live, settings } = this.#context;
    const own = settings?.rules ?? [];
    const [next] = (live.state.rules ?? [])
      .flatMap(({ number, pending }) =>
        pending !== null && own[number - 1]?.action === label ? [{ number, pending }] : [],
      )
      .sort((one, other) => one.pending - other.pending);
    if (!next) return [];
    const rule = ruleName(this.#context, next.number);
    return [t("lever_rule", { rule, time: durationText(live.left(next.pending)) })];
  }

  /** @param {string} label */
  #make(label) {
    const index = indexOf(label);
    /** @type {LeverSpec["act"]} */
    const act = OUTPUTS.includes(label)
      ? (on) => api.switchOutput(index, on)
      : VARIABLES.includes(label)
        ? (on) => api.switchVariable(index, on)
        : (on) => api.switchPwm(index, on);
    return new Lever(this.#context, {
      label,
      act,
      name: () => thingName(this.#context, label),
      tag: () => "",
      inverted: () => this.#overview.isInverted(label),
      reason: () => this.hindrance(label),
      explain: () => this.#explain(label),
      notes: () => this.notes(label),
    });
  }
}
