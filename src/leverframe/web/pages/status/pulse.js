// The menu beside an output's lever: on for some seconds or minutes, or until a time of today.
//
// Two clicks in all. Its return time stays as it is. The last own time is offered again.

import { html, nothing } from "../../vendor/lit-html.js";
import * as api from "../../lib/api.js";
import { icon } from "../../lib/icon.js";
import { closeByEscape, closeMenu, closeWhenLeft } from "../../lib/menu.js";
import { t } from "../../lib/words.js";

const MINUTE_S = 60;
const DAY_S = 86_400;
const KEPT = "leverframe.until";
// Seconds and the text that says so.
/** @type {[number, string, number][]} */
const CHOICES = [
  [10, "pulse_seconds", 10],
  [5 * MINUTE_S, "pulse_minutes", 5],
];

export class PulseMenu {
  #context;
  #index;
  #name;
  /** @type {string | null} */
  #refusal = null;

  /** @param {Context} context @param {number} index @param {() => string} name */
  constructor(context, index, name) {
    this.#context = context;
    this.#index = index;
    this.#name = name;
  }

  view() {
    const own = localStorage.getItem(KEPT);
    return html`<details class="pop pulse" @keydown=${closeByEscape} @focusout=${closeWhenLeft}>
        <summary aria-label=${`${this.#name()}: ${t("pulse_for")}`}>
          ${icon("pulse", "s")} <span>${t("pulse_for")}</span> ${icon("down", "s")}
        </summary>
        <div class="menu" role="group" aria-label=${t("pulse_for")}>
          <p>${t("pulse_for")}</p>
          ${CHOICES.map(([seconds, key, count]) =>
            this.#line(t(key, { count }), (event) => this.#pulse(event, seconds)),
          )}
          ${own
            ? this.#line(t("lever_until", { time: own }), (event) => this.#pulseUntil(event, own))
            : nothing}
          <form @submit=${(event) => this.#submit(event)}>
            <label>${t("pulse_until")} <input type="time" name="time" required /></label>
            <button type="submit">${t("pulse_start")}</button>
          </form>
        </div>
      </details>
      ${this.#refusal ? html`<p class="refusal" role="alert">${this.#refusal}</p>` : nothing}`;
  }

  /** @param {string} text @param {(event: Event) => void} act */
  #line(text, act) {
    return html`<button type="button" @click=${act}>${text}</button>`;
  }

  /** @param {Event} event @param {number} seconds */
  async #pulse(event, seconds) {
    closeMenu(event.target);
    this.#refusal = null;
    try {
      await api.pulseOutput(this.#index, seconds);
    } catch (error) {
      this.#refusal = error instanceof api.Refused ? error.message : t("not_reached");
    }
    this.#context.redraw();
  }

  /** @param {SubmitEvent} event */
  #submit(event) {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const time = String(new FormData(form).get("time"));
    localStorage.setItem(KEPT, time);
    this.#pulseUntil(event, time);
  }

  // A time that has passed today is one of tomorrow.
  /** @param {Event} event @param {string} time */
  #pulseUntil(event, time) {
    const [hours, minutes] = time.split(":").map(Number);
    const now = new Date(this.#context.live.state.time * 1000);
    const passed = (now.getHours() * 60 + now.getMinutes()) * 60 + now.getSeconds();
    const left = (hours * 60 + minutes) * 60 - passed;
    this.#pulse(event, left > 0 ? left : left + DAY_S);
  }
}
