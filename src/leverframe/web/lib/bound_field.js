// One field of a card: bound to a field of a command and to the setting behind it.

import { partOf, problemOf, typedFrom, valueFrom } from "./schema.js";
import { isSame, valueAt } from "./tree.js";
import { t } from "./words.js";

// What /api/settings shows instead of a secret that is set; one that is not set is null.
const MASK = "***";

export class BoundField {
  // What has been typed and not saved; undefined while the field shows the setting.
  /** @type {Typed | undefined} */
  #typed;
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

  schema(values = {}) {
    const whole = this.command.schema(this.letter, { ...this.at, ...values });
    return this.part === undefined ? whole : partOf(whole, this.part);
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
    return this.isSecret ? "" : typedFrom(this.schema(), this.saved);
  }

  get typed() {
    return this.#typed === undefined ? this.#unchanged : this.#typed;
  }

  /** @param {Typed} typed */
  type(typed) {
    this.#typed = typed;
    this.refusal = null;
  }

  restore() {
    this.#typed = undefined;
    this.refusal = null;
  }

  get isChanged() {
    return this.#typed !== undefined && !isSame(this.#typed, this.#unchanged);
  }

  // Does the controller forget this secret when the card is saved, unless it comes along?
  /** @param {BoundField[]} card */
  isForgottenBy(card) {
    return this.isSet && (this.spec.forgottenBy?.(card) ?? false);
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
    return problemOf(this.schema(values), this.typed);
  }

  /** @param {ByLetter} values */
  value(values) {
    return valueFrom(this.schema(values), this.typed);
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
