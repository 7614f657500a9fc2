// The list of reading codes: choosing one puts it where a text was last edited.
//
//   const codes = new ReadingCodes(context, { marker: "%", note: "codes_note" });
//   await codes.open();
//   { command: "em8", label: "text", draw: codes.draw }     a field that codes can be put into
//
// `marker` may be a function that gives it. `hasWidth`: on the display a code has one digit more,
// the least width.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { t, text } from "../format/words.js";
import * as api from "../live/api.js";
import { readingName } from "../things/things.js";
import { chooser } from "./controls.js";
import { line } from "./fields.js";

/** @typedef {{ form?: Form, field: DrawnField, input: HTMLInputElement }} Touched */

const MAX_DECIMALS = 3;
const MAX_WIDTH = 9;

/** @param {number} most @returns {[string, number][]} */
const digits = (most) => Array.from({ length: most + 1 }, (_, number) => [String(number), number]);

export class ReadingCodes {
  #context;
  #marker;
  #hasWidth;
  #note;
  // Label by number, as this version writes numbers.
  /** @type {Signal<LabelsByCode>} */
  #labels = signal({});
  #number = signal("");
  #decimals = signal("1");
  #width = signal("0");
  // The text that was touched last: { form, field, input }.
  /** @type {Signal<Touched | null>} */
  #line = signal(null);

  /**
   * @param {AdminContext} context
   * @param {{ marker: string | (() => string), note: Named, hasWidth?: boolean }} one
   */
  constructor(context, { marker, note, hasWidth = false }) {
    this.#context = context;
    this.#marker = marker;
    this.#hasWidth = hasWidth;
    this.#note = note;
  }

  async open() {
    this.#labels.value = await api.readingCodes();
    this.#number.value = Object.keys(this.#labels.value).sort()[0];
  }

  /** @param {DrawnField} field @param {Drawn} drawn */
  draw = (field, drawn) =>
    html`<span
      @focusin=${({ target }) => (this.#line.value = { form: drawn.form, field, input: target })}
      >${line(field, drawn)}</span
    >`;

  get code() {
    const marker = typeof this.#marker === "function" ? this.#marker() : this.#marker;
    const width = this.#hasWidth ? this.#width.value : "";
    return `${marker}${this.#number.value}${this.#decimals.value}${width}`;
  }

  view() {
    return html`<section class="card">
      <h2>${t("code_title")}</h2>
      <p class="note">${text(this.#note)}</p>
      <div class="fields">${this.#choices()}</div>
      <footer>
        <output class="code">${this.code}</output>
        <button type="button" ?disabled=${!this.#line.value} @click=${() => this.#insert()}>
          ${t("code_insert")}
        </button>
        <small>${this.#place()}</small>
      </footer>
    </section>`;
  }

  #place() {
    if (this.#line.value === null) return t("code_insert_where");
    const { label, plainLabel } = this.#line.value.field.spec;
    return t("code_insert_into", { line: plainLabel ?? (label ? text(label) : "") });
  }

  #choices() {
    return html`${this.#choice("label", t("code_stands_for"), this.#listOffers(), this.#number)}
    ${this.#choice("decimals", t("code_decimals"), digits(MAX_DECIMALS), this.#decimals)}
    ${this.#hasWidth
      ? this.#choice("width", t("code_width"), digits(MAX_WIDTH), this.#width)
      : nothing}`;
  }

  /**
   * @param {string} name
   * @param {string} label
   * @param {[string, string | number][]} offered
   * @param {Signal<string>} chosen
   */
  #choice(name, label, offered, chosen) {
    return chooser(`code-${name}`, label, offered, chosen.value, (one) => (chosen.value = one));
  }

  // In the order of their numbers, which is that of the inputs, outputs and sensors.
  /** @returns {[string, string][]} */
  #listOffers() {
    return Object.keys(this.#labels.value)
      .sort()
      .map((number) => {
        return [number, readingName(this.#context, this.#labels.value[number])];
      });
  }

  // Typing continues after it.
  #insert() {
    if (this.#line.value === null) return;
    const { form, field, input } = this.#line.value;
    const at = input.selectionStart ?? 0;
    const { code } = this;
    const typed = input.value.slice(0, at) + code + input.value.slice(input.selectionEnd ?? at);
    form?.type(/** @type {BoundField} */ (field), typed);
    requestAnimationFrame(() => {
      input.focus();
      input.setSelectionRange(at + code.length, at + code.length);
    });
  }
}
