// Backup, restore, reset and restart. Whatever loses something says what, and wants the name typed.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { isoDay } from "../lib/format/moments.js";
import { settingName, settingWords, valueText } from "../lib/format/setting_words.js";
import { serverText, t } from "../lib/format/words.js";
import { dayOf } from "../lib/format/zone.js";
import { Action } from "../lib/forms/action.js";
import { download, FileChoice } from "../lib/forms/files.js";
import * as api from "../lib/live/api.js";
import { observe } from "../lib/live/drawing.js";
import { Trial } from "./backup/trial.js";

/** @type {PartOf} */
export function partOf(context) {
  const name = signal("");
  const typedName = () => name.value;
  const report = new Report(context);
  const readName = async () => {
    name.value = (await api.names()).sname;
  };
  return [
    { ...downloadCard(context, typedName), open: readName },
    restoreCard(context, typedName, () => report.open()),
    resetCard(context, typedName),
    restartCard(context),
    report,
  ];
}

// A backup to be kept: the browser saves it as a file.
/** @param {AdminContext} context @param {() => string} name that of the controller */
function downloadCard(context, name) {
  const passphrase = new Passphrase("download-passphrase", {
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

// Restoring a backup: all of it or nothing, and not before it was seen what that changes.
/** @param {AdminContext} context @param {() => string} typed @param {() => Promise<void>} done */
function restoreCard(context, typed, done) {
  const trial = new Trial(context);
  const tryIt = () => choice.file && trial.read(choice.file, secrets.passphrase);
  const secrets = new FileSecrets(context, tryIt);
  const choice = new FileChoice({
    id: "backup-file",
    label: "file",
    accept: ".bin",
    onChange: (file) => {
      trial.forget();
      secrets.read(file);
    },
  });
  const isSeen = () => secrets.isDecided && trial.isOf(choice.file, secrets.passphrase);
  const action = new Action(context, {
    label: "restore_it",
    danger: "restore_danger",
    typed,
    done: "restore_done",
    isReady: isSeen,
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
      ${choice.view()} ${secrets.view()}
      ${choice.file === null || isSeen()
        ? nothing
        : html`<p>
            <button
              type="button"
              ?disabled=${!secrets.isDecided || trial.isBusy}
              @click=${tryIt}
            >
              ${t("trial_show")}
            </button>
          </p>`}
      ${isSeen() || trial.isRefused ? trial.view() : nothing} ${action.view()}
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
  /** @type {Signal<NotRestored>} */
  #missing = signal([]);

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
  }

  async open() {
    const missing = await api.restoreReport();
    await settingWords(missing.map(({ path }) => path));
    this.#missing.value = missing;
  }

  view() {
    if (this.#missing.value.length === 0) return nothing;
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
            ${this.#missing.value.map(
              ({ path, value, reason }) =>
                html`<tr>
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

// The secrets of a backup file: read out of it before it is sent, so that it is known beforehand
// what will be missing. A sealed file needs its passphrase, or the choice to do without.

const MAGIC = "LEVERFRAME\0";
// Behind the magic: the format, and the checksum of the content.
const CONTENT_AT = MAGIC.length + 1 + 32;
// No backup is larger.
const MOST_BYTES = 4 << 20;

/** @typedef {{ isSealed: boolean, paths: string[] }} Secrets */

// Null where the file is not a backup: the controller says then what is wrong with it.
/** @param {Blob} file @returns {Promise<Secrets | null>} */
export async function secretsIn(file) {
  if (file.size > MOST_BYTES) return null;
  if ((await file.slice(0, MAGIC.length).text()) !== MAGIC) return null;
  try {
    const content = JSON.parse(await file.slice(CONTENT_AT).text());
    const isSealed = Boolean(content.sealed);
    const paths = (isSealed ? content.sealed_settings : content.left_out) ?? [];
    return { isSealed, paths: paths.filter((/** @type {unknown} */ p) => typeof p === "string") };
  } catch {
    return null;
  }
}

class FileSecrets {
  #context;
  #onDecided;
  #passphrase;
  /** @type {Signal<Secrets | null>} */
  #secrets = signal(null);
  #isReading = signal(false);
  #doesWithout = signal(false);

  // `onDecided` is called when the file can be read: it needs no passphrase.
  /** @param {AdminContext} context @param {() => void} onDecided */
  constructor(context, onDecided) {
    this.#context = context;
    this.#onDecided = onDecided;
    this.#passphrase = new Passphrase("restore-passphrase", { hint: "passphrase_needed" });
  }

  // Whether the file can be sent: nothing is sealed in it, or it is clear what becomes of that.
  get isDecided() {
    if (this.#isReading.value) return false;
    return (
      !this.#secrets.value?.isSealed || this.#doesWithout.value || this.#passphrase.typed !== ""
    );
  }

  // What opens the file; empty where it is restored without its secrets.
  get passphrase() {
    return this.#secrets.value?.isSealed && !this.#doesWithout.value ? this.#passphrase.typed : "";
  }

  /** @param {File | null} file */
  async read(file) {
    this.#secrets.value = null;
    this.#doesWithout.value = false;
    this.#passphrase.typed = "";
    this.#isReading.value = file !== null;
    if (!file) return;
    const found = await secretsIn(file);
    const known = (found?.paths ?? []).filter((path) => this.#isKnown(path));
    await settingWords(known);
    this.#secrets.value = found && { ...found, paths: known };
    this.#isReading.value = false;
    if (this.isDecided) this.#onDecided();
  }

  // A file may name anything; only what is a setting has words.
  /** @param {string} path */
  #isKnown(path) {
    return Object.hasOwn(this.#context.settings, path.split(".")[0]);
  }

  view() {
    if (!this.#secrets.value) return nothing;
    const { isSealed, paths } = this.#secrets.value;
    const list = paths.map((path) => settingName(this.#context, path)).join(", ");
    if (!isSealed) {
      return list ? html`<p class="note">${t("restore_unsealed", { list })}</p>` : nothing;
    }
    return html`<p class="note">
        ${list ? t("restore_sealed", { list }) : t("restore_sealed_all")}
      </p>
      ${this.#doesWithout.value ? nothing : this.#passphrase.view()} ${this.#choice()}`;
  }

  #choice() {
    return html`<div class="field">
      <label class="toggle">
        <input
          type="checkbox"
          role="switch"
          .checked=${this.#doesWithout.value}
          @change=${(event) => {
            this.#doesWithout.value = event.target.checked;
            if (this.isDecided) this.#onDecided();
          }}
        />
        <span>${t("restore_without")}</span>
      </label>
    </div>`;
  }
}

// A field for the passphrase that seals the passwords of a backup; a new one is typed twice.

/** @typedef {{ hint: string, isNew?: boolean }} PassphraseSpec */

export class Passphrase {
  typed = "";
  #again = signal("");
  #id;
  #spec;

  /** @param {string} id @param {PassphraseSpec} spec */
  constructor(id, spec) {
    observe(this, "typed");
    this.#id = id;
    this.#spec = spec;
  }

  // A mistyped passphrase would seal the passwords for ever.
  get isConfirmed() {
    return !this.#spec.isNew || this.typed === "" || this.typed === this.#again.value;
  }

  view() {
    const { hint, isNew } = this.#spec;
    const again = this.#again.value === "" || this.isConfirmed ? "" : t("passphrases_differ");
    return html`${this.#field(this.#id, t("passphrase"), this.typed, t(hint), (text) => {
      this.typed = text;
    })}
    ${isNew && this.typed
      ? this.#field(
          `${this.#id}-again`,
          t("passphrase_again"),
          this.#again.value,
          again,
          (text) => (this.#again.value = text),
        )
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
        @input=${(event) => keep(event.target.value)}
      />
      <small class="hint" id="${id}-hint">${hint}</small>
    </div>`;
  }
}
