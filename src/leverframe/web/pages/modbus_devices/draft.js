// The readings of one device of one's own while they are edited.

import { isSame } from "../../lib/tree.js";
import { problemOf, typedFrom, valueFrom } from "../../lib/schema.js";

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
  /** @type {Map<number, Record<string, string>>} */
  #typed = new Map();

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
  #unchanged(number, { name, schema }) {
    return String(typedFrom(schema, this.#saved[number][name]));
  }

  /** @param {number} number @param {Column} column */
  typed(number, column) {
    return this.#typed.get(number)?.[column.name] ?? this.#unchanged(number, column);
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
    return problemOf(column.schema, this.typed(number, column));
  }

  /** @param {number} number @param {Column} column */
  isCellChanged(number, column) {
    return !isSame(this.typed(number, column), this.#unchanged(number, column));
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
      valueFrom(column.schema, this.typed(number, column)),
    ]);
    return { A: this.device, B: number, ...Object.fromEntries(own) };
  }
}
