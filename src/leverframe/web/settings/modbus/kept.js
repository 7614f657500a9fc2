// The readings of a meter that are kept: each ticked one is one of m1-m30, under a name of its own.
//
// Which of m1-m30 it is, is nothing to choose: the first free one. What another page changes at
// others at the same time stays.

import { html, nothing } from "../../vendor/lit-html.js";
import { formatValue } from "../../lib/format/numbers.js";
import { readingWord, serverText, t } from "../../lib/format/words.js";
import { readingsOfModule } from "../../lib/things/buses.js";

/** @import { Description } from "./description.js" */
/** @typedef {{ number: number, name: string, unit: string, register?: number, function?: number,
 *    value?: number | null, problem?: string | null }} Row */

const FREE = "00";

export class KeptReadings {
  #form;
  #slot;
  #mapping;
  #names;

  /** @param {AdminContext} context @returns {FieldSpec[]} */
  static fields({ settings }) {
    const places = settings.modbus_names.map((_, index) => index);
    return [
      ...places.map((index) => ({
        command: "modbusmapping",
        part: index,
        hidden: true,
        read: mappedTexts,
      })),
      ...places.map((index) => ({ command: "mname", at: { A: index }, hidden: true })),
    ];
  }

  /** @param {Form} form @param {number} slot */
  constructor(form, slot) {
    this.#form = form;
    this.#slot = slot;
    this.#mapping = form.fields.filter(({ spec }) => spec.command === "modbusmapping");
    this.#names = form.fields.filter(({ spec }) => spec.command === "mname");
  }

  // Whether this version lets a reading be chosen; others show them all.
  get #isChosen() {
    return this.#mapping.length > 0;
  }

  /** @param {number} number */
  #text(number) {
    return `${this.#slot}${number}`;
  }

  // The place among m1-m30 that shows a reading, from 0; -1 where none does.
  /** @param {number} number */
  placeOf(number) {
    if (!this.#isChosen) return number;
    return this.#mapping.findIndex(({ typed }) => typed === this.#text(number));
  }

  // The place where it is saved already, else the first that is free.
  /** @param {number} number */
  #freePlace(number) {
    const saved = this.#mapping.findIndex((field) => field.saved === this.#text(number));
    const isFree = (/** @type {BoundField} */ { typed }) => String(typed).startsWith("0");
    return saved >= 0 && isFree(this.#mapping[saved])
      ? saved
      : this.#mapping.findIndex(isFree);
  }

  get isFull() {
    return this.#isChosen && this.#freePlace(-1) < 0;
  }

  /** @param {number} number @param {boolean} isKept */
  keep(number, isKept) {
    const place = isKept ? this.#freePlace(number) : this.placeOf(number);
    if (place < 0) return;
    this.#form.type(this.#mapping[place], isKept ? this.#text(number) : FREE);
    // A name belongs to its reading.
    const name = this.#names[place];
    const isSaved = this.#mapping[place].saved === this.#text(number);
    if (isKept && isSaved) name.restore();
    else if (name.typed !== "") this.#form.type(name, "");
  }

  // Another meter has other readings.
  clear() {
    for (const [place, field] of this.#mapping.entries()) {
      if (String(field.saved).startsWith(String(this.#slot)) && !this.#isModuleSaved) {
        field.type(FREE);
        this.#names[place].type("");
      } else if (field.isChanged) {
        field.restore();
        this.#names[place].restore();
      }
    }
  }

  get #isModuleSaved() {
    return !this.#form.fields[0].isChanged;
  }

  // A place that was given away elsewhere since it was ticked here is left, with its name.
  avoidForeign() {
    for (const [place, field] of this.#mapping.entries()) {
      const number = Number(String(field.typed).slice(1));
      if (!field.foreign || field.typed !== this.#text(number)) continue;
      const name = String(this.#names[place].typed);
      field.restore();
      this.#names[place].restore();
      const other = this.#freePlace(number);
      if (other < 0) continue;
      this.#form.type(this.#mapping[other], this.#text(number));
      this.#form.type(this.#names[other], name);
    }
  }

  // --- what is drawn ----------------------------------------------------------------------------

  /**
   * @param {string} module
   * @param {Api.ModuleTrial | null} trial
   * @param {Description | null} own
   */
  view(module, trial, own) {
    const rows = this.#rows(module, trial, own);
    if (rows.length === 0) return html`<p class="empty">${t("no_readings")}</p>`;
    return html`<p class="note">${t(this.#isChosen ? "kept_note" : "all_kept_note")}</p>
      <ul class="kept" role="list">
        ${rows.map((row) => this.#row(row, own !== null))}
      </ul>
      ${this.isFull ? html`<p class="attention">${t("all_used")}</p>` : nothing}`;
  }

  /**
   * @param {string} module
   * @param {Api.ModuleTrial | null} trial
   * @param {Description | null} own
   */
  #rows(module, trial, own) {
    /** @type {Row[]} */
    const listed = own?.rows ?? readingsOfModule(module).map((one, number) => ({ number, ...one }));
    const tried = new Map((trial?.readings ?? []).map((one) => [one.number, one]));
    return listed.map((row) => ({ ...row, ...tried.get(row.number) }));
  }

  /** @param {Row} row @param {boolean} isOwn */
  #row({ number, name, unit, register, value, problem }, isOwn) {
    const id = `reading-${this.#slot}-${number}`;
    const place = this.placeOf(number);
    const title = isOwn ? name : capital(readingWord(name));
    const shown = value === null || value === undefined ? "—" : formatValue("m1", value).text;
    return html`<li ?data-kept=${place >= 0}>
      <label class="check">
        ${this.#isChosen
          ? html`<input
              type="checkbox"
              id=${id}
              .checked=${place >= 0}
              ?disabled=${place < 0 && this.isFull}
              @change=${(event) => this.keep(number, event.target.checked)}
            />`
          : nothing}
        <span>${title || t("reading", { number })}</span>
      </label>
      <small class="register">${register === undefined ? "" : t("register", { register })}</small>
      <span class="value">${shown} <small>${shown === "—" ? "" : unit}</small></span>
      ${place >= 0 && !isOwn ? this.#nameView(place, title) : nothing}
      ${problem ? html`<p class="attention">${serverText(problem)}</p>` : nothing}
    </li>`;
  }

  /** @param {number} place @param {string} title */
  #nameView(place, title) {
    const field = this.#names[place];
    const problem = field.refusal ?? field.problem({}, true);
    return html`<div class="field" ?data-changed=${field.isChanged} ?data-wrong=${problem !== null}>
      <input
        id=${field.id}
        aria-label=${t("name_of_reading", { reading: title })}
        aria-invalid=${problem ? "true" : "false"}
        aria-describedby="${field.id}-wrong"
        autocomplete="off"
        placeholder=${title}
        .value=${String(field.typed)}
        @input=${(event) => this.#form.type(field, event.target.value)}
      />
      <p class="wrong" id="${field.id}-wrong" role="alert" ?hidden=${!problem}>${problem}</p>
      ${field.foreign
        ? html`<p class="foreign" role="status">
            ${t("field_changed_elsewhere", field.foreign)}
          </p>`
        : nothing}
    </div>`;
  }
}

/** @param {Settings} settings */
const mappedTexts = ({ modbus_mapping: mapping }) =>
  mapping.map(({ slot, reading }) => `${slot}${reading}`);

/** @param {string} text */
const capital = (text) => text.charAt(0).toLocaleUpperCase() + text.slice(1);
