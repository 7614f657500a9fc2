// Firmware: what is installed, what is newer, the bootloader; and the web site that people upload.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { moment } from "../lib/format/moments.js";
import { serverText, t } from "../lib/format/words.js";
import { Action } from "../lib/forms/action.js";
import { FileChoice } from "../lib/forms/files.js";
import { Form } from "../lib/forms/form.js";
import * as api from "../lib/live/api.js";
import { Followed } from "../lib/live/live.js";

/** @type {PartOf} */
export function partOf(context) {
  const news = new Followed(context, api.firmware);
  const check = new Form(context, {
    title: "check",
    note: "check_note",
    lead: () => (news.value ? checkOutcome(context, news.value) : nothing),
    fields: [{ command: "bit1", label: "check_daily", path: "ui.firmware_check" }],
  });
  return [news, new Update(context, news), check, siteCard(context)];
}

// What the last check heard, or why it heard nothing.
/** @param {AdminContext} context @param {Firmware} news */
function checkOutcome({ live }, { on, checked, newest, is_newer: isNewer, notes, trouble }) {
  if (!on) return nothing;
  const time = checked ? moment(checked, live.state.time) : "";
  return html`<p class=${isNewer || trouble ? "attention" : "note"} role="status">
    ${trouble ? serverText(trouble) : ""}
    ${!trouble && newest ? t(isNewer ? "is_newer" : "is_newest", { newest }) : ""}
    ${trouble || newest ? "" : t("not_checked")} ${time ? t("checked_at", { time }) : nothing}
    ${isNewer && notes ? html`<a href=${notes} rel="noreferrer">${t("notes")}</a>` : nothing}
  </p>`;
}

/** @param {AdminContext} context */
function siteCard(context) {
  const choice = new FileChoice({ id: "site-file", label: "site_file" });
  const upload = new Action(context, {
    label: "upload_site",
    danger: "site_danger",
    done: "site_taken",
    isReady: () => choice.file !== null,
    perform: async () => {
      await api.uploadSite(/** @type {File} */ (choice.file));
      choice.empty();
    },
  });
  const view = () =>
    html`<section class="card">
      <h2>${t("site")}</h2>
      <p class="note">${t("site_note")}</p>
      <pre tabindex="0">leverframe site build FOLDER</pre>
      ${choice.view()} ${upload.view()}
      <p class="note">
        ${t("back_note")} <a href=${api.builtInPages}>${location.host}${api.builtInPages}</a>
      </p>
    </section>`;
  return { view };
}

// Taking new firmware: the bootloader, its count-down, and what came of it.

const LOOK_AGAIN_MS = 1000;
// The version before the update; another version reloads the pages.
const BEFORE = "leverframe.firmware_before";

class Update {
  #context;
  #news;
  #start;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #name = signal("");
  // Seconds that the bootloader still waits; null while it does not.
  /** @type {Signal<number | null>} */
  #seconds = signal(null);
  #max = signal(0);
  // { before, after } once the controller is back.
  /** @type {Signal<{ before: string | null, after: string } | null>} */
  #outcome = signal(null);

  /** @param {AdminContext} context @param {Followed<Firmware>} news what is installed */
  constructor(context, news) {
    this.#context = context;
    this.#news = news;
    this.#start = new Action(context, {
      label: "start",
      danger: "start_danger",
      done: "started",
      typed: () => this.#name.value,
      perform: () => this.#begin(),
    });
  }

  async open() {
    this.#name.value = (await api.names()).sname;
    if (sessionStorage.getItem(BEFORE) !== null) this.#watch();
  }

  close() {
    clearTimeout(this.#timer);
  }

  async #begin() {
    const { installed } = await api.firmware();
    const { target } = this.#context.commands.get("upgrade=devstart3").request({});
    await api.send(target);
    sessionStorage.setItem(BEFORE, installed);
    this.#outcome.value = null;
    this.#watch();
  }

  // Until the controller runs again. One that cannot be reached at all may be just starting.
  async #watch() {
    try {
      const seconds = await api.bootloaderWait();
      if (seconds === null && (await this.#isBack())) return;
      this.#seconds.value = seconds;
      this.#max.value = Math.max(this.#max.value, seconds ?? 0);
    } catch (error) {
      if (!api.isLoss(error)) throw error;
    }
    this.#timer = setTimeout(() => this.#watch(), LOOK_AGAIN_MS);
  }

  async #isBack() {
    const { installed } = await api.firmware();
    this.#outcome.value = { before: sessionStorage.getItem(BEFORE), after: installed };
    sessionStorage.removeItem(BEFORE);
    this.#seconds.value = null;
    await this.#news.look();
    return true;
  }

  view() {
    const installed = this.#news.value?.installed ?? "";
    const { hw } = this.#context.settings.profile;
    return html`<section class="card">
      <h2>${t("firmware")}</h2>
      <div class="reading">
        <span class="name">${t("installed")}</span>
        <span class="value">SW ${installed}<small>HW ${hw}</small></span>
      </div>
      <p class="note">${t("update_note")}</p>
      <ol class="steps-to-take">
        <li>${t("step_sign")}</li>
        <li>${t("step_start")}</li>
        <li>${t("step_send")}</li>
      </ol>
      <pre tabindex="0">tftp -m binary ${location.hostname} -c put new.img</pre>
      ${this.#seconds.value === null ? this.#start.view() : this.#countDown()} ${this.#result()}
    </section>`;
  }

  #countDown() {
    return html`<p class="count-down" role="timer">
      <progress
        max=${this.#max.value}
        value=${this.#seconds.value}
        aria-label=${t("bootloader_waits", { seconds: this.#seconds.value })}
      ></progress>
      <strong>${t("bootloader_waits", { seconds: this.#seconds.value })}</strong>
    </p>`;
  }

  #result() {
    if (this.#outcome.value === null) return nothing;
    const { before, after } = this.#outcome.value;
    const isNew = before !== after;
    return html`<p class=${isNew ? "fine" : "attention"} role="status">
      ${t(isNew ? "now_installed" : "same_version", { before, after })}
    </p>`;
  }
}
