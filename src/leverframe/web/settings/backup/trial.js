// What a restore would change, shown before it is done: by the thing that each setting belongs to.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import {
  pageOfSetting,
  settingName,
  settingWords,
  thingOfSetting,
  valueText,
} from "../../lib/format/setting_words.js";
import { serverText, t } from "../../lib/format/words.js";
import { Task } from "../../lib/forms/task.js";
import * as api from "../../lib/live/api.js";
import { thingName } from "../../lib/things/things.js";

/** @typedef {RestoreTrial["changes"][number]} Change */
/** @typedef {{ owner: string, changes: Change[] }} Group */
/** @typedef {{ file: File, passphrase: string, found: RestoreTrial }} Read */

export class Trial {
  #context;
  #task = new Task();
  /** @type {Signal<Read | null>} */
  #read = signal(null);

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
  }

  get isBusy() {
    return this.#task.isBusy;
  }

  get isRefused() {
    return this.#task.refusal() !== null;
  }

  // Whether what is shown is of this file, opened with this passphrase.
  /** @param {File | null} file @param {string} passphrase */
  isOf(file, passphrase) {
    const read = this.#read.value;
    return read !== null && read.file === file && read.passphrase === passphrase;
  }

  /** @param {File} file @param {string} passphrase */
  async read(file, passphrase) {
    this.#read.value = null;
    await this.#task.run(async () => {
      const found = await api.tryRestore(file, passphrase);
      const all = [...found.changes, ...found.not_carried_over];
      await settingWords(all.map(({ path }) => path));
      this.#read.value = { file, passphrase, found };
    });
  }

  forget() {
    this.#read.value = null;
    this.#task.forget();
  }

  view() {
    if (this.#read.value === null) return this.#task.view();
    const { changes, not_carried_over: lost } = this.#read.value.found;
    const groups = groupChanges(changes);
    return html`<div class="trial" role="region" aria-label=${t("trial_show")}>
      <p role="status">
        ${changes.length === 0 ? t("trial_none") : t("trial_count", { count: changes.length })}
      </p>
      ${groups.map((group) => this.#group(group))}
      ${lost.length === 0 ? nothing : this.#lost(lost)}
    </div>`;
  }

  /** @param {Group} group */
  #group({ owner, changes }) {
    return html`<details>
      <summary>
        <b>${this.#nameOf(owner, changes)}</b> <small>${fateText(owner, changes)}</small>
      </summary>
      <ul>
        ${changes.map((change) => html`<li>${this.#line(change)}</li>`)}
      </ul>
    </details>`;
  }

  // A rule by the name that it has now, or by that of the backup.
  /** @param {string} owner @param {Change[]} changes */
  #nameOf(owner, changes) {
    const [, place] = /^rules\.(\d+)$/.exec(owner) ?? [];
    if (place) {
      const named = changes.find(({ path }) => path.endsWith(".name"));
      const stored = this.#context.settings?.rules[Number(place)]?.name;
      return stored || String(named?.new || "") || t("rule_number", { number: Number(place) + 1 });
    }
    if (thingOfSetting(changes[0].path) === owner) return thingName(this.#context, owner);
    return pageOfSetting(changes[0].path) === owner ? t(`page_${owner}`) : owner;
  }

  /** @param {Change} change */
  #line({ path, old, new: now }) {
    const name = settingName(this.#context, path).split(" · ").at(-1);
    const [was, is] = [old, now].map((value) => valueText(this.#context, path, value));
    return was === is ? html`${name}: ${is}` : html`${name}: ${was} → <b>${is}</b>`;
  }

  /** @param {RestoreTrial["not_carried_over"]} lost */
  #lost(lost) {
    return html`<details open>
      <summary><b>${t("report")}</b> <small>${lost.length}</small></summary>
      <ul>
        ${lost.map(
          ({ path, reason }) =>
            html`<li>
              ${path === "settings" ? t("all_settings") : settingName(this.#context, path)}:
              ${serverText(reason)}
            </li>`,
        )}
      </ul>
    </details>`;
  }
}

// Changes in a row by what they belong to: a thing, a rule, or a group of settings.
/** @param {Change[]} changes @returns {Group[]} */
export function groupChanges(changes) {
  const ownerOf = (/** @type {Change} */ { path }) =>
    thingOfSetting(path) || pageOfSetting(path) || path;
  return [...Map.groupBy(changes, ownerOf)].map(([owner, group]) => ({ owner, changes: group }));
}

/** @param {string} owner @param {Change[]} changes */
function fateText(owner, changes) {
  const isEntry = owner.startsWith("rules.");
  if (isEntry && changes.every(({ old }) => old === null)) return t("trial_added");
  if (isEntry && changes.every((change) => change.new === null)) return t("trial_removed");
  return t("trial_settings", { count: changes.length });
}
