// An output on for a while: some seconds or minutes, or until a time of the day.

import { html, nothing } from "../../vendor/lit-html.js";
import * as api from "../../lib/api.js";
import { durationText } from "../../lib/durations.js";
import { indexOf } from "../../lib/labels.js";
import { t } from "../../lib/words.js";

const CHOICES_S = [10, 300];
const DAY_S = 86_400;

export class OnFor {
  #context;
  #index;
  #isAsking = false;
  /** @type {string | null} */
  #refusal = null;

  /** @param {Context} context @param {string} label */
  constructor(context, label) {
    this.#context = context;
    this.#index = indexOf(label);
  }

  view() {
    return html`<div class="fors" role="group" aria-label=${t("on_for")}>
        <span class="q">${t("on_for")}</span>
        ${CHOICES_S.map(
          (seconds) =>
            html`<button type="button" @click=${() => this.#pulse(seconds)}>
              ${durationText(seconds)}
            </button>`,
        )}
        <button
          type="button"
          aria-expanded=${this.#isAsking ? "true" : "false"}
          @click=${() => this.#ask(!this.#isAsking)}
        >
          ${t("on_until")}
        </button>
      </div>
      ${this.#isAsking ? this.#question() : nothing}
      ${this.#refusal ? html`<p class="refusal" role="alert">${this.#refusal}</p>` : nothing}`;
  }

  #question() {
    return html`<form class="fors" @submit=${(event) => this.#until(event)}>
      <label>${t("on_until_time")} <input type="time" name="time" required autofocus /></label>
      <button class="primary">${t("switch_on")}</button>
    </form>`;
  }

  /** @param {boolean} isAsking */
  #ask(isAsking) {
    this.#isAsking = isAsking;
    this.#context.redraw();
  }

  /** @param {number} seconds */
  async #pulse(seconds) {
    this.#isAsking = false;
    this.#refusal = null;
    try {
      await api.pulseOutput(this.#index, seconds);
    } catch (error) {
      this.#refusal = error instanceof api.Refused ? error.message : t("not_reached");
    }
    this.#context.redraw();
  }

  // A time that has passed today is one of tomorrow.
  /** @param {SubmitEvent} event */
  #until(event) {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const [hours, minutes] = String(new FormData(form).get("time")).split(":").map(Number);
    const now = new Date(this.#context.live.state.time * 1000);
    const passed = (now.getHours() * 60 + now.getMinutes()) * 60 + now.getSeconds();
    const left = (hours * 60 + minutes) * 60 - passed;
    this.#pulse(left > 0 ? left : left + DAY_S);
  }
}
