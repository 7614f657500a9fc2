// A rule being written: what is typed, what is wrong with it, and the commands that save it.
//
// The three dialects of rules differ in their codes and in which fields they have; both come from
// the command table. Older ones write the value into the action: `OUT2=1`.

import { isState } from "../../lib/labels.js";
import { choices, isChoice, problemOf, valueFrom } from "../../lib/schema.js";
import { isSame } from "../../lib/tree.js";
import { isSwitched } from "./sentence.js";

/**
 * Texts, and a boolean for `permanent`.
 * @typedef {Record<Exclude<keyof Rule, "permanent" | "enabled">, string> & { permanent: boolean }}
 *   TypedRule
 */

// Letter of the command -> field of a rule.
/** @type {Record<string, Exclude<keyof TypedRule, "permanent">>} */
export const FIELDS = {
  B: "source",
  C: "compare",
  D: "reference",
  E: "hysteresis",
  F: "operator",
  G: "action",
  H: "source2",
  I: "compare2",
  J: "reference2",
  K: "hysteresis2",
  L: "off_delay",
  M: "value",
  N: "on_delay",
  O: "depends",
  P: "mode",
};
const SECOND = ["source2", "compare2", "reference2", "hysteresis2"];
const DELAYS = ["on_delay", "off_delay"];

/** @type {Rule} */
export const EMPTY_RULE = {
  source: "VCC",
  compare: ">=",
  reference: 0,
  hysteresis: 0,
  operator: "-",
  action: "OUT0",
  source2: "VCC",
  compare2: ">=",
  reference2: 0,
  hysteresis2: 0,
  off_delay: 0,
  value: 1,
  on_delay: 0,
  depends: 0,
  mode: 0,
  enabled: false,
  permanent: false,
};

export class Draft {
  #commands;
  #event;
  #saved;
  #typed;

  // `saved`: the rule as it is stored, or null for a new one that begins as `rule`.
  /**
   * @param {Commands} commands
   * @param {number} index
   * @param {Rule | null} saved
   * @param {Rule} [rule]
   */
  constructor(commands, index, saved, rule = saved ?? EMPTY_RULE) {
    this.#commands = commands;
    this.#event = commands.get("event");
    this.index = index;
    this.#saved = saved;
    this.#typed = typedRule(rule);
  }

  get isNew() {
    return this.#saved === null;
  }

  get isChanged() {
    return this.isNew || !isSame(this.#typed, this.#stored);
  }

  get #stored() {
    return typedRule(this.#saved ?? EMPTY_RULE);
  }

  get saved() {
    return this.#saved;
  }

  // What is typed: texts, and a boolean for `permanent`.
  get typed() {
    return this.#typed;
  }

  /** @param {keyof TypedRule} name @param {string | boolean} typed */
  type(name, typed) {
    this.#typed = { ...this.#typed, [name]: typed };
    if (name === "action") this.#fitValue();
    if (name === "source") this.#fitLevel("source", "reference");
    if (name === "source2") this.#fitLevel("source2", "reference2");
  }

  // A state is 0 or 1, whatever number was meant for a reading.
  /** @param {"source" | "source2"} source @param {"reference" | "reference2"} reference */
  #fitLevel(source, reference) {
    const isLevel = ["0", "1"].includes(this.#typed[reference]);
    if (isState(this.#typed[source]) && !isLevel) this.#typed[reference] = "1";
  }

  restore() {
    if (!this.isNew) this.#typed = this.#stored;
  }

  /** @param {string} letter */
  has(letter) {
    return this.#event.has(letter);
  }

  // The words that a version has for a field.
  /** @param {string} letter */
  offered(letter) {
    return choices(this.#event.schema(letter)).map(([word]) => word);
  }

  get actions() {
    return [...new Set(this.offered("G").map((word) => word.split("=")[0]))];
  }

  // The values that the chosen action can have; none for what is not switched.
  get values() {
    const { action } = this.#typed;
    if (!isSwitched(action)) return [];
    if (!this.has("M")) {
      const words = this.offered("G").filter((word) => word.startsWith(`${action}=`));
      return words.map((word) => word.split("=")[1]);
    }
    return Array.from({ length: this.#event.schema("M").maximum + 1 }, (_, value) => String(value));
  }

  #fitValue() {
    const { values } = this;
    const last = values.at(-1);
    if (last !== undefined && !values.includes(this.#typed.value)) this.#typed.value = last;
  }

  // Why a field cannot be sent as it is; null if it can.
  /** @param {string} letter */
  problem(letter) {
    return problemOf(this.#schema(letter), this.#wire(letter));
  }

  get problems() {
    return this.#event.letters
      .filter((letter) => letter in FIELDS)
      .filter((letter) => this.problem(letter) !== null);
  }

  /** @param {string} letter */
  #schema(letter) {
    return this.#event.schema(letter, { B: this.#typed.source, H: this.#effective("source2") });
  }

  // Blanks that the sentence does not have stay as they are stored, whatever was typed there.
  /** @param {Exclude<keyof TypedRule, "permanent">} name */
  #effective(name) {
    return this.#isUnused(name) ? this.#stored[name] : this.#typed[name];
  }

  /** @param {keyof TypedRule} name */
  #isUnused(name) {
    const { operator, action, source, source2 } = this.#typed;
    if (operator === "-" && SECOND.includes(name)) return true;
    if (name === "hysteresis") return isState(source);
    if (name === "hysteresis2") return isState(source2);
    return DELAYS.includes(name) && !isSwitched(action);
  }

  // What is typed in a field, as the schema of its letter wants it.
  /** @param {string} letter */
  #wire(letter) {
    const typed = this.#effective(FIELDS[letter]);
    if (letter === "C" || letter === "I") {
      const digital = isState(this.#effective(letter === "C" ? "source" : "source2"));
      return digital ? (typed === "<" ? "1" : "0") : typed;
    }
    if (letter !== "G" || this.has("M") || !isSwitched(typed)) return typed;
    return `${typed}=${this.#typed.value}`;
  }

  // The items of one request: the rule where it differs, and what other commands set.
  /** @param {boolean} enable */
  items(enable) {
    const { index } = this;
    const items = [];
    if (this.isNew || !isSame(ruleOnly(this.#typed), ruleOnly(this.#stored))) {
      items.push(this.eventItem());
    }
    if (this.#typed.permanent !== (this.#saved?.permanent ?? false)) {
      items.push(this.#flag("eventper", index, this.#typed.permanent));
    }
    if (enable) items.push(this.#flag("eventon", index, true));
    return items;
  }

  eventItem() {
    /** @type {ByLetter} */
    const values = { A: this.index };
    for (const letter of this.#event.letters.filter((one) => one in FIELDS)) {
      const schema = this.#schema(letter);
      const typed = this.#wire(letter);
      values[letter] = isChoice(schema) ? typed : valueFrom(schema, typed);
    }
    return this.#event.query(values);
  }

  /** @param {boolean} enable */
  request(enable) {
    return { target: `${this.#event.path}?${this.items(enable).join("&")}` };
  }

  /** @param {string} command @param {number} A @param {boolean} B */
  #flag(command, A, B) {
    return this.#commands.get(command).query({ A, B });
  }
}

/** @param {Rule} rule */
function typedRule(rule) {
  const typed = /** @type {TypedRule} */ ({ permanent: rule.permanent });
  for (const name of Object.values(FIELDS)) {
    typed[name] = String(rule[name]);
  }
  return typed;
}

/** @param {TypedRule} typedRule */
function ruleOnly({ permanent, ...rest }) {
  return rest;
}
