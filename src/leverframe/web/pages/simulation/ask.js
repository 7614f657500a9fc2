// A few fields and a button: what they make of what was typed goes to the test bench.
//
//   new Ask(context, bench, {
//     button: "key",
//     fields: [{ name: "host", label: "key", initial: "router" }],
//     items: ({ host }) => [["ping", host]],
//   })

import { html, nothing } from "../../vendor/lit-html.js";
import { t, text } from "../../lib/words.js";

export class Ask {
  #context;
  #bench;
  #spec;
  #typed = {};
  #problem = null;
  #done = false;

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

  #type(name, typed) {
    this.#typed[name] = typed;
    this.#problem = null;
    this.#done = false;
    this.#context.redraw();
  }

  async #submit(event) {
    event.preventDefault();
    this.#problem = await this.#bench.send(...this.#spec.items(this.#typed));
    this.#done = this.#problem === null;
    if (this.#done && this.#spec.isEmptiedAfter) this.#begin();
    this.#context.redraw();
  }
}
