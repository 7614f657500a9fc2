// Snapshots: moments of the whole controller that it can go back to, on virtual time.

import { html, nothing } from "../../vendor/lit-html.js";
import * as api from "../../lib/api.js";
import { exactMoment } from "../../lib/moments.js";
import { t } from "../../lib/words.js";

/** @import { Bench } from "./bench.js" */

export class Snapshots {
  #context;
  #bench;
  /** @type {BenchSnapshot[]} */
  #taken = [];
  #name = "";
  /** @type {string | null} */
  #problem = null;

  /** @param {AdminContext} context @param {Bench} bench */
  constructor(context, bench) {
    this.#context = context;
    this.#bench = bench;
  }

  async read() {
    this.#taken = await api.snapshots();
  }

  view() {
    return html`<section class="card">
      <h2>${t("snapshots_title")}</h2>
      <p class="note">${t(this.#bench.report.virtual_time ? "snapshots_note" : "time_real")}</p>
      ${this.#bench.report.virtual_time ? this.#ways() : nothing}
      ${this.#problem ? html`<p class="refusal" role="alert">${this.#problem}</p>` : nothing}
    </section>`;
  }

  #ways() {
    return html`<ul class="wired">
        ${this.#taken.map((one) => this.#row(one))}
      </ul>
      <form class="line" @submit=${(event) => this.#take(event)}>
        <label class="field">
          ${t("snapshot_name")}
          <input
            required
            autocomplete="off"
            maxlength="40"
            .value=${this.#name}
            @input=${(event) => (this.#name = event.target.value)}
          />
        </label>
        <button class="primary">${t("take_snapshot")}</button>
      </form>`;
  }

  /** @param {BenchSnapshot} one */
  #row({ name, time }) {
    return html`<li class="pin">
      <span class="name">${name} <small>${exactMoment(time)}</small></span>
      <button type="button" @click=${() => this.#send("restore", name)}>
        ${t("go_back", { name })}
      </button>
      <button type="button" @click=${() => this.#send("delete", name)}>
        ${t("delete_snapshot", { name })}
      </button>
    </li>`;
  }

  /** @param {Event} event */
  async #take(event) {
    event.preventDefault();
    await this.#send("take", this.#name.trim());
    if (this.#problem === null) this.#name = "";
    this.#context.redraw();
  }

  /** @param {string} what @param {string} name */
  async #send(what, name) {
    this.#problem = await this.#bench.post(api.snapshotTarget(what, name));
    await this.read().catch(() => {});
    this.#context.redraw();
  }
}
