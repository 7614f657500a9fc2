// A backup to be kept: the browser saves it as a file.

import { html } from "../../vendor/lit-html.js";
import { Action } from "../../lib/action.js";
import * as api from "../../lib/api.js";
import { download } from "../../lib/download.js";
import { isoDay } from "../../lib/moments.js";
import { t } from "../../lib/words.js";
import { dayOf } from "../../lib/zone.js";
import { Passphrase } from "./passphrase.js";

export class DownloadCard {
  #passphrase;
  #action;
  #name;

  // `name()` is that of the controller.
  /** @param {AdminContext} context @param {() => string} name */
  constructor(context, name) {
    this.#name = name;
    this.#passphrase = new Passphrase(context, "download-passphrase");
    this.#action = new Action(context, {
      label: "download",
      done: "download_done",
      perform: () => this.#download(),
    });
  }

  async #download() {
    const backup = await api.backup(this.#passphrase.typed);
    const day = isoDay(dayOf(Date.now() / 1000));
    download(`${this.#name()}-${day}.bin`, backup, backup.type);
  }

  view() {
    return html`<section class="card">
      <h2>${t("backup")}</h2>
      <p class="note">${t(this.#passphrase.typed ? "backup_sealed" : "backup_open")}</p>
      ${this.#passphrase.view()} ${this.#action.view()}
    </section>`;
  }
}
