// Files: to choose one, to keep one, and tables in them.

import { html } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { text as textOf } from "../format/words.js";

// A field for a file, which an action beside it then sends.

export class FileChoice {
  #spec;
  /** @type {HTMLInputElement | null} */
  #input = null;
  /** @type {Signal<File | null>} */
  #file = signal(null);

  // `spec`: { id, label: "key", accept, onChange(file) }
  /** @param {FileChoiceSpec} spec */
  constructor(spec) {
    this.#spec = spec;
  }

  get file() {
    return this.#file.value;
  }

  // After it was sent: the same file may have to be chosen again.
  empty() {
    if (this.#input) this.#input.value = "";
    this.#onChange();
  }

  #onChange() {
    this.#file.value = this.#input?.files?.[0] ?? null;
    this.#spec.onChange?.(this.file);
  }

  view() {
    const { id, label, accept = "" } = this.#spec;
    return html`<div class="field">
      <label for=${id}>${textOf(label)}</label>
      <input
        id=${id}
        type="file"
        accept=${accept}
        @change=${(event) => {
          this.#input = event.target;
          this.#onChange();
        }}
      />
    </div>`;
  }
}

// What the page made or fetched itself, to be kept as a file.

/** @param {string} name @param {BlobPart} content @param {string} type */
export function download(name, content, type) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

// Tables as text: cells separated by comma, semicolon or tab, in double quotes where needed.
//
// A spreadsheet would run a text that begins like a formula, such as a name. Such
// a text is written with an apostrophe in front, which spreadsheets take for the sign of a text,
// and read without it.

const SEPARATORS = [",", ";", "\t"];
// Spreadsheets take a file for UTF-8 only if it begins with this.
const MARK = "\uFEFF";
const LIKE_A_FORMULA = /^['=+\-@\t\r\n]/;
const NUMBER = /^[+-]?\d+([.,]\d+)?$/;
const MADE_HARMLESS = /^'(?=['=+\-@\t\r\n])/;

export class UnclosedQuote extends Error {
  /** @param {number} line */
  constructor(line) {
    super(`The quotation mark in line ${line} is not closed.`);
    this.line = line;
  }
}

// [{ line, cells }] of all rows that are not empty; lines are counted from 1 as editors do.
/** @param {string} text */
export function parseCsv(text) {
  const plain = text.startsWith(MARK) ? text.slice(1) : text;
  const reader = new Reader(plain.replace(/\r\n?/g, "\n"), separatorOf(plain));
  return reader
    .rows()
    .filter(({ cells }) => cells.some((cell) => cell.trim() !== ""))
    .map(({ line, cells }) => ({ line, cells: cells.map(asItWas) }));
}

/** @param {string[][]} rows */
export function writeCsv(rows) {
  const lines = rows.map((cells) => cells.map((cell) => quote(harmless(cell))).join(","));
  return MARK + lines.map((line) => `${line}\r\n`).join("");
}

/** @param {string} cell */
const harmless = (cell) => (LIKE_A_FORMULA.test(cell) && !NUMBER.test(cell) ? `'${cell}` : cell);

/** @param {string} cell */
const asItWas = (cell) => cell.replace(MADE_HARMLESS, "");

/** @param {string} cell */
const quote = (cell) => (/[",;\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

// The one that the first line has most of.
/** @param {string} text */
function separatorOf(text) {
  const [first] = text.split(/[\r\n]/, 1);
  /** @param {string} separator */
  const count = (separator) => first.split(separator).length;
  return SEPARATORS.reduce((best, one) => (count(one) > count(best) ? one : best));
}

class Reader {
  #text;
  #separator;
  #at = 0;
  #line = 1;

  /** @param {string} text @param {string} separator */
  constructor(text, separator) {
    this.#text = text;
    this.#separator = separator;
  }

  rows() {
    const rows = [];
    while (this.#at < this.#text.length) rows.push(this.#row());
    return rows;
  }

  #row() {
    const line = this.#line;
    const cells = [this.#cell()];
    while (this.#text[this.#at] === this.#separator) {
      this.#at++;
      cells.push(this.#cell());
    }
    this.#at++;
    this.#line++;
    return { line, cells };
  }

  #cell() {
    const quoted = this.#text[this.#at] === '"' ? this.#readQuotedPart() : "";
    const start = this.#at;
    while (this.#at < this.#text.length && !this.#isEnd()) this.#at++;
    return quoted + this.#text.slice(start, this.#at);
  }

  #isEnd() {
    return [this.#separator, "\n"].includes(this.#text[this.#at]);
  }

  #readQuotedPart() {
    const whole = /"(?:[^"]|"")*"/y;
    whole.lastIndex = this.#at;
    const [found] = whole.exec(this.#text) ?? [];
    if (found === undefined) throw new UnclosedQuote(this.#line);
    this.#at += found.length;
    this.#line += found.split("\n").length - 1;
    return found.slice(1, -1).replaceAll('""', '"');
  }
}
