// The table of a device's thirty readings: edited in place, read from and written to CSV.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { formatValue } from "../../lib/format/numbers.js";
import { t } from "../../lib/format/words.js";
import { optionsOf } from "../../lib/forms/controls.js";
import { DraftForm } from "../../lib/forms/draft_form.js";
import { download } from "../../lib/forms/files.js";
import { limitsText, choices, isChoice, range } from "../../lib/forms/schema.js";
import * as api from "../../lib/live/api.js";
import { slotsOf, valueOf } from "../../lib/things/buses.js";
import { ReadingsDraft, tableOf, take } from "./draft.js";

/** @import { Column } from "./draft.js" */

/**
 * @typedef {object} Cell
 * @property {string} id
 * @property {string} typed
 * @property {string} named
 * @property {string | null} problem
 * @property {(typed: string) => void} change
 */

// Number of problems shown.
const MAX_PROBLEMS = 8;
const MAX_BYTES = 200_000;

/** @extends {DraftForm<ReadingsDraft>} */
export class ReadingsTable extends DraftForm {
  // A refusal names a reading by its place in the request, so it stands below the table.
  /** @type {string[]} */
  letters = [];
  #saved = signal(false);
  // Of the last import: { problems, file }.
  /** @type {Signal<{ problems: string[], file: string } | null>} */
  #import = signal(null);
  // Also those of which nothing is known: a phone has no room for them unasked.
  #hasAll = signal(false);

  /** @param {AdminContext} context @param {number} device */
  constructor(context, device) {
    // It stays open when it is saved.
    super(context, new ReadingsDraft(context, device), () => context.forms.add(this));
  }

  get hasProblem() {
    return this.draft.hasProblem;
  }

  async send() {
    const { target, body } = /** @type {CommandRequest} */ (this.draft.request());
    await api.send(target, body);
    await this.context.readSettings();
    this.draft.restore();
    this.#saved.value = true;
    this.#import.value = null;
  }

  // It stays, and says so itself.
  reportSaved() {}

  onEdit() {
    this.#saved.value = false;
    super.onEdit();
  }

  view() {
    const { draft } = this;
    return html`<form
      class="card readings"
      novalidate
      ?data-changed=${this.isChanged}
      ?data-all=${this.#hasAll.value}
      @submit=${(event) => this.onSubmit(event)}
      @keydown=${(event) => this.onKeydown(event)}
    >
      <h2>${t("readings")}</h2>
      <p class="note">${t("readings_note")}</p>
      ${this.#exchange()}
      <div class="scrolling" tabindex="0" role="region" aria-label=${t("readings")}>
        <table>
          <thead>
            <tr>
              <th scope="col">${t("number")}</th>
              ${draft.columns.map(
                (column) =>
                  html`<th scope="col">
                    ${t(`column_${column.name}`)}
                    <small>${isChosen(column) ? "" : limitsText(column.schema)}</small>
                  </th>`,
              )}
              <th scope="col">${t("now")}</th>
            </tr>
          </thead>
          <tbody>
            ${draft.numbers.map((number) => this.#row(number))}
          </tbody>
        </table>
      </div>
      <button type="button" class="all" @click=${() => (this.#hasAll.value = true)}>
        ${t("all_readings", { count: draft.numbers.length })}
      </button>
      ${this.refusalView} ${this.#footer()}
    </form>`;
  }

