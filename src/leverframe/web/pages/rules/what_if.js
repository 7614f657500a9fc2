// Any change, tried: what would happen only with these commands, and only without them.

import { html, nothing } from "../../vendor/lit-html.js";
import * as api from "../../lib/api.js";
import { durationText, roughText } from "../../lib/durations.js";
import { entryView, journalWords, reasonText } from "../../lib/journal.js";
import { exactMoment } from "../../lib/moments.js";
import { optionsOf } from "../../lib/options.js";
import { thingName } from "../../lib/things.js";
import { serverText, t } from "../../lib/words.js";

/** @typedef {Api.WhatIf | { refusal: string }} Outcome */

const HOURS = [6, 24, 72, 168];
const HOUR_S = 3600;
// More lines than this are counted and not drawn.
const SHOWN = 100;

export class WhatIf {
  #context;
  #commands = "";
  #hours = 24;
  #busy = false;
  /** @type {Outcome | null} */
  #outcome = null;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
  }

  view() {
    return html`<section class="card">
      <h2>${t("what_if_title")}</h2>
      <p class="note">${t("what_if_note")}</p>
      <form class="ask" @submit=${(event) => this.#try(event)}>
        <div class="field">
          <label for="what-if-commands">${t("what_if_commands")}</label>
          <textarea
            id="what-if-commands"
            required
            rows="4"
            spellcheck="false"
            placeholder="/inpa.cgi?eventon=0*0"
            .value=${this.#commands}
            @input=${(event) => this.#type(event.target.value)}
          ></textarea>
        </div>
        <div class="field">
          <label for="what-if-hours">${t("what_if_hours")}</label>
          <select
            id="what-if-hours"
            @change=${(event) => (this.#hours = Number(event.target.value))}
          >
            ${optionsOf(
              HOURS.map((count) => [count, durationText(count * HOUR_S)]),
              this.#hours,
            )}
          </select>
        </div>
        <footer>
          <button class="primary" ?disabled=${this.#busy}>${t("what_if_try")}</button>
        </footer>
      </form>
      ${this.#outcome
        ? html`<section class="trial" role="status">${this.#told(this.#outcome)}</section>`
        : nothing}
    </section>`;
  }

  /** @param {Outcome} outcome */
  #told(outcome) {
    if ("refusal" in outcome) return html`<p class="refusal">${outcome.refusal}</p>`;
    const { differing, not_listed: further, same } = outcome;
    const count = differing.length + further;
    return html`<p>${t("what_if_result", { count, same })}</p>
      <ul class="log">
        ${differing.slice(0, SHOWN).map(
          (one) => html`<li>
            <time>${exactMoment(one.time)}</time>
            <div><b>${one.only === "with" ? "+" : "−"}</b> ${this.#entry(one)}</div>
          </li>`,
        )}
      </ul>
      ${count > SHOWN
        ? html`<p class="note">${t("what_if_more", { count: count - SHOWN })}</p>`
        : nothing}
      ${this.#outputs(outcome)}`;
  }

  // A message that would be sent is no entry yet.
  /** @param {Api.DifferingEntry} differing */
  #entry({ entry, text, cause }) {
    if (entry) return entryView(this.#context, entry);
    return html`<span>${serverText(text)}</span>
      <small>${reasonText(this.#context, cause)}</small>`;
  }

  /** @param {Api.WhatIf} outcome */
  #outputs({ without, with: after }) {
    return html`<ul class="wired">
      ${Object.entries(without).map(
        ([label, use]) => html`<li>
          ${t("what_if_output", {
            label: thingName(this.#context, label),
            before: use.changes,
            time_before: roughText(use.on_s),
            after: after[label].changes,
            time_after: roughText(after[label].on_s),
          })}
        </li>`,
      )}
    </ul>`;
  }

  /** @param {string} typed */
  #type(typed) {
    this.#commands = typed;
    this.#outcome = null;
    this.#context.redraw();
  }

  /** @param {Event} event */
  async #try(event) {
    event.preventDefault();
    this.#busy = true;
    this.#context.redraw();
    try {
      const [outcome] = await Promise.all([
        api.whatIf(this.#commands, this.#hours),
        journalWords(),
      ]);
      this.#outcome = outcome;
    } catch (error) {
      const refused = error instanceof api.Refused;
      this.#outcome = { refusal: refused ? error.message : t("not_reached") };
    }
    this.#busy = false;
    this.#context.redraw();
  }
}
