// A field for the passphrase that seals the passwords of a backup.

import { html } from "../../vendor/lit-html.js";
import { t } from "../../lib/words.js";

export class Passphrase {
  typed = "";
  #context;
  #id;

  /** @param {AdminContext} context @param {string} id */
  constructor(context, id) {
    this.#context = context;
    this.#id = id;
  }

  view() {
    return html`<div class="field">
      <label for=${this.#id}>${t("passphrase")}</label>
      <input
        id=${this.#id}
        type="password"
        autocomplete="off"
        aria-describedby="${this.#id}-hint"
        .value=${this.typed}
        @input=${(event) => {
          this.typed = event.target.value;
          this.#context.redraw();
        }}
      />
      <small class="hint" id="${this.#id}-hint">${t("passphrase_hint")}</small>
    </div>`;
  }
}
