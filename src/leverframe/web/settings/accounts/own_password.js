// The own password of an account that sees no settings, and signing out.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { t } from "../../lib/format/words.js";
import { fetchPasswordWords } from "../../lib/forms/passwords.js";
import { saveOnSubmit } from "../../lib/forms/draft_form.js";
import { leave } from "../../lib/frame/frame.js";
import * as api from "../../lib/live/api.js";
import { observe } from "../../lib/live/drawing.js";
import { PasswordFields, passwordTask } from "./password_fields.js";

export class OwnPassword {
  name = "";
  #task = passwordTask();
  #password;
  #isSaved = signal(false);

  /** @param {Context} context */
  constructor(context) {
    observe(this, "name");
    this.#password = new PasswordFields(context, this.#task, "own");
    context.forms.add(this);
  }

  async open() {
    await fetchPasswordWords();
    ({ name: this.name } = await api.account());
  }

  get isChanged() {
    return this.#password.isChanged;
  }

  restore() {
    this.#password.restore();
    this.#task.forget();
  }

  async save() {
    if (this.#task.isBusy || !this.#password.check(this.name, true)) return false;
    this.#isSaved.value = await this.#task.run(async () => {
      const { present, wanted } = this.#password.typed;
      await api.changePassword({ username: this.name, password: present, new: wanted });
      this.#password.restore();
    });
    this.#password.sayRefused();
    return this.#isSaved.value;
  }

  view() {
    if (!this.name) return nothing;
    return html`<form
      class="card"
      novalidate
      ?data-changed=${this.isChanged}
      @submit=${(event) => saveOnSubmit(event, () => this.save())}
    >
      <h2>${t("own")}</h2>
      <p class="note">${t("signed_in_control", { name: this.name })} ${t("own_note")}</p>
      ${this.#password.view({ needsPresent: true })} ${this.#task.view()}
      <footer>
        <button class="primary" ?disabled=${!this.isChanged || this.#task.isBusy}>
          ${t("change")}
        </button>
        <button type="button" @click=${leave}>${t("sign_out")}</button>
        <span class="saved" role="status"
          >${this.#isSaved.value && !this.isChanged ? t("saved") : ""}</span
        >
      </footer>
    </form>`;
  }
}
