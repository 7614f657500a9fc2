// What a rule as it is written would have done in the last 24 hours.

import { html, nothing } from "../../vendor/lit-html.js";
import * as api from "../../lib/api.js";
import { clock, t } from "../../lib/words.js";
import { strip } from "./strip.js";

/** @typedef {Api.RuleTrial | { refusal: string }} Outcome */

const SHOWN = 40;

export class Trial {
  #context;
  #item;
  #busy = false;
  // { firings, last, since } or { refusal }
  /** @type {Outcome | null} */
  #outcome = null;

  // `item()` gives the command of the rule, or null while it cannot be sent.
  /** @param {AdminContext} context @param {() => string | null} item */
  constructor(context, item) {
    this.#context = context;
    this.#item = item;
  }

  forget() {
    this.#outcome = null;
  }

  button() {
    return html`<button type="button" ?disabled=${this.#busy} @click=${() => this.#run()}>
      ${t("try_it")}
    </button>`;
  }

  view() {
    if (!this.#outcome) return nothing;
    return html`<section class="trial" role="status">${this.#told(this.#outcome)}</section>`;
  }

  /** @param {Outcome} outcome */
  #told(outcome) {
    if ("refusal" in outcome) return html`<p class="refusal">${outcome.refusal}</p>`;
    const { firings, last, since } = outcome;
    if (since === null) return html`<p class="note">${t("try_no_history")}</p>`;
    const begun = firings.filter(({ active }) => active).length;
    const ceased = firings.length - begun;
    return html`<p>${t("try_result", { begun, ceased, since: clock(since) })}</p>
      ${strip(firings, last, SHOWN)}
      <p class="note">${t("try_note")}</p>`;
  }

  async #run() {
    const item = this.#item();
    if (item === null) {
      this.#outcome = { refusal: t("try_complete_first") };
      this.#context.redraw();
      return;
    }
    this.#busy = true;
    this.#context.redraw();
    try {
      this.#outcome = await api.tryRule(item);
    } catch (error) {
      const refused = error instanceof api.Refused;
      this.#outcome = { refusal: refused ? error.message : t("not_reached") };
    }
    this.#busy = false;
    this.#context.redraw();
  }
}
