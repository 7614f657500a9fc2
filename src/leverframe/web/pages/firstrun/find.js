// Third step: which sensors answer on the buses. Those that are new get the free places.

import { html, nothing } from "../../vendor/lit-html.js";
import * as api from "../../lib/api.js";
import { NO_ID, idsOnBus } from "../../lib/onewire_bus.js";
import { code, t } from "../../lib/words.js";
import { Step } from "./step.js";

const NONE = "NONE";

export class FindStep extends Step {
  title = "find_title";
  // The IDs of the last scan; null before the first.
  /** @type {string[] | null} */
  #found = null;
  #isDone = false;

  get button() {
    return this.#isDone ? "save_go_on" : "scan";
  }

  view() {
    const { i2c } = this.context.settings;
    return html`<p class="note">${t("find_note")}</p>
      ${this.#found === null
        ? nothing
        : html`<ul class="found" role="list">
            ${this.#found.map(
              (id) => html`<li>
                <span>${t("bus_onewire")}</span><code>${id}</code>
                <small>${t(this.#has(id) ? "has_place" : "is_new")}</small>
              </li>`,
            )}
            ${this.#isDone && i2c.primary !== NONE
              ? html`<li>
                  <span>${t("bus_i2c")}</span><code>${code(i2c.primary)}</code>
                  <small>${t("has_place")}</small>
                </li>`
              : nothing}
          </ul>`}
      <p role="status">${this.#told()}</p>`;
  }

  #told() {
    if (this.#found === null) return "";
    if (!this.#isDone) return t("scanning", { count: this.#found.length });
    const count = this.#found.length + (this.context.settings.i2c.primary === NONE ? 0 : 1);
    const left = this.#new.length - this.#free.length;
    if (count === 0) return t("found_none");
    return left > 0 ? t("found_more", { count, left }) : t("found_all", { count });
  }

  get #places() {
    return this.context.settings.onewire;
  }

  /** @param {string} id */
  #has(id) {
    return this.#places.some((place) => place.id === id);
  }

  get #new() {
    return (this.#found ?? []).filter((id) => !this.#has(id));
  }

  // The numbers of the places without a sensor, from 1 as the command counts them.
  get #free() {
    return this.#places.flatMap((place, index) => (place.id === NO_ID ? [index + 1] : []));
  }

  /** @param {string} _note @param {() => Promise<unknown>} done */
  async send(_note, done) {
    if (!this.#isDone) {
      await this.#scan();
      return "stay";
    }
    const bind = this.context.commands.get("dswrite=<A>:<B>");
    const free = this.#free;
    const items = this.#new
      .slice(0, free.length)
      .map((id, index) => bind.query({ A: free[index], B: id }));
    if (items.length > 0) await api.send(`${bind.path}?${items.join("&")}`);
    return done();
  }

  async #scan() {
    const { commands } = this.context;
    this.#found = [];
    if (commands.find("dswrite=0")) {
      for await (const found of idsOnBus(commands)) {
        this.#found = found;
        this.context.redraw();
      }
    }
    const detect = commands.find("bme280detect");
    if (detect) await api.send(detect.request({}).target);
    this.#isDone = true;
  }
}
