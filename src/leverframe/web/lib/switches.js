// The levers of all that can be switched, as every account may use them, with what counts down.

import * as api from "./api.js";
import { OUTPUTS, VARIABLES, indexOf } from "./labels.js";
import { Lever } from "./lever.js";
import { t } from "./words.js";

export class Switches {
  #context;
  #overview;
  /** @type {Map<string, Lever>} */
  #levers = new Map();

  /** @param {Context} context @param {Overview} overview */
  constructor(context, overview) {
    this.#context = context;
    this.#overview = overview;
  }

  /** @param {string} label */
  lever(label) {
    const lever = this.#levers.get(label) ?? this.#make(label);
    this.#levers.set(label, lever);
    return lever.view();
  }

  // Why it cannot be switched by this account now; null if it can.
  /** @param {string} label */
  hindrance(label) {
    if (this.#overview.isReadOnly) return t("lever_read_only");
    return this.#overview.isLocked && !VARIABLES.includes(label) ? t("lever_locked") : null;
  }

  // What will happen to it by itself next. Only the administrator knows which rule moves what.
  /** @param {string} label */
  notes(label) {
    const { live } = this.#context;
    const { returns_in: returns = {}, rules = [] } = live.state;
    const own = this.#context.settings?.rules ?? [];
    const soon = rules
      .flatMap(({ number, pending }) =>
        pending !== null && own[number - 1]?.action === label ? [{ number, pending }] : [],
      )
      .sort((one, other) => one.pending - other.pending);
    const found = [];
    const back = returns[label];
    if (back != null) found.push(t("lever_returns", { seconds: live.left(back) }));
    if (soon.length > 0) {
      const [{ number, pending }] = soon;
      found.push(t("lever_rule", { number, seconds: live.left(pending) }));
    }
    return found;
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
      name: () => this.#overview.name(label),
      tag: () => this.#overview.label(label),
      inverted: () => this.#overview.isInverted(label),
      reason: () => this.hindrance(label),
      notes: () => this.notes(label),
    });
  }
}
