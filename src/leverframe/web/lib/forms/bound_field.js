// One field of a card: bound to a field of a command and to the setting behind it.

import { signal } from "../../vendor/signals-core.js";
import { t, text } from "../format/words.js";
import { observe } from "../live/drawing.js";
import { isSame, valueAt } from "../live/tree.js";
import { isNumber, partOf, problemOf, wordFor, toTyped, valueFrom } from "./schema.js";

// What /api/settings shows instead of a secret that is set; one that is not set is null.
const MASK = "***";
// The `none` of a duration that is waited for in vain.
/** @type {[Value, Named]} */
export const NEVER = [0, "time_never"];

export class BoundField {
  // What has been typed and not saved; undefined while the field shows the setting.
  /** @type {Signal<Typed | undefined>} */
  #typed = signal(undefined);
  // The setting when typing began.
  /** @type {Value} */
  #before;
  /** @type {string | null} */
  refusal = null;

  // `spec`: see Form. `read(letter)` gives the setting of a field of the same command.
  /** @param {Command} command @param {FieldSpec} spec @param {Read} read */
  constructor(command, spec, read) {
    observe(this, "refusal");
    this.command = command;
    this.spec = spec;
    this.at = spec.at ?? {};
    this.letter = spec.letter ?? command.lastLetter;
    this.part = spec.part;
    this.id = [spec.command, ...Object.values(this.at), this.letter, spec.part]
      .filter((piece) => piece !== undefined)
      .join("-")
      .replace(/[^\w-]/g, "_");
    this.read = read;
  }

  // Fields of one command for one place are sent together.
  get row() {
    return `${this.spec.command} ${JSON.stringify(this.at)}`;
  }

  /** @param {ByLetter} [values] @returns {Schema} */
  schema(values = {}) {
    const whole = this.command.schema(this.letter, { ...this.at, ...values });
    const own = this.part === undefined ? whole : partOf(whole, this.part);
    const { unit, per } = this.spec;
    if (unit === "s") return { ...own, "x-quantity": "duration" };
    return per ? { ...own, "x-per": per } : own;
  }

