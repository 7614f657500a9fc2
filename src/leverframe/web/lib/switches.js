// The levers of all that can be switched, as every account may use them, with what counts down.

import * as api from "./api.js";
import { OUTPUTS, VARIABLES, indexOf } from "./labels.js";
import { Lever } from "./lever.js";
import { t } from "./words.js";

export class Switches {
  #context;
  #overview;
  #levers = new Map();

  constructor(context, overview) {
    this.#context = context;
    this.#overview = overview;
  }

  lever(label) {
    if (!this.#levers.has(label)) this.#levers.set(label, this.#make(label));
    return this.#levers.get(label).view();
  }

  // Why it cannot be switched by this account now; null if it can.
  hindrance(label) {
    if (this.#overview.isReadOnly) return t("lever_read_only");
    return this.#overview.isLocked && !VARIABLES.includes(label) ? t("lever_locked") : null;
  }

  // What will happen to it by itself next. Only the administrator knows which rule moves what.
  notes(label) {
    const { live } = this.#context;
    const { returns_in: returns = {}, rules = [] } = live.state;
    const own = this.#context.settings?.rules ?? [];
    const soon = rules
      .filter((rule) => rule.pending !== null && own[rule.number - 1]?.action === label)
      .sort((one, other) => one.pending - other.pending);
    const found = [];
    if (label in returns) found.push(t("lever_returns", { seconds: live.left(returns[label]) }));
    if (soon.length > 0) {
      const [{ number, pending }] = soon;
      found.push(t("lever_rule", { number, seconds: live.left(pending) }));
    }
    return found;
  }

  #make(label) {
    const index = indexOf(label);
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