  /** @param {number} number */
  #row(number) {
    return html`<tr ?data-free=${this.draft.isFree(number)}>
      <th scope="row">${number}</th>
      ${this.draft.columns.map(
        (column) => html`<td data-column=${column.name}>${this.#cell(number, column)}</td>`,
      )}
      <td class="number">${this.#value(number)}</td>
    </tr>`;
  }

  /** @param {number} number @param {Column} column */
  #cell(number, column) {
    const { draft } = this;
    const id = `reading-${draft.device}-${number}-${column.name}`;
    const problem = draft.isCellChanged(number, column) ? draft.problem(number, column) : null;
    /** @type {Cell} */
    const cell = {
      id,
      typed: draft.textOf(number, column),
      named: t("cell", { column: t(`column_${column.name}`), number }),
      problem,
      change: (typed) => {
        draft.type(number, column, typed);
        this.onEdit();
      },
    };
    return html`<div class="cell" ?data-changed=${draft.isCellChanged(number, column)}>
      ${isChosen(column) ? select(column, cell) : input(column, cell)}
      ${problem ? html`<p class="wrong" id="${id}-wrong" role="alert">${problem}</p>` : nothing}
    </div>`;
  }

  // In the first slot that the device is in.
  /** @param {number} number */
  #value(number) {
    const [slot] = slotsOf(this.context.settings, this.draft.device);
    const value = slot ? valueOf(this.context, slot, number) : undefined;
    const { unit } = this.context.settings.modbus_devices[this.draft.device].readings[number];
    const { text, absent } = formatValue("m1", value);
    return html`${text} <small>${absent ? "" : unit}</small>`;
  }

  #exchange() {
    const { device } = this.draft;
    return html`<div class="exchange">
        <label class="chooser">
          ${t("import")}
          <input
            id="import-${device}"
            class="unseen"
            type="file"
            accept=".csv,text/csv"
            @change=${(event) => this.#onFileChosen(event.target)}
          />
        </label>
        <button type="button" @click=${() => this.#export()}>${t("export")}</button>
      </div>
      ${this.#importNote()}`;
  }

  #importNote() {
    if (!this.#import.value) return nothing;
    const { problems, file } = this.#import.value;
    if (problems.length === 0) return html`<p role="status">${t("csv_taken", { file })}</p>`;
    const more = problems.length - MAX_PROBLEMS;
    return html`<div class="refusal" role="alert">
      <p>${t("csv_refused", { file })}</p>
      <ul>
        ${problems.slice(0, MAX_PROBLEMS).map((problem) => html`<li>${problem}</li>`)}
        ${more > 0 ? html`<li>${t("csv_more", { more })}</li>` : nothing}
      </ul>
    </div>`;
  }

  /** @param {HTMLInputElement} chooser */
  async #onFileChosen(chooser) {
    const [file] = chooser.files ?? [];
    if (!file) return;
    const problems =
      file.size > MAX_BYTES
        ? [t("csv_too_big", { max: MAX_BYTES / 1000 })]
        : take(this.draft, await file.text());
    // The same file may be chosen again once it is corrected.
    chooser.value = "";
    this.onEdit();
    this.#import.value = { problems, file: file.name };
  }

  #export() {
    const name = `modbus-device-${this.draft.device + 1}.csv`;
    download(name, tableOf(this.draft), "text/csv;charset=utf-8");
  }

  #footer() {
    const { isChanged } = this;
    return html`<footer>
      <button class="primary" ?disabled=${!isChanged || this.saving}>
        ${this.saving ? t("saving") : t("save")}
      </button>
      <button type="button" ?disabled=${!isChanged} @click=${() => this.restore()}>
        ${t("discard")}
      </button>
      <span class="saved" role="status">${this.#saved.value && !isChanged ? t("saved") : ""}</span>
      ${this.requestView(this.draft.request())}
    </footer>`;
  }
}

// The four functions that read are better known by their names.
/** @param {Column} column */
const isChosen = ({ name, schema }) => isChoice(schema) || name === "function";

/** @param {Column} column @returns {[string, string][]} */
function choicesOf({ name, schema }) {
  if (name !== "function") return choices(schema);
  const { min, max } = range(schema);
  return Array.from({ length: max - min + 1 }, (_, index) => {
    const number = String(min + index);
    return [number, t(`function_${number}`)];
  });
}

/** @param {Column} column @param {Cell} cell */
const select = (column, { id, typed, named, change }) =>
  html`<select id=${id} aria-label=${named} @change=${(event) => change(event.target.value)}>
    ${optionsOf(choicesOf(column), typed)}
  </select>`;

/** @param {Column} column @param {Cell} cell */
const input = ({ schema }, { id, typed, named, problem, change }) =>
  html`<input
    id=${id}
    class=${schema.type === "integer" ? "number" : ""}
    inputmode=${schema.type === "integer" ? "numeric" : "text"}
    autocomplete="off"
    aria-label=${named}
    aria-invalid=${problem ? "true" : "false"}
    aria-describedby=${problem ? `${id}-wrong` : nothing}
    .value=${typed}
    @input=${(event) => change(event.target.value)}
  />`;
