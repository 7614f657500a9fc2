// A field for the passphrase that seals the passwords of a backup; a new one is typed twice.

import { html, nothing } from "../../vendor/lit-html.js";
import { t } from "../../lib/words.js";

/** @typedef {{ hint: string, isNew?: boolean }} PassphraseSpec */

export class Passphrase {
  typed = "";
  #again = "";
  #context;
  #id;
  #spec;

  /** @param {AdminContext} context @param {string} id @param {PassphraseSpec} spec */
  constructor(context, id, spec) {
    this.#context = context;
    this.#id = id;
    this.#spec = spec;
  }

  // A mistyped passphrase would seal the passwords for ever.
  get isConfirmed() {
    return !this.#spec.isNew || this.typed === "" || this.typed === this.#again;
  }

  view() {
    const { hint, isNew } = this.#spec;
    const again = this.#again === "" || this.isConfirmed ? "" : t("passphrases_differ");
    return html`${this.#field(this.#id, t("passphrase"), this.typed, t(hint), (text) => {
      this.typed = text;
    })}
    ${isNew && this.typed
      ? this.#field(`${this.#id}-again`, t("passphrase_again"), this.#again, again, (text) => {
          this.#again = text;
        })
      : nothing}`;
  }

  /**
   * @param {string} id @param {string} label @param {string} value @param {string} hint
   * @param {(text: string) => void} keep
   */
  #field(id, label, value, hint, keep) {
    return html`<div class="field">
      <label for=${id}>${label}</label>
      <input
        id=${id}
        type="password"
        autocomplete=${this.#spec.isNew ? "new-password" : "off"}
        aria-describedby="${id}-hint"
        .value=${value}
        @input=${(event) => {
          keep(event.target.value);
          this.#context.redraw();
        }}
      />
      <small class="hint" id="${id}-hint">${hint}</small>
    </div>`;
  }
}
