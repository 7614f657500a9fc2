// The picture behind the panel: shown, exchanged, removed.

import { html, nothing } from "../../vendor/lit-html.js";
import { Action } from "../../lib/action.js";
import * as api from "../../lib/api.js";
import { FileChoice } from "../../lib/file_choice.js";
import { address } from "../../lib/router.js";
import { t } from "../../lib/words.js";

export class PictureCard {
  #context;
  #choice;
  #upload;
  #removal;
  /** @type {string | null} */
  #shown = null;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#choice = new FileChoice(context, {
      id: "picture",
      label: "picture_file",
      accept: "image/png,image/jpeg,image/gif,image/webp",
    });
    this.#upload = new Action(context, {
      label: "upload_picture",
      done: "picture_taken",
      isReady: () => this.#choice.file !== null,
      perform: () => this.#send(),
    });
    this.#removal = new Action(context, {
      label: "remove_picture",
      danger: "remove_danger",
      done: "picture_removed",
      perform: () => this.#remove(),
    });
  }

  async read() {
    this.#shown = (await api.panel()).picture;
    this.#context.redraw();
  }

  async #send() {
    await api.uploadPicture(/** @type {File} */ (this.#choice.file));
    this.#choice.empty();
    await this.read();
  }

  async #remove() {
    await api.send(this.#context.commands.get("delpicture").request({}).target);
    await this.read();
  }

  view() {
    return html`<section class="card">
      <h2>${t("picture")}</h2>
      <p class="note">
        ${t("picture_note")} <a href=${address("panel")}>${t("to_panel")}</a>
      </p>
      ${this.#shown
        ? html`<img class="preview" src=${this.#shown} alt=${t("picture_alt")} />`
        : html`<p class="empty">${t("no_picture")}</p>`}
      ${this.#choice.view()} ${this.#upload.view()} ${this.#shown ? this.#removal.view() : nothing}
    </section>`;
  }
}
