// Backup, restore, reset and restart. Whatever loses something says what, and wants the name typed.

import { html, nothing } from "../vendor/lit-html.js";
import { Action } from "../lib/action.js";
import * as api from "../lib/api.js";
import { settingName, settingWords, valueText } from "../lib/setting_words.js";
import { serverText, t } from "../lib/words.js";
import { DownloadCard } from "./backup/download.js";
import { RestoreCard } from "./backup/restoring.js";

export class Part {
  #context;
  #name = "";
  /** @type {NotRestored} */
  #report = [];
  #download;
  #restoring;
  #reset;
  #restart;
  #flag;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    const typed = () => this.#name;
    this.#download = new DownloadCard(context, typed);
    this.#restoring = new RestoreCard(context, typed, () => this.#readReport());
    this.#reset = new Action(context, {
      label: "reset",
      danger: "reset_danger",
      typed,
      done: "reset_done",
      command: "eeprom_reset",
    });
    this.#restart = new Action(context, {
      label: "restart",
      danger: "restart_danger",
      done: "restart_done",
      command: "devrestart",
    });
    this.#flag = new Action(context, { label: "raise_flag", command: "restart_power_on" });
  }

  async open() {
    const [names] = await Promise.all([api.names(), this.#readReport()]);
    this.#name = names.sname;
    this.#context.redraw();
  }

  close() {}

  async #readReport() {
    const report = await api.restoreReport();
    await settingWords(report.map(({ path }) => path));
    this.#report = report;
    this.#context.redraw();
  }

  view() {
    return html`<div class="cards">
      ${this.#download.view()} ${this.#restoring.view()} ${this.#resetCard()} ${this.#restartCard()}
      ${this.#report.length === 0 ? nothing : this.#reportCard()}
    </div>`;
  }

  #resetCard() {
    return html`<section class="card">
      <h2>${t("defaults")}</h2>
      <p class="note">${t("defaults_note")}</p>
      ${this.#reset.view()}
      <h3>${t("accounts_too")}</h3>
      <p class="note">${t("accounts_too_note")}</p>
      <pre tabindex="0">leverframe data reset --accounts</pre>
    </section>`;
  }

  #restartCard() {
    const { restart } = this.#context.live.state;
    return html`<section class="card">
      <h2>${t("restarting")}</h2>
      <p class="note">${t("restart_note")}</p>
      ${this.#restart.view()}
      <h3>${t("flag")}</h3>
      <p class="note">${t(restart ? "flag_set" : "flag_not_set")} ${t("flag_note")}</p>
      ${this.#flag.view()}
    </section>`;
  }

  // What the last restore, or the last change of the version, could not carry over.
  #reportCard() {
    return html`<section class="card across">
      <h2>${t("report")}</h2>
      <p class="note">${t("report_note")}</p>
      <div class="scrolling" tabindex="0" role="region" aria-label=${t("report")}>
        <table>
          <thead>
            <tr>
              <th>${t("setting")}</th>
              <th>${t("value")}</th>
              <th>${t("reason")}</th>
            </tr>
          </thead>
          <tbody>
            ${this.#report.map(
              ({ path, value, reason }) => html`<tr>
                <td>
                  ${path === "settings" ? t("all_settings") : settingName(this.#context, path)}
                </td>
                <td>${valueText(this.#context, path, value)}</td>
                <td>${serverText(reason)}</td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </section>`;
  }
}
