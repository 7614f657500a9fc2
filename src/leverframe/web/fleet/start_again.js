// Controllers that did not start with their node: tried again by its operator.

import { html, nothing } from "../vendor/lit-html.js";
import * as api from "../lib/api.js";
import { t } from "../lib/words.js";
import * as node from "./node_api.js";

export class StartAgain {
  #page;
  #isBusy = false;
  /** @type {string | null} */
  #refusal = null;
  // What became of the last try; why some still do not start, the node tells.
  /** @type {BulkReport | null} */
  #report = null;

  /** @param {FleetPageLike} page */
  constructor(page) {
    this.#page = page;
  }

  /** @param {FleetNode} about */
  view({ can_start: names, role }) {
    return html`<div class="again">
      ${names.length && role === "administrator" ? this.#button() : nothing}
      ${this.#report
        ? html`<p class="note" role="status">
            ${t("started_sum", { done: this.#report.done, refused: this.#report.refused })}
          </p>`
        : nothing}
      ${this.#refusal ? html`<p class="refusal" role="alert">${this.#refusal}</p>` : nothing}
    </div>`;
  }

  #button() {
    return html`<button
      type="button"
      data-do="start-again"
      ?disabled=${this.#isBusy}
      @click=${() => this.#start()}
    >
      ${t("start_again")}
    </button>`;
  }

  async #start() {
    this.#isBusy = true;
    this.#refusal = null;
    this.#report = null;
    this.#page.redraw();
    try {
      this.#report = await node.startAgain();
    } catch (error) {
      if (!api.mayPass(error)) throw error;
      this.#refusal = /** @type {Error} */ (error).message;
    }
    this.#isBusy = false;
    this.#page.redraw();
  }
}
