// The readings of a meter that is not known: each is described by its register, here or in a table
// of another program (CSV).

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { speaking, t } from "../../lib/format/words.js";
import { optionsOf } from "../../lib/forms/controls.js";
import { download } from "../../lib/forms/files.js";
import { choices, isChoice, range } from "../../lib/forms/schema.js";
import * as api from "../../lib/live/api.js";
import { ReadingsDraft, tableOf, take } from "./readings.js";

/** @import { Column } from "./readings.js" */

// Number of problems shown.
const MAX_PROBLEMS = 8;
const MAX_BYTES = 200_000;

export class Description {
  #context;
  #draft;
  #onEdit;
  // The readings that were begun here and are not described yet.
  /** @type {Signal<number[]>} */
  #begun = signal([]);
  // Of the last import.
  /** @type {Signal<{ problems: string[], file: string } | null>} */
  #import = signal(null);

  /** @param {AdminContext} context @param {number} device @param {() => void} onEdit */
  constructor(context, device, onEdit) {
    this.#context = context;
    this.#draft = new ReadingsDraft(context, device);
    this.#onEdit = onEdit;
  }

  get isChanged() {
    return this.#draft.isChanged;
  }

  get hasProblem() {
    return this.#draft.hasProblem;
  }

  // Null while something in it is wrong.
  get request() {
    return this.#draft.request();
  }

  restore() {
    this.#draft.restore();
    this.#begun.value = [];
    this.#import.value = null;
  }

  async send() {
    const { target, body } = /** @type {CommandRequest} */ (this.request);
    await api.send(target, body);
    await this.#context.readSettings();
    this.restore();
  }

  // What is described, as it is typed; a reading without a name is not read.
  get rows() {
    return this.#draft.numbers
      .map((number) => ({
        number,
        name: this.#text(number, "name"),
        unit: this.#text(number, "unit"),
        register: Number(this.#text(number, "register")),
      }))
      .filter(({ name }) => name !== "");
  }

  /** @param {number} number @param {string} name */
  #text(number, name) {
    const column = this.#draft.columns.find((one) => one.name === name);
    return column ? this.#draft.textOf(number, column) : "";
  }

  view() {
    const { numbers } = this.#draft;
    const shown = numbers.filter(
      (number) => !this.#draft.isFree(number) || this.#begun.value.includes(number),
    );
    const free = numbers.find((number) => !shown.includes(number));
    return html`<h3>${t("described")}</h3>
      <p class="note">${t("readings_note")}</p>
      <div class="described">${shown.map((number) => this.#reading(number))}</div>
      <div class="exchange">
        ${free === undefined
          ? nothing
          : html`<button
              type="button"
              @click=${() => (this.#begun.value = [...this.#begun.value, free])}
            >
              ${t("add_reading")}
            </button>`}
        ${this.#exchange()}
      </div>
      ${this.#importNote()}`;
  }

  /** @param {number} number */
  #reading(number) {
    const name = this.#text(number, "name");
    const isOpen = this.#begun.value.includes(number) || this.#isWrong(number);
    return html`<details class="advanced" ?open=${isOpen}>
      <summary>
        ${number} · ${name || t("unnamed_reading")}
        <small>${t("register", { register: this.#text(number, "register") })}</small>
      </summary>
      <div class="fields">
        ${this.#draft.columns.map((column) => this.#field(number, column))}
      </div>
    </details>`;
  }

  /** @param {number} number */
  #isWrong(number) {
    return this.#draft.columns.some(
      (column) =>
        this.#draft.isCellChanged(number, column) && this.#draft.problem(number, column) !== null,
    );
  }

  /** @param {number} number @param {Column} column */
  #field(number, column) {
    const draft = this.#draft;
    const id = `described-${draft.device}-${number}-${column.name}`;
    const isChanged = draft.isCellChanged(number, column);
    const problem = isChanged ? draft.problem(number, column) : null;
    /** @param {string} typed */
    const change = (typed) => {
      draft.type(number, column, typed);
      this.#onEdit();
    };
    const typed = draft.textOf(number, column);
    const isNumber = column.schema.type === "integer";
    return html`<div class="field" ?data-changed=${isChanged} ?data-wrong=${problem}>
      <label for=${id}>${t(`column_${column.name}`)}</label>
      ${isChosen(column)
        ? html`<select id=${id} @change=${(event) => change(event.target.value)}>
            ${optionsOf(choicesOf(column), typed)}
          </select>`
        : html`<input
            id=${id}
            class=${isNumber ? "number" : ""}
            inputmode=${isNumber ? "numeric" : "text"}
            autocomplete="off"
            aria-invalid=${problem ? "true" : "false"}
            aria-describedby="${id}-wrong"
            .value=${typed}
            @input=${(event) => change(event.target.value)}
          />`}
      <p class="wrong" id="${id}-wrong" role="alert" ?hidden=${!problem}>${problem}</p>
    </div>`;
  }

  #exchange() {
    const { device } = this.#draft;
    return html`<label class="chooser">
        ${t("import")}
        <input
          id="import-${device}"
          class="unseen"
          type="file"
          accept=".csv,text/csv"
          @change=${(event) => this.#onFileChosen(event.target)}
        />
      </label>
      <button type="button" @click=${() => this.#export()}>${t("export")}</button>`;
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
    const text = file.size > MAX_BYTES ? null : await file.text();
    // Outside of a drawing, the words are those of the page below the drawer.
    const problems = speaking("modbus", () =>
      text === null
        ? [t("csv_too_big", { max: MAX_BYTES / 1000 })]
        : take(this.#draft, text),
    );
    // The same file may be chosen again once it is corrected.
    chooser.value = "";
    this.#onEdit();
    this.#import.value = { problems, file: file.name };
  }

  #export() {
    const name = `modbus-device-${this.#draft.device + 1}.csv`;
    download(name, tableOf(this.#draft), "text/csv;charset=utf-8");
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
