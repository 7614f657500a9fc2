// A few fields and a button: what they make of what was typed goes to the test bench.
//
//   new Ask(context, bench, {
//     button: "key",
//     fields: [{ name: "host", label: "key", initial: "router" }],
//     items: ({ host }) => [["ping", host]],
//   })

import { html, nothing } from "../../vendor/lit-html.js";
import { t, text } from "../../lib/words.js";

/** @import { Bench } from "./bench.js" */
/** @typedef {{ name: string, label: Named, initial?: string, most?: () => number }} AskField */
/**
 * @typedef {object} AskSpec
 * @property {Named} button
 * @property {AskField[]} fields
 * @property {(typed: Record<string, string>) => BenchItem[]} items
 * @property {boolean} [isEmptiedAfter]
 */

export class Ask {
  #context;
  #bench;
  #spec;
  /** @type {Record<string, string>} */
  #typed = {};
  /** @type {string | null} */
  #problem = null;
  #done = false;

  /** @param {AdminContext} context @param {Bench} bench @param {AskSpec} spec */
  constructor(context, bench, spec) {
    this.#context = context;
    this.#bench = bench;
    this.#spec = spec;
    this.#begin();
  }

  #begin() {
    this.#typed = Object.fromEntries(
      this.#spec.fields.map(({ name, initial = "" }) => [name, initial]),
    );
  }

  view() {
    const { fields, button } = this.#spec;
    return html`<form class="ask" @submit=${(event) => this.#submit(event)}>
      ${fields.map((field) => this.#field(field))}
      <footer>
        <button class="primary">${text(button)}</button>
        <span class="saved" role="status">${this.#done ? t("done") : ""}</span>
      </footer>
      ${this.#problem ? html`<p class="refusal" role="alert">${this.#problem}</p>` : nothing}
    </form>`;
  }

  /** @param {AskField} field */
  #field({ name, label, most }) {
    return html`<div class="field">
      <label for="ask-${name}">${text(label)}</label>
      <input
        id="ask-${name}"
        required
        autocomplete="off"
        maxlength=${most?.() ?? nothing}
        .value=${this.#typed[name]}
        @input=${(event) => this.#type(name, event.target.value)}
      />
    </div>`;
  }

  /** @param {string} name @param {string} typed */
  #type(name, typed) {
    this.#typed[name] = typed;
    this.#problem = null;
    this.#done = false;
    this.#context.redraw();
  }

  /** @param {Event} event */
  async #submit(event) {
    event.preventDefault();
    this.#problem = await this.#bench.send(...this.#spec.items(this.#typed));
    this.#done = this.#problem === null;
    if (this.#done && this.#spec.isEmptiedAfter) this.#begin();
    this.#context.redraw();
  }
}
