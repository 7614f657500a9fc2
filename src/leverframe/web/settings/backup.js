// Backup, restore, reset and restart. Whatever loses something says what, and wants the name typed.

import { html, nothing } from "../vendor/lit-html.js";
import { Action } from "../lib/action.js";
import * as api from "../lib/api.js";
import { download } from "../lib/download.js";
import { FileChoice } from "../lib/file_choice.js";
import { isoDay } from "../lib/moments.js";
import { settingName, settingWords, valueText } from "../lib/setting_words.js";
import { serverText, t } from "../lib/words.js";
import { dayOf } from "../lib/zone.js";
import { FileSecrets } from "./backup/file_secrets.js";
import { Passphrase } from "./backup/passphrase.js";

/** @type {PartOf} */
export function partOf(context) {
  let name = "";
  const typed = () => name;
  const report = new Report(context);
  const readName = async () => {
    name = (await api.names()).sname;
    context.redraw();
  };
  return [
    { ...downloadCard(context, typed), open: readName },
    restoreCard(context, typed, () => report.open()),
    resetCard(context, typed),
    restartCard(context),
    report,
  ];
}

// A backup to be kept: the browser saves it as a file.
/** @param {AdminContext} context @param {() => string} name that of the controller */
function downloadCard(context, name) {
  const passphrase = new Passphrase(context, "download-passphrase", {
    hint: "passphrase_hint",
    isNew: true,
  });
  const action = new Action(context, {
    label: "download",
    done: "download_done",
    isReady: () => passphrase.isConfirmed,
    perform: async () => {
      const backup = await api.backup(passphrase.typed);
      const day = isoDay(dayOf(Date.now() / 1000));
      download(`${name()}-${day}.bin`, backup, backup.type);
    },
  });
  const view = () =>
    html`<section class="card">
      <h2>${t("backup")}</h2>
      <p class="note">${t(passphrase.typed ? "backup_sealed" : "backup_open")}</p>
      ${passphrase.view()} ${action.view()}
    </section>`;
  return { view };
}

// Restoring a backup: all of it or nothing.
/** @param {AdminContext} context @param {() => string} typed @param {() => Promise<void>} done */
function restoreCard(context, typed, done) {
  const secrets = new FileSecrets(context);
  const choice = new FileChoice(context, {
    id: "backup-file",
    label: "file",
    accept: ".bin",
    onChange: (file) => secrets.read(file),
  });
  const action = new Action(context, {
    label: "restore_it",
    danger: "restore_danger",
    typed,
    done: "restore_done",
    isReady: () => choice.file !== null && secrets.isDecided,
    perform: async () => {
      await api.restoreBackup(/** @type {File} */ (choice.file), secrets.passphrase);
      choice.empty();
      await context.readSettings();
      await done();
    },
  });
  const view = () =>
    html`<section class="card">
      <h2>${t("restoring")}</h2>
      <p class="note">${t("restoring_note")}</p>
      ${choice.view()} ${secrets.view()} ${action.view()}
    </section>`;
  return { view };
}

/** @param {AdminContext} context @param {() => string} typed */
function resetCard(context, typed) {
  const reset = new Action(context, {
    label: "reset",
    danger: "reset_danger",
    typed,
    done: "reset_done",
    command: "eeprom_reset",
  });
  const view = () =>
    html`<section class="card">
      <h2>${t("defaults")}</h2>
      <p class="note">${t("defaults_note")}</p>
      ${reset.view()}
      <h3>${t("accounts_too")}</h3>
      <p class="note">${t("accounts_too_note")}</p>
      <pre tabindex="0">leverframe data reset --accounts</pre>
    </section>`;
  return { view };
}

/** @param {AdminContext} context */
function restartCard(context) {
  const restart = new Action(context, {
    label: "restart",
    danger: "restart_danger",
    done: "restart_done",
    command: "devrestart",
  });
  const flag = new Action(context, { label: "raise_flag", command: "restart_power_on" });
  const view = () =>
    html`<section class="card">
      <h2>${t("restarting")}</h2>
      <p class="note">${t("restart_note")}</p>
      ${restart.view()}
      <h3>${t("flag")}</h3>
      <p class="note">
        ${t(context.live.state.restart ? "flag_set" : "flag_not_set")} ${t("flag_note")}
      </p>
      ${flag.view()}
    </section>`;
  return { view };
}

// What the last restore, or the last change of the version, could not carry over.
class Report {
  #context;
  /** @type {NotRestored} */
  #missing = [];

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
  }

  async open() {
    const missing = await api.restoreReport();
    await settingWords(missing.map(({ path }) => path));
    this.#missing = missing;
    this.#context.redraw();
  }

  view() {
    if (this.#missing.length === 0) return nothing;
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
            ${this.#missing.map(
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
