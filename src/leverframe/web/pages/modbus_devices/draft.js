// The readings of one device of one's own while they are edited.

import { isSame } from "../../lib/tree.js";
import { problemOf, typedFrom, valueFrom } from "../../lib/schema.js";

// Columns in the order in which they are shown: letter of the command, name of the setting.
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
  columns;
  device;
  #context;
  #command;
  // What was typed and not saved, by number of the reading: { register: "12" }.
  #typed = new Map();

  constructor(context, device) {
    this.#context = context;
    this.#command = context.commands.find("mod_custom_save");
    this.device = device;
    this.columns = COLUMNS.map(([letter, name]) => ({
      letter,
      name,
      schema: this.#command.schema(letter),
    })).filter(({ schema }) => schema !== null);
  }

  get #saved() {
    return this.#context.settings.modbus_devices[this.device].readings;
  }

  get numbers() {
    return this.#saved.map((_, number) => number);
  }

  #unchanged(number, { name, schema }) {
    return typedFrom(schema, this.#saved[number][name]);
  }

  typed(number, column) {
    return this.#typed.get(number)?.[column.name] ?? this.#unchanged(number, column);
  }

  type(number, column, typed) {
    this.#typed.set(number, { ...this.#typed.get(number), [column.name]: typed });
  }

  restore() {
    this.#typed.clear();
  }

  problem(number, column) {
    return problemOf(column.schema, this.typed(number, column));
  }

  isCellChanged(number, column) {
    return !isSame(this.typed(number, column), this.#unchanged(number, column));
  }

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

  #values(number) {
    const own = this.columns.map((column) => [
      column.letter,
      valueFrom(column.schema, this.typed(number, column)),
    ]);
    return { A: this.device, B: number, ...Object.fromEntries(own) };
  }
}
