// The fields of one command, or of one entry of its list: filled with the example, typed, checked.

import { html } from "../../vendor/lit-html.js";
import { drawField } from "../../lib/fields.js";
import { caseOf, isNumber, problemOf, valueFrom } from "../../lib/schema.js";
import { typedFromWire } from "./from_wire.js";

export class FieldSet {
  #fields;
  #id;
  #nameOf;
  /** @type {Record<string, Typed>} */
  #typed = {};
  /** @type {Record<string, string>} */
  #refusals = {};

  // `fields` as the command describes them: letter, schema, optional, example. `nameOf` a letter is
  // what people call the field.
  /**
   * @param {CommandField[]} fields
   * @param {string} id
   * @param {(letter: string) => string} nameOf
   */
  constructor(fields, id, nameOf) {
    this.#nameOf = nameOf;
    this.#fields = fields;
    this.#id = id;
    /** @type {ByLetter} */
    const seen = {};
    for (const { letter, schema, example } of fields) {
      const fitting = caseOf(schema, seen);
      this.#typed[letter] = typedFromWire(fitting, example);
      seen[letter] = valueFrom(fitting, this.#typed[letter]);
    }
  }

  // By letter. An optional number that is left empty is not sent.
  get values() {
    /** @type {ByLetter} */
    const values = {};
    for (const field of this.#fields) {
      const schema = caseOf(field.schema, values);
      if (this.#isLeftOut(field, schema)) continue;
      values[field.letter] = valueFrom(schema, this.#typed[field.letter]);
    }
    return values;
  }

  get hasProblem() {
    const { values } = this;
    return this.#fields.some((field) => this.#problem(field, caseOf(field.schema, values)));
  }

  /** @param {string} letter @param {string} text */
  refuse(letter, text) {
    this.#refusals = { [letter]: text };
  }

  /** @param {string} letter */
  has(letter) {
    return this.#fields.some((field) => field.letter === letter);
  }

  /** @param {CommandField} commandField @param {Schema} schema */
  #isLeftOut({ letter, optional }, schema) {
    return optional && isNumber(schema) && this.#typed[letter] === "";
  }

  /** @param {CommandField} field @param {Schema} schema */
  #problem(field, schema) {
    return this.#isLeftOut(field, schema) ? null : problemOf(schema, this.#typed[field.letter]);
  }

  // `changed()` is called when something was typed.
  /** @param {() => void} changed */
  view(changed) {
    const { values } = this;
    return html`<div class="fields">
      ${this.#fields.map((field) => this.#draw(field, caseOf(field.schema, values), changed))}
    </div>`;
  }

  // The letter stands behind the name, as the request prints it.
  /** @param {string} letter */
  #label(letter) {
    const name = this.#nameOf(letter);
    return name === letter || letter.length > 1 ? name : `${name} (${letter})`;
  }

  /** @param {CommandField} field @param {Schema} schema @param {() => void} changed */
  #draw(field, schema, changed) {
    const { letter } = field;
    const drawn = {
      id: `${this.#id}-${letter}`,
      typed: this.#typed[letter],
      spec: { plainLabel: this.#label(letter) },
      isChanged: false,
      isSecret: false,
    };
    return drawField(drawn, {
      schema,
      problem: this.#refusals[letter] ?? this.#problem(field, schema),
      change: (typed) => {
        this.#typed[letter] = typed;
        this.#refusals = {};
        changed();
      },
    });
  }
}
