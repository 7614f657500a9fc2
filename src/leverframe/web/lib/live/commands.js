// The command table of the version present: what can be asked of this controller, and how.
//
// A page looks a command up by its name. What the version does not have is null, and so the page
// offers no field for it.

import { fetchWords, inLanguage } from "../format/words.js";
import { caseOf, wireText } from "../forms/schema.js";

/** Letter of a field -> its text on the wire. @typedef {Record<string, string>} Texts */

const HOLE = /<(\w+)>/g;

export class Command {
  /** @param {CommandRow} row */
  constructor(row) {
    this.section = row.section;
    this.line = row.line;
    this.method = row.method;
    this.path = row.path;
    this.items = row.items;
    this.fields = row.fields;
    this.body = row.body;
    this.doc = row.doc;
    this.role = row.role;
    this.sets = row.sets;
    this.available = row.available;
    this.deprecated = row.deprecated;
  }

  // The last field of a command is the one that is set; those before it say where.
  get lastLetter() {
    return this.#fields.at(-1)?.letter ?? "";
  }

  get letters() {
    return this.#fields.map((field) => field.letter);
  }

  get #fields() {
    return this.body?.fields ?? this.fields;
  }

  // Whether this version has the field.
  /** @param {string} letter */
  has(letter) {
    return this.letters.includes(letter);
  }

  // The schema of a field; `values` of the others where it depends on them.
  /** @param {string} letter @param {ByLetter} [values] */
  schema(letter, values = {}) {
    const field = this.#fields.find((one) => one.letter === letter);
    if (!field) throw new Error(`The command ${this.line} has no field ${letter}.`);
    return caseOf(field.schema, values);
  }

  // A request with these values.
  /** @param {ByLetter} values @returns {CommandRequest} */
  request(values) {
    const texts = this.#texts(values);
    if (this.body?.kind === "form") {
      const pairs = Object.entries(texts).map(([name, text]) => `${name}=${text}`);
      return { target: this.#target({}), body: pairs.join("&") };
    }
    return { target: this.#target(texts) };
  }

  // The same for a command whose body is a list; one object of values per entry.
  /** @param {ByLetter[]} entries */
  listRequest(entries) {
    const items = entries.map((values) => `&${fill(this.body?.item ?? "", this.#texts(values))}`);
    return { target: this.#target({}), body: `${items.join("")}&&` };
  }

  // The items of the query, `oname=1Pump`, to be joined with those of other commands.
  /** @param {ByLetter} values */
  query(values) {
    const texts = this.#texts(values);
    return this.items.map((item) => fill(item.text, texts)).join("&");
  }

  /** @param {Texts} texts */
  #target(texts) {
    const query = this.items.map((item) => fill(item.text, texts)).join("&");
    return query ? `${this.path}?${query}` : this.path;
  }

  /** @param {ByLetter} values */
  #texts(values) {
    const present = this.#fields.filter((field) => values[field.letter] !== undefined);
    return Object.fromEntries(
      present.map(({ letter }) => [letter, wireText(this.schema(letter, values), values[letter])]),
    );
  }

  // The setting that a field goes to, with the other fields filled in; undefined where unknown.
  /** @param {string} letter @param {ByLetter} values */
  settingPath(letter, values) {
    return this.sets[letter]?.[0].replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
  }
}

// The form with its holes filled; it ends before the first optional field that is not given.
/** @param {string} text @param {Texts} texts */
function fill(text, texts) {
  const missing = [...text.matchAll(HOLE)].find(([, letter]) => texts[letter] === undefined);
  const known = missing ? text.slice(0, missing.index).replace(/[*:]$/, "") : text;
  return known.replace(HOLE, (_, letter) => texts[letter]);
}

export class Commands {
  #commands;

  /** @param {CommandRow[]} rows */
  constructor(rows) {
    this.#commands = rows.map((row) => new Command(row));
  }

  get all() {
    return this.#commands;
  }

  // One that the version has for certain.
  /** @param {string} name */
  get(name) {
    const found = this.find(name);
    if (!found) throw new Error(`This version has no command ${name}.`);
    return found;
  }

  // By name ("oname", "gsmsms<A>"), or where forms share a name by the form ("modbusid=<A><B>").
  /** @param {string} name @returns {Command | null} */
  find(name) {
    const found = this.#commands.filter((command) => isCalled(command, name));
    return found.find((command) => !command.deprecated) ?? found[0] ?? null;
  }
}

/** @param {Command} command @param {string} name */
function isCalled({ line, items }, name) {
  if (items.length === 0) return line.endsWith(` ${name}`);
  if (name.includes("=")) return line.endsWith(`?${name}`);
  const own = items[0].name;
  return own === name || own.replace(HOLE, "") === name;
}

// What commands, paths and their fields are for, in the reader's language. The controller describes
// them in English; words/commands.json has each text by what it says.

/** @type {Map<string, import("../format/words.js").Words[string]>} */
let entries = new Map();

export async function useDescriptions() {
  const words = await fetchWords("commands");
  entries = new Map(Object.values(words).map((entry) => [entry.en, entry]));
}

// The text itself where there is no other, as of a program that is newer than these pages. A number
// at the end is one of several: "entry 3".
/** @param {string} text */
export function describe(text) {
  const [, begin, number] = /^(.+)( \d+)$/.exec(text) ?? [];
  const whole = entries.get(text);
  if (whole) return inLanguage(whole);
  const several = entries.get(begin);
  return several ? inLanguage(several) + number : text;
}
