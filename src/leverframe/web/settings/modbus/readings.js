// The readings of a described Modbus device while they are edited.

import { t } from "../../lib/format/words.js";
import { parseCsv, UnclosedQuote, writeCsv } from "../../lib/forms/files.js";
import { choices, isChoice, problemOf, toTyped, valueFrom } from "../../lib/forms/schema.js";
import { ShownMap } from "../../lib/live/drawing.js";
import { isSame } from "../../lib/live/tree.js";

/** @typedef {keyof Api.ModbusReading} Name */
/** @typedef {{ letter: string, name: Name, schema: Schema }} Column */

// Columns in the order in which they are shown: letter of the command, name of the setting.
/** @type {[string, Name][]} */
const COLUMNS = [
  ["C", "name"],
  ["D", "unit"],
  ["G", "function"],
  ["F", "register"],
  ["H", "type"],
  ["I", "endian"],
  ["E", "divisor"],
];

export class ReadingsDraft {
  isNew = false;
  /** @type {Column[]} */
  columns;
  device;
  #context;
  #command;
  // What was typed and not saved, by number of the reading: { register: "12" }.
  /** @type {ShownMap<number, Record<string, string>>} */
  #typed = new ShownMap();

  /** @param {AdminContext} context @param {number} device */
  constructor(context, device) {
    this.#context = context;
    this.#command = context.commands.get("modbus_readings_save");
    this.device = device;
    this.columns = COLUMNS.filter(([letter]) => this.#command.has(letter)).map(
      ([letter, name]) => ({ letter, name, schema: this.#command.schema(letter) }),
    );
  }

  get #saved() {
    return this.#context.settings.modbus_devices[this.device].readings;
  }

  get numbers() {
    return this.#saved.map((_, number) => number);
  }

  /** @param {number} number @param {Column} column */
  #savedText(number, { name, schema }) {
    return String(toTyped(schema, this.#saved[number][name]));
  }

  /** @param {number} number @param {Column} column */
  textOf(number, column) {
    return this.#typed.get(number)?.[column.name] ?? this.#savedText(number, column);
  }

  /** @param {number} number @param {Column} column @param {string} typed */
  type(number, column, typed) {
    this.#typed.set(number, { ...this.#typed.get(number), [column.name]: typed });
  }

  restore() {
    this.#typed.clear();
  }

  /** @param {number} number @param {Column} column */
  problem(number, column) {
    return problemOf(column.schema, this.textOf(number, column));
  }

  /** @param {number} number @param {Column} column */
  isCellChanged(number, column) {
    return !isSame(this.textOf(number, column), this.#savedText(number, column));
  }

  // Nothing is known of it, and nothing is typed.
  /** @param {number} number */
  isFree(number) {
    const { name, unit, register } = this.#saved[number];
    return name === "" && unit === "" && register === 0 && !this.#isRowChanged(number);
  }

  /** @param {number} number */
  #isRowChanged(number) {
    return this.columns.some((column) => this.isCellChanged(number, column));
  }

  get #changed() {
    return [...this.#typed.keys()].filter((number) => this.#isRowChanged(number));
  }

  get isChanged() {
    return this.#changed.length > 0;
  }

  get hasProblem() {
    return this.#changed.some((number) =>
      this.columns.some((column) => this.problem(number, column) !== null),
    );
  }

  // What saving sends: the readings that changed, the others stay.
  request() {
    if (this.hasProblem) return null;
    const numbers = this.isChanged ? this.#changed : this.numbers;
    return this.#command.listRequest(numbers.map((number) => this.#values(number)));
  }

  /** @param {number} number */
  #values(number) {
    const own = this.columns.map((column) => [
      column.letter,
      valueFrom(column.schema, this.textOf(number, column)),
    ]);
    return { A: this.device, B: number, ...Object.fromEntries(own) };
  }
}

// The readings of a device as a CSV table: made from a draft, checked before it is taken into one.

// The column that says which reading a line is about.
const NUMBER = "reading";
const HEADER_LINE = 1;

/** @param {ReadingsDraft} draft */
export function tableOf(draft) {
  const header = [NUMBER, ...draft.columns.map(({ name }) => name)];
  const rows = draft.numbers.map((number) => [
    String(number),
    ...draft.columns.map((column) => draft.textOf(number, column)),
  ]);
  return writeCsv([header, ...rows]);
}

// Takes a table into the draft if all of it is right; else gives what is wrong, in sentences.
/** @param {ReadingsDraft} draft @param {string} text */
export function take(draft, text) {
  try {
    const [header, ...lines] = parseCsv(text);
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
    return [...lines.flatMap((line) => this.#lineProblems(line)), ...this.#findRepeated(lines)];
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
  #findRepeated(lines) {
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
  return t("csv_one_of", {
    words: choices(schema)
      .map(([word]) => word)
      .join(", "),
  });
}
