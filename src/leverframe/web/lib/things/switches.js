// All that can be switched: levers, the duty of an output, on for a while.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { secondsOfDay, shortMoment, timeText } from "../format/moments.js";
import { durationText, secondsOf } from "../format/numbers.js";
import { t } from "../format/words.js";
import { dayOf, momentsOf } from "../format/zone.js";
import { Task } from "../forms/task.js";
import * as api from "../live/api.js";
import { dutyOf, indexOf, OUTPUTS, VARIABLES } from "./labels.js";
import { Lever } from "./lever.js";
import { outOfReach, returning, ruleName } from "./lever_state.js";
import { thingName } from "./things.js";

// The levers of all that can be switched, as every account may use them, with what counts down.

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
    return lockText(this.#context);
  }

  // What will happen to it next without a command.
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
    return [t("lever_rule", { rule, time: durationText(live.remaining(next.pending)) })];
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

// Who locked the outputs, and when.

const LOCK = "output_flags.lock";

/** @param {Context} context */
async function lockText({ live }) {
  const trail = await api.audit();
  const entry = trail.findLast(({ changes }) =>
    changes.some((change) => change.path === LOCK && change.new === true),
  );
  if (!entry) return t("lever_locked");
  const actor = [entry.account, entry.source].filter(Boolean).join(", ") || entry.cause;
  return t("lever_locked_by", { by: actor, time: shortMoment(entry.time, live.state.time) });
}

// The duty of a PWM output under its lever: a slider that sends when it is let go.

export class Duty {
  #context;
  #label;
  #hindrance;
  // Where the slider is held; null when it follows the state.
  /** @type {Signal<number | null>} */
  #held = signal(null);
  #task = new Task();

  // `hindrance()` says why it cannot be moved now; null if it can.
  /** @param {Context} context @param {string} label @param {() => string | null} [hindrance] */
  constructor(context, label, hindrance = () => null) {
    this.#context = context;
    this.#label = label;
    this.#hindrance = hindrance;
  }

  view() {
    const duty = this.#held.value ?? Math.round(this.#context.live.state[dutyOf(this.#label)] ?? 0);
    const hindrance = this.#hindrance();
    return html`<label class="duty"
        ><span>${t("duty_short")}</span>
        <input
          type="range"
          min="0"
          max="100"
          .value=${String(duty)}
          ?disabled=${hindrance !== null}
          title=${hindrance ?? nothing}
          aria-label=${t("duty_of", { name: thingName(this.#context, this.#label) })}
          @input=${(event) => (this.#held.value = Number(event.target.value))}
          @change=${(event) => this.#send(Number(event.target.value))}
        />
        <output aria-live="off">${duty} %</output></label
      >
      ${this.#task.view()}`;
  }

  /** @param {number} duty */
  async #send(duty) {
    this.#held.value = duty;
    await this.#task.run(() => api.setDuty(indexOf(this.#label), duty));
    this.#held.value = null;
  }
}

// An output on for a number of seconds, or until a time of day. Its return time does not change.

const DAY_S = 86_400;

export class Pulse {
  #context;
  #index;
  #task = new Task();

  /** @param {Context} context @param {number} index */
  constructor(context, index) {
    this.#context = context;
    this.#index = index;
  }

  // Why the last one was not sent.
  get refusal() {
    return this.#task.refusal();
  }

  // Why none can be sent now; null if one can.
  get hindrance() {
    return outOfReach(this.#context);
  }

  /** @param {number} seconds */
  send(seconds) {
    return this.#task.run(() => api.pulseOutput(this.#index, seconds));
  }

  // As people write it; false where that says no time.
  /** @param {string} written */
  sendWritten(written) {
    const seconds = secondsWritten(written, this.#context.live.state.time);
    if (seconds === null) this.#task.say(t("not_a_duration"));
    else this.send(seconds);
    return seconds !== null;
  }
}

// How long from now: "90 s", "1 h 30 min", "3 d", or until "20:00"; null where it is neither.
/** @param {string} written @param {number} now */
export function secondsWritten(written, now) {
  const until = timeWritten(written);
  if (until !== null) return secondsUntil(until, now);
  const seconds = Math.round(secondsOf(written));
  return seconds >= 1 ? seconds : null;
}

// A time of day has a colon; a number alone is seconds.
/** @param {string} written */
function timeWritten(written) {
  const second = written.includes(":") ? secondsOfDay(written) : null;
  return second === null ? null : timeText(second - (second % 60));
}

// The same as a page writes it: "1 h 30 min", "until 20:00".
/** @param {string} written */
export function tidyWritten(written) {
  const time = timeWritten(written);
  return time === null ? durationText(secondsOf(written)) : t("lever_until", { time });
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
