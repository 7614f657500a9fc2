// Firmware: what is installed, what is newer, the bootloader; and the web site that people upload.

import { html, nothing } from "../vendor/lit-html.js";
import { Action } from "../lib/action.js";
import * as api from "../lib/api.js";
import { FileChoice } from "../lib/file_choice.js";
import { Followed } from "../lib/followed.js";
import { Form } from "../lib/form.js";
import { moment } from "../lib/moments.js";
import { serverText, t } from "../lib/words.js";
import { Update } from "./firmware/update.js";

export class Part {
  #context;
  #news;
  #check;
  #update;
  #site;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#news = new Followed(context, api.firmware);
    this.#check = new Form(context, {
      title: "check",
      note: "check_note",
      lead: () => this.#heard(),
      fields: [{ command: "bit1", label: "check_daily", path: "ui.firmware_check" }],
    });
    this.#update = new Update(context, () => this.#news.look());
    this.#site = new SiteCard(context);
  }

  async open() {
    await Promise.all([this.#news.open(), this.#update.open()]);
  }

  close() {
    this.#news.close();
    this.#update.close();
  }

  view() {
    return html`<div class="cards">
      ${this.#update.view(this.#news.value?.installed)} ${this.#check.view()} ${this.#site.view()}
    </div>`;
  }

  // What the last check heard, or why it heard nothing.
  #heard() {
    const { on, checked, newest, is_newer: isNewer, notes, trouble } = this.#news.value ?? {};
    if (!on) return nothing;
    const time = checked ? moment(checked, this.#context.live.state.time) : "";
    return html`<p class=${isNewer || trouble ? "attention" : "note"} role="status">
      ${trouble ? serverText(trouble) : ""}
      ${!trouble && newest ? t(isNewer ? "is_newer" : "is_newest", { newest }) : ""}
      ${trouble || newest ? "" : t("not_checked")}
      ${time ? t("checked_at", { time }) : nothing}
      ${isNewer && notes ? html`<a href=${notes} rel="noreferrer">${t("notes")}</a>` : nothing}
    </p>`;
  }
}

class SiteCard {
  #choice;
  #upload;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#choice = new FileChoice(context, { id: "site-file", label: "site_file" });
    this.#upload = new Action(context, {
      label: "upload_site",
      danger: "site_danger",
      done: "site_taken",
      isReady: () => this.#choice.file !== null,
      perform: () => this.#send(),
    });
  }

  async #send() {
    await api.uploadSite(/** @type {File} */ (this.#choice.file));
    this.#choice.empty();
  }

  view() {
    return html`<section class="card">
      <h2>${t("site")}</h2>
      <p class="note">${t("site_note")}</p>
      <pre tabindex="0">leverframe site build FOLDER</pre>
      ${this.#choice.view()} ${this.#upload.view()}
      <p class="note">
        ${t("back_note")} <a href=${api.builtInPages}>${location.host}${api.builtInPages}</a>
      </p>
    </section>`;
  }
}
