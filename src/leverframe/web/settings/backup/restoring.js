// Restoring a backup: all of it or nothing.

import { html } from "../../vendor/lit-html.js";
import { Action } from "../../lib/action.js";
import * as api from "../../lib/api.js";
import { FileChoice } from "../../lib/file_choice.js";
import { t } from "../../lib/words.js";
import { Passphrase } from "./passphrase.js";

export class RestoreCard {
  #context;
  #choice;
  #passphrase;
  #action;
  #done;

  // `done()` is called after a restore.
  /** @param {AdminContext} context @param {() => string} typed @param {() => Promise<void>} done */
  constructor(context, typed, done) {
    this.#context = context;
    this.#done = done;
    this.#choice = new FileChoice(context, { id: "backup-file", label: "file", accept: ".bin" });
    this.#passphrase = new Passphrase(context, "restore-passphrase");
    this.#action = new Action(context, {
      label: "restore_it",
      danger: "restore_danger",
      typed,
      done: "restore_done",
      isReady: () => this.#choice.file !== null,
      perform: () => this.#restore(),
    });
  }

  async #restore() {
    await api.restoreBackup(/** @type {File} */ (this.#choice.file), this.#passphrase.typed);
    this.#choice.empty();
    await this.#context.readSettings();
    await this.#done();
  }

  view() {
    return html`<section class="card">
      <h2>${t("restoring")}</h2>
      <p class="note">${t("restoring_note")}</p>
      ${this.#choice.view()} ${this.#passphrase.view()} ${this.#action.view()}
    </section>`;
  }
}
