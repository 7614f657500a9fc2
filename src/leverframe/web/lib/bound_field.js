// One field of a card: bound to a field of a command and to the setting behind it.

import { isNumber, partOf, problemOf, spoken, typedFrom, valueFrom } from "./schema.js";
import { isSame, valueAt } from "./tree.js";
import { t, text } from "./words.js";

// What /api/settings shows instead of a secret that is set; one that is not set is null.
const MASK = "***";
// The `none` of a duration that is waited for in vain.
/** @type {[Value, Named]} */
export const NEVER = [0, "time_never"];

export class BoundField {
  // What has been typed and not saved; undefined while the field shows the setting.
  /** @type {Typed | undefined} */
  #typed;
  // What the setting was when somebody began to type.
  /** @type {Value} */
  #before;
  /** @type {string | null} */
  refusal = null;

  // `spec`: see Form. `read(letter)` gives the setting of a field of the same command.
  /** @param {Command} command @param {FieldSpec} spec @param {Read} read */
  constructor(command, spec, read) {
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
    const { value, text: said } = this.#none;
    const typed = typeof this.typed === "string" ? this.typed.trim() : null;
    return value !== undefined && (typed === "" || typed === said);
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
    return this.isSecret ? "" : this.#shown(this.saved);
  }

  /** @param {Value} setting */
  #shown(setting) {
    const { value, text: said } = this.#none;
    return value !== undefined && isSame(value, setting)
      ? said
      : typedFrom(this.schema(), setting);
  }

  get typed() {
    return this.#typed === undefined ? this.#unchanged : this.#typed;
  }

  /** @param {Typed} typed */
  type(typed) {
    if (this.#typed === undefined) this.#before = this.saved;
    this.#typed = typed;
    this.refusal = null;
  }

  restore() {
    this.#typed = undefined;
    this.refusal = null;
  }

  get isChanged() {
    if (this.#typed === undefined || isSame(this.#typed, this.#unchanged)) return false;
    // "600 s" says the same as "10 min", and "1.5" the same as "1,5".
    return !isNumber(this.schema()) || !isSame(this.value({}), this.saved);
  }

  // Does the controller forget this secret when the card is saved, unless it comes along?
  /** @param {BoundField[]} card */
  isForgottenBy(card) {
    return this.isSet && (this.spec.forgottenBy?.(card) ?? false);
  }

  // What somebody else made of the setting while it was edited here; null where nobody did.
  get foreign() {
    if (!this.isChanged || this.isSecret || isSame(this.#before, this.saved)) return null;
    const settings = [this.#before, this.saved];
    const [was, now] = settings.map((one) => spoken(this.schema(), this.#shown(one)));
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
