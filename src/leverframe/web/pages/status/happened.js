// What happened and why, newest first: the controller's own log, for those who may read it.

import { html, nothing } from "../../vendor/lit-html.js";
import * as api from "../../lib/api.js";
import { t } from "../../lib/words.js";

const LINES = 14;
const READ_AGAIN_MS = 400;

export class Happened {
  #context;
  #overview;
  /** @type {LogEntries} */
  #entries = [];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #heard = 0;

  /** @param {Context} context @param {Overview} overview */
  constructor(context, overview) {
    this.#context = context;
    this.#overview = overview;
  }

  async read() {
    if (!this.#context.isAdmin) return;
    this.#entries = (await api.log()).slice(-LINES).reverse();
    this.#context.redraw();
  }

  // The log is read again a moment after the state has moved on.
  follow() {
    const { heard } = this.#context.live;
    if (!this.#context.isAdmin || heard === this.#heard) return;
    this.#heard = heard;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.read().catch(() => {});
    }, READ_AGAIN_MS);
  }

  close() {
    clearTimeout(this.#timer);
  }

  view() {
    if (!this.#context.isAdmin || !this.#overview.isVisible("log")) return nothing;
    return html`<section class="card" aria-labelledby="happened">
      <h2 id="happened">${t("happened")}</h2>
      ${this.#entries.length === 0 ? html`<p class="empty">${t("nothing_yet")}</p>` : nothing}
      <ol class="log">
        ${this.#entries.map((entry) => this.#entry(entry))}
      </ol>
    </section>`;
  }

  /** @param {LogEntries[number]} log */
  #entry({ time, text, cause, detail }) {
    return html`<li>
      <time>${this.#overview.moment(time)}</time>
      <span>${text}</span>
      <small>${cause} ${detail}</small>
    </li>`;
  }
}
