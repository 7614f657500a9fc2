// The duty of a PWM output under its lever: a slider that sends when it is let go.

import { html, nothing } from "../vendor/lit-html.js";
import * as api from "./api.js";
import { dutyOf, indexOf } from "./labels.js";
import { thingName } from "./things.js";
import { t } from "./words.js";

export class Duty {
  #context;
  #label;
  #hindrance;
  // Where the slider is held; null when it follows the state.
  /** @type {number | null} */
  #held = null;
  /** @type {string | null} */
  #refusal = null;

  // `hindrance()` says why it cannot be moved now; null if it can.
  /** @param {Context} context @param {string} label @param {() => string | null} [hindrance] */
  constructor(context, label, hindrance = () => null) {
    this.#context = context;
    this.#label = label;
    this.#hindrance = hindrance;
  }

  view() {
    const duty = this.#held ?? Math.round(this.#context.live.state[dutyOf(this.#label)] ?? 0);
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
          @input=${(event) => this.#hold(Number(event.target.value))}
          @change=${(event) => this.#send(Number(event.target.value))}
        />
        <output aria-live="off">${duty} %</output></label
      >
      ${this.#refusal ? html`<p class="refusal" role="alert">${this.#refusal}</p>` : nothing}`;
  }

  /** @param {number} duty */
  #hold(duty) {
    this.#held = duty;
    this.#context.redraw();
  }

  /** @param {number} duty */
  async #send(duty) {
    this.#held = duty;
    this.#refusal = null;
    try {
      await api.setDuty(indexOf(this.#label), duty);
    } catch (error) {
      this.#refusal = error instanceof api.Refused ? error.message : t("not_reached");
    }
    this.#held = null;
    this.#context.redraw();
  }
}
