// The list of reading codes: choosing one puts it where a text was last edited.
//
//   const codes = new ReadingCodes(context, { marker: "%", note: "codes_note" });
//   await codes.read();
//   { command: "em8", label: "text", draw: codes.draw }     a field that codes can be put into
//
// `marker` may be a function that gives it. `hasWidth`: on the display a code has one digit more,
// the least width.

import { html, nothing } from "../vendor/lit-html.js";
import * as api from "./api.js";
import { chooser } from "./chooser.js";
import { line } from "./fields.js";
import { nameOf } from "./names.js";
import { t, text } from "./words.js";

const MOST_DECIMALS = 3;
const MOST_WIDTH = 9;

export class ReadingCodes {
  #context;
  #marker;
  #hasWidth;
  #note;
  // Label by number, as this version writes numbers.
  #labels = {};
  #number = "";
  #decimals = 1;
  #width = 0;
  // The text that was touched last: { form, field, input }.
  #line = null;

  constructor(context, { marker, note, hasWidth = false }) {
    this.#context = context;
    this.#marker = marker;
    this.#hasWidth = hasWidth;
    this.#note = note;
  }

  async read() {
    this.#labels = await api.readingCodes();
    this.#number = Object.keys(this.#labels).sort()[0];
    this.#context.redraw();
  }

  draw = (field, drawn) =>
    html`<span @focusin=${({ target }) => this.#touched({ form: drawn.form, field, input: target })}
      >${line(field, drawn)}</span
    >`;

  #touched(touched) {
    this.#line = touched;
    this.#context.redraw();
  }

  get code() {
    const marker = typeof this.#marker === "function" ? this.#marker() : this.#marker;
    return `${marker}${this.#number}${this.#decimals}${this.#hasWidth ? this.#width : ""}`;
  }

  view() {
    return html`<section class="card">
      <h2>${t("code_title")}</h2>
      <p class="note">${text(this.#note)}</p>
      <div class="fields">
        ${this.#label()} ${this.#decimalDigit()} ${this.#hasWidth ? this.#widthDigit() : nothing}
      </div>
      <footer>
        <output class="code">${this.code}</output>
        <button type="button" ?disabled=${!this.#line} @click=${() => this.#insert()}>
          ${t("code_insert")}
        </button>
        <small>${this.#place()}</small>
      </footer>
    </section>`;
  }

  #place() {
    if (this.#line === null) return t("code_insert_where");
    const { label, plainLabel } = this.#line.field.spec;
    return t("code_insert_into", { line: plainLabel ?? text(label) });
  }

  #label() {
    const title = t("code_stands_for");
    return this.#chooser("code-label", title, this.#offered(), this.#number, (one) => {
      this.#number = one;
    });
  }

  #decimalDigit() {
    const title = t("code_decimals");
    return this.#digit("code-decimals", title, MOST_DECIMALS, this.#decimals, (one) => {
      this.#decimals = one;
    });
  }

  #widthDigit() {
    return this.#digit("code-width", t("code_width"), MOST_WIDTH, this.#width, (one) => {
      this.#width = one;
    });
  }

  // In the order of their numbers, which is that of the inputs, outputs and sensors.
  #offered() {
    return Object.keys(this.#labels)
      .sort()
      .map((number) => {
        const label = this.#labels[number];
        const name = nameOf(this.#context.settings, label);
        return [number, name ? `${label} · ${name}` : label];
      });
  }

  #digit(id, label, most, current, choose) {
    const offered = Array.from({ length: most + 1 }, (_, number) => [String(number), number]);
    return this.#chooser(id, label, offered, current, (chosen) => choose(Number(chosen)));
  }

  #chooser(id, label, offered, current, choose) {
    return chooser(id, label, offered, String(current), (chosen) => {
      choose(chosen);
      this.#context.redraw();
    });
  }

  // Behind it the text goes on being edited.
  #insert() {
    const { form, field, input } = this.#line;
    const at = input.selectionStart;
    const { code } = this;
    form.type(field, input.value.slice(0, at) + code + input.value.slice(input.selectionEnd));
    requestAnimationFrame(() => {
      input.focus();
      input.setSelectionRange(at + code.length, at + code.length);
    });
  }
}