  // The text that stands for the value with which there is nothing: "never" for 0.
  get #none() {
    const [value, named] = this.spec.none ?? [undefined, ""];
    return { value, text: named ? text(named) : "" };
  }

  // Is what is typed that text? To type nothing means the same.
  get #isNone() {
    const { value, text: none } = this.#none;
    const typed = typeof this.typed === "string" ? this.typed.trim() : null;
    return value !== undefined && (typed === "" || typed === none);
  }

  get saved() {
    const whole = this.read(this);
    return this.part === undefined ? whole : partIn(whole, this.part);
  }

  get isSecret() {
    return this.spec.secret === true || this.saved === MASK || this.saved === null;
  }

  get isSet() {
    return this.saved === MASK;
  }

  get #unchanged() {
    return this.isSecret ? "" : this.#toTyped(this.saved);
  }

  /** @param {Value} setting */
  #toTyped(setting) {
    const { value, text: none } = this.#none;
    return value !== undefined && isSame(value, setting) ? none : toTyped(this.schema(), setting);
  }

  get typed() {
    return this.#typed.value === undefined ? this.#unchanged : this.#typed.value;
  }

  /** @param {Typed} typed */
  type(typed) {
    if (this.#typed.value === undefined) this.#before = this.saved;
    this.#typed.value = typed;
    this.refusal = null;
  }

  restore() {
    this.#typed.value = undefined;
    this.refusal = null;
  }

  get isChanged() {
    if (this.#typed.value === undefined || isSame(this.#typed.value, this.#unchanged)) return false;
    // "600 s" says the same as "10 min", and "1.5" the same as "1,5".
    return !isNumber(this.schema()) || !isSame(this.value({}), this.saved);
  }

  // Does the controller forget this secret when the card is saved, unless it comes along?
  /** @param {BoundField[]} card */
  isForgottenBy(card) {
    return this.isSet && (this.spec.forgottenBy?.(card) ?? false);
  }

  // The value set elsewhere while the field was edited here; null without one.
  get foreign() {
    if (!this.isChanged || this.isSecret || isSame(this.#before, this.saved)) return null;
    const settings = [this.#before, this.saved];
    const [was, now] = settings.map((one) => wordFor(this.schema(), this.#toTyped(one)));
    return { was, now };
  }

  focus() {
    document.getElementById(this.id)?.focus();
  }

  // `values` are those of the other fields, which may decide what is allowed here.
  /** @param {ByLetter} values @param {boolean} rowChanged */
  problem(values, rowChanged) {
    if (this.isSecret && !this.isChanged) {
      return rowChanged && this.isSet && !this.spec.keepsSecret ? t("secret_again") : null;
    }
    return this.#isNone ? null : problemOf(this.schema(values), this.typed);
  }

  /** @param {ByLetter} values */
  value(values) {
    return this.#isNone ? this.#none.value : valueFrom(this.schema(values), this.typed);
  }
}

/** @param {Value} whole @param {string | number} part */
const partIn = (whole, part) =>
  typeof whole === "object" ? /** @type {Record<string, Value>} */ (whole)?.[part] : undefined;

/**
 * @param {AdminContext} context
 * @param {Record<string, Source> | undefined} paths
 * @returns {Read}
 */
export function settingReader(context, paths) {
  return ({ command, at, letter, spec }) => {
    const source = spec.read ?? spec.path ?? paths?.[letter] ?? command.settingPath(letter, at);
    if (typeof source === "function") return source(context.settings);
    return source === undefined ? undefined : valueAt(context.settings, source);
  };
}

// From the fields of a card to requests: which commands are sent, with which values, joined how.

// Limits of the controller: commands in a request, length of its query.
const MAX_COMMANDS = 100;
const MAX_LETTERS = 8192;

// The fields of one command for one place, with the values of all its letters. `card` are all the
// fields that are saved together with them.
export class Row {
  /** @param {BoundField[]} fields @param {Read} read @param {BoundField[]} card */
  constructor(fields, read, card) {
    this.fields = fields;
    this.card = card;
    this.command = fields[0].command;
    this.values = this.#values(read);
  }

  get isChanged() {
    return this.fields.some((field) => field.isChanged || field.isForgottenBy(this.card));
  }

  get wrongField() {
    return this.fields.find((field) => field.problem(this.values, this.isChanged) !== null);
  }

  get hasProblem() {
    return this.wrongField !== undefined;
  }

  // Letters without a field on the card keep what the settings say.
  /** @param {Read} read */
  #values(read) {
    const { command, fields } = this;
    const { at } = fields[0];
    const values = { ...at };
    for (const letter of command.letters) {
      const own = fields.filter((field) => field.letter === letter);
      if (own.length === 0) values[letter] ??= read({ command, at, letter, spec: {} });
      else if (own[0].part === undefined) values[letter] = own[0].value(values);
      else values[letter] = withParts(own, values);
    }
    return values;
  }
}

/** @param {BoundField[]} fields @param {ByLetter} values */
function withParts(fields, values) {
  const whole = fields[0].read(fields[0]);
  const copy = /** @type {Record<string, Value>} */ (
    Array.isArray(whole) ? [...whole] : { .../** @type {object} */ (whole) }
  );
  for (const field of fields) copy[field.part ?? ""] = field.value(values);
  return copy;
}

/**
 * @param {BoundField[]} fields
 * @param {AdminContext} context
 * @param {Paths | undefined} paths
 */
export function rowsOf(fields, context, paths) {
  const groups = Map.groupBy(fields, (field) => field.row);
  return [...groups.values()].map(
    (group) => new Row(group, settingReader(context, paths?.[group[0].spec.command]), fields),
  );
}

/** @param {Row} row */
export const queryOf = (row) => row.command.query(row.values);

// Commands of one path go out together, so that they are applied all or not at all, as far as one
// request takes them; a command with a body goes alone. Each request: { target, body, rows }.
/** @param {Row[]} rows */
export function requestsOf(rows) {
  const alone = rows.filter((row) => row.command.body);
  const byPath = Map.groupBy(
    rows.filter((row) => !row.command.body),
    (row) => row.command.path,
  );
  return [
    ...[...byPath].flatMap(([path, group]) => inPortions(path, group)),
    ...alone.map((row) => ({ ...row.command.request(row.values), rows: [row] })),
  ];
}

/** @param {string} path @param {Row[]} rows */
function inPortions(path, rows) {
  /** @type {JoinedRequest[]} */
  const portions = [];
  for (const row of rows) {
    const command = queryOf(row);
    const last = portions.at(-1);
    if (last && hasRoom(last, command)) {
      last.target += `&${command}`;
      last.rows.push(row);
    } else portions.push({ target: `${path}?${command}`, rows: [row] });
  }
  return portions;
}

/** @param {JoinedRequest} request @param {string} command */
const hasRoom = ({ target, rows }, command) =>
  rows.length < MAX_COMMANDS && target.length + command.length < MAX_LETTERS;
