// Retries controllers that failed to start with their node.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { t } from "../lib/format/words.js";
import { Confirmed } from "./confirmed.js";
import * as node from "./node_api.js";

const ABOUT = "start";

export class StartAgain {
  #confirmed = new Confirmed();
  // Result of the last retry; the node reports why some still fail.
  /** @type {Signal<BulkReport | null>} */
  #report = signal(null);

  /** @param {FleetNode} about */
  view({ can_start: names, role }) {
    const how = { word: t("start_again") };
    return html`<div class="again">
      ${names.length && role === "administrator"
        ? this.#confirmed.button(ABOUT, "start-again", how, () => this.#start())
        : nothing}
      ${this.#report.value
        ? html`<p class="note" role="status">
            ${t("started_sum", {
              done: this.#report.value.done,
              refused: this.#report.value.refused,
            })}
            ${passwords(this.#report.value)}
          </p>`
        : nothing}
      ${this.#confirmed.refusal(ABOUT)}
    </div>`;
  }

  async #start() {
    this.#report.value = null;
    this.#report.value = await node.startAgain();
  }
}

/** @param {Pick<BulkReport, "results">} report */
export function passwords({ results }) {
  const made = results.filter(({ password }) => password);
  if (!made.length) return nothing;
  return html`<br />${t("made_password")}
    ${made.map(({ name, password }) => html`<br />${name}: <code>${password}</code>`)}`;
}
