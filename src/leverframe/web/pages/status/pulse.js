// The menu beside an output's lever: on for some seconds or minutes, or until a time of today.
//
// Two clicks in all. Its return time stays as it is.

import { html, nothing } from "../../vendor/lit-html.js";
import * as api from "../../lib/api.js";
import { t } from "../../lib/words.js";

const MINUTE_S = 60;
const DAY_S = 86_400;
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
    return html`<details class="pulse" @keydown=${closeByEscape} @focusout=${closeWhenLeft}>
        <summary aria-label=${`${this.#name()}: ${t("pulse_for")}`}>${t("pulse_for")}</summary>
        <div class="menu" role="group" aria-label=${t("pulse_for")}>
          ${CHOICES.map(
            ([seconds, key, count]) =>
              html`<button type="button" @click=${(event) => this.#pulse(event, seconds)}>
                ${t(key, { count })}
              </button>`,
          )}
          <form @submit=${(event) => this.#pulseUntil(event)}>
            <label>${t("pulse_until")} <input type="time" name="time" required /></label>
            <button type="submit">${t("pulse_start")}</button>
          </form>
        </div>
      </details>
      ${this.#refusal ? html`<p class="refusal" role="alert">${this.#refusal}</p>` : nothing}`;
  }

  /** @param {Event} event @param {number} seconds */
  async #pulse(event, seconds) {
    close(event.target);
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
  #pulseUntil(event) {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const [hours, minutes] = String(new FormData(form).get("time")).split(":").map(Number);
    const now = new Date(this.#context.live.state.time * 1000);
    const passed = (now.getHours() * 60 + now.getMinutes()) * 60 + now.getSeconds();
    const left = (hours * 60 + minutes) * 60 - passed;
    this.#pulse(event, left > 0 ? left : left + DAY_S);
  }
}

/** @param {EventTarget | null} within */
function close(within) {
  const menu = within instanceof Element ? within.closest("details") : null;
  menu?.removeAttribute("open");
  menu?.querySelector("summary")?.focus();
}

/** @param {KeyboardEvent} event */
function closeByEscape(event) {
  if (event.key === "Escape") close(event.target);
}

/** @param {FocusEvent} event */
function closeWhenLeft(event) {
  const menu = /** @type {HTMLElement} */ (event.currentTarget);
  const next = event.relatedTarget;
  if (next instanceof Node && !menu.contains(next)) menu.removeAttribute("open");
}
