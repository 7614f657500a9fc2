// A field for a file, which an action beside it then sends.

import { html } from "../vendor/lit-html.js";
import { text } from "./words.js";

export class FileChoice {
  #context;
  #spec;
  /** @type {HTMLInputElement | null} */
  #chosen = null;

  // `spec`: { id, label: "key", accept, onChange(file) }
  /** @param {Context} context @param {FileChoiceSpec} spec */
  constructor(context, spec) {
    this.#context = context;
    this.#spec = spec;
  }

  get file() {
    return this.#chosen?.files?.[0] ?? null;
  }

  // After it was sent: the same file may have to be chosen again.
  empty() {
    if (this.#chosen) this.#chosen.value = "";
    this.#changed();
  }

  #changed() {
    this.#spec.onChange?.(this.file);
    this.#context.redraw();
  }

  view() {
    const { id, label, accept = "" } = this.#spec;
    return html`<div class="field">
      <label for=${id}>${text(label)}</label>
      <input
        id=${id}
        type="file"
        accept=${accept}
        @change=${(event) => {
          this.#chosen = event.target;
          this.#changed();
        }}
      />
    </div>`;
  }
}
