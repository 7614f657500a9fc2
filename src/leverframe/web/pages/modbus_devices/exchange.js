// The readings of a device as a CSV table: made from a draft, checked before it is taken into one.

import { UnclosedQuote, parsed, written } from "../../lib/csv.js";
import { choices, isChoice, problemOf } from "../../lib/schema.js";
import { t } from "../../lib/words.js";

/** @import { ReadingsDraft } from "./draft.js" */

// The column that says which reading a line is about.
const NUMBER = "reading";
const HEADER_LINE = 1;

/** @param {ReadingsDraft} draft */
export function tableOf(draft) {
  const header = [NUMBER, ...draft.columns.map(({ name }) => name)];
  const rows = draft.numbers.map((number) => [
    String(number),
    ...draft.columns.map((column) => draft.typed(number, column)),
  ]);
  return written([header, ...rows]);
}

// Takes a table into the draft if all of it is right; else gives what is wrong, in sentences.
/** @param {ReadingsDraft} draft @param {string} text */
export function take(draft, text) {
  try {
    const [header, ...lines] = parsed(text);
    const table = new Table(draft, header?.cells ?? []);
    const problems = header ? table.problems(lines) : [t("csv_empty")];
    if (problems.length === 0) table.fill(lines);
    return problems;
  } catch (error) {
    if (!(error instanceof UnclosedQuote)) throw error;
    return [t("csv_quote", { line: error.line })];
  }
}

class Table {
  #draft;
  // As the file names them, in its order.
  #names;

  /** @param {ReadingsDraft} draft @param {string[]} header */
  constructor(draft, header) {
    this.#draft = draft;
    this.#names = header.map((name) => name.trim().toLowerCase());
  }

  get #known() {
    return [NUMBER, ...this.#draft.columns.map(({ name }) => name)];
  }

  /** @param {{ line: number, cells: string[] }[]} lines */
  problems(lines) {
    const ofHeader = this.#headerProblems();
    if (ofHeader.length) return ofHeader;
    if (lines.length === 0) return [t("csv_empty")];
    return [...lines.flatMap((line) => this.#lineProblems(line)), ...this.#repeated(lines)];
  }

  #headerProblems() {
    const names = this.#names;
    const [line, known] = [HEADER_LINE, this.#known.join(", ")];
    return [
      ...names
        .filter((name) => !this.#known.includes(name))
        .map((column) => t("csv_unknown", { line, column, known })),
      ...names
        .filter((name, index) => names.indexOf(name) < index)
        .map((column) => t("csv_twice", { line, column })),
      ...this.#known
        .filter((name) => !names.includes(name))
        .map((column) => t("csv_missing", { line, column })),
    ];
  }

  /** @param {{ line: number, cells: string[] }} one */
  #lineProblems({ line, cells }) {
    const wanted = this.#names.length;
    if (cells.length !== wanted) return [t("csv_cells", { line, count: cells.length, wanted })];
    const number = this.#numberOf(cells);
    const max = this.#draft.numbers.length - 1;
    const ofNumber = this.#draft.numbers.includes(number)
      ? []
      : [this.#cellProblem(line, NUMBER, this.#cell(cells, NUMBER), t("csv_number", { max }))];
    const ofCells = this.#draft.columns.flatMap(({ name, schema }) => {
      const value = this.#cell(cells, name);
      const problem = problemIn(schema, value);
      return problem ? [this.#cellProblem(line, name, value, problem)] : [];
    });
    return [...ofNumber, ...ofCells];
  }

  /** @param {number} line @param {string} column @param {string} value @param {string} problem */
  #cellProblem(line, column, value, problem) {
    return t("csv_cell", { line, column, value, problem });
  }

  /** @param {{ line: number, cells: string[] }[]} lines */
  #repeated(lines) {
    const seen = new Map();
    return lines.flatMap(({ line, cells }) => {
      const number = this.#numberOf(cells);
      const first = seen.get(number);
      if (first === undefined) seen.set(number, line);
      return first !== undefined && this.#draft.numbers.includes(number)
        ? [t("csv_repeated", { line, column: NUMBER, number, first })]
        : [];
    });
  }

  /** @param {string[]} cells @param {string} name */
  #cell(cells, name) {
    return (cells[this.#names.indexOf(name)] ?? "").trim();
  }

  // NaN where it is no whole number.
  /** @param {string[]} cells */
  #numberOf(cells) {
    const cell = this.#cell(cells, NUMBER);
    return /^\d+$/.test(cell) ? Number(cell) : NaN;
  }

  /** @param {{ line: number, cells: string[] }[]} lines */
  fill(lines) {
    for (const { cells } of lines) {
      for (const column of this.#draft.columns) {
        this.#draft.type(this.#numberOf(cells), column, this.#cell(cells, column.name));
      }
    }
  }
}

// Files hold the words of the settings, whatever language the page speaks.
/** @param {Schema} schema @param {string} value */
function problemIn(schema, value) {
  // No field of a page lets a line break or a tab in, but a file may have them.
  if (/\p{Cc}/u.test(value)) return t("csv_control");
  const problem = problemOf(schema, value);
  if (problem === null || !isChoice(schema)) return problem;
  return t("csv_one_of", { words: choices(schema).map(([word]) => word).join(", ") });
}
