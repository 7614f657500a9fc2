// The secrets of a backup file: read out of it before it is sent, so that it is known beforehand
// what will be missing. A sealed file needs its passphrase, or the choice to do without.

import { html, nothing } from "../../vendor/lit-html.js";
import { settingName, settingWords } from "../../lib/setting_words.js";
import { t } from "../../lib/words.js";
import { Passphrase } from "./passphrase.js";

const MAGIC = "LEVERFRAME\0";
// Behind the magic: the format, and the checksum of the content.
const CONTENT_AT = MAGIC.length + 1 + 32;
// No backup is larger.
const MOST_BYTES = 4 << 20;

/** @typedef {{ isSealed: boolean, paths: string[] }} Secrets */

// Null where the file is no backup: the controller says then what is wrong with it.
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

export class FileSecrets {
  #context;
  #passphrase;
  /** @type {Secrets | null} */
  #secrets = null;
  #isReading = false;
  #doesWithout = false;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#passphrase = new Passphrase(context, "restore-passphrase", { hint: "passphrase_needed" });
  }

  // Whether the file can be sent: nothing is sealed in it, or it is clear what becomes of that.
  get isDecided() {
    if (this.#isReading) return false;
    return !this.#secrets?.isSealed || this.#doesWithout || this.#passphrase.typed !== "";
  }

  // What opens the file; empty where it is restored without its secrets.
  get passphrase() {
    return this.#secrets?.isSealed && !this.#doesWithout ? this.#passphrase.typed : "";
  }

  /** @param {File | null} file */
  async read(file) {
    this.#secrets = null;
    this.#doesWithout = false;
    this.#passphrase.typed = "";
    this.#isReading = file !== null;
    this.#context.redraw();
    if (!file) return;
    const found = await secretsIn(file);
    const known = (found?.paths ?? []).filter((path) => this.#isKnown(path));
    await settingWords(known);
    this.#secrets = found && { ...found, paths: known };
    this.#isReading = false;
    this.#context.redraw();
  }

  // A file may name anything; only what is a setting has words.
  /** @param {string} path */
  #isKnown(path) {
    return Object.hasOwn(this.#context.settings, path.split(".")[0]);
  }

  view() {
    if (!this.#secrets) return nothing;
    const { isSealed, paths } = this.#secrets;
    const list = paths.map((path) => settingName(this.#context, path)).join(", ");
    if (!isSealed) {
      return list ? html`<p class="note">${t("restore_unsealed", { list })}</p>` : nothing;
    }
    return html`<p class="note">
        ${list ? t("restore_sealed", { list }) : t("restore_sealed_all")}
      </p>
      ${this.#doesWithout ? nothing : this.#passphrase.view()} ${this.#choice()}`;
  }

  #choice() {
    return html`<div class="field">
      <label class="toggle">
        <input
          type="checkbox"
          role="switch"
          .checked=${this.#doesWithout}
          @change=${(event) => {
            this.#doesWithout = event.target.checked;
            this.#context.redraw();
          }}
        />
        <span>${t("restore_without")}</span>
      </label>
    </div>`;
  }
}
