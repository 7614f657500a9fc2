// The fields of a command on the console: drawn, named, read from the wire.

import { html } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { numberText } from "../../lib/format/numbers.js";
import { drawField } from "../../lib/forms/fields.js";
import {
  caseOf,
  hasParts,
  isFlag,
  isNumber,
  partOf,
  problemOf,
  range,
  valueFrom,
} from "../../lib/forms/schema.js";
import { observeMembers } from "../../lib/live/drawing.js";

// The fields of one command, or of one entry of its list: filled with the example, typed, checked.

export class FieldSet {
  #fields;
  #id;
  #nameOf;
  /** @type {Record<string, Typed>} */
  #typed = observeMembers({});
  /** @type {Signal<Record<string, string>>} */
  #refusals = signal({});

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
      this.#typed[letter] = toTypedFromWire(fitting, example);
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
    this.#refusals.value = { [letter]: text };
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

  view() {
    const { values } = this;
    return html`<div class="fields">
      ${this.#fields.map((field) => this.#draw(field, caseOf(field.schema, values)))}
    </div>`;
  }

  // The letter stands behind the name, as the request prints it.
  /** @param {string} letter */
  #label(letter) {
    const name = this.#nameOf(letter);
    return name === letter || letter.length > 1 ? name : `${name} (${letter})`;
  }

  /** @param {CommandField} field @param {Schema} schema */
  #draw(field, schema) {
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
      problem: this.#refusals.value[letter] ?? this.#problem(field, schema),
      change: (typed) => {
        this.#typed[letter] = typed;
        this.#refusals.value = {};
      },
    });
  }
}

// What the fields of a command are called. The interface prints letters; people read what they
// mean. Most say which setting they go to; the others are named here, by the command.

const RULE =
  "entry, source, comparison, reference, hysteresis, operator, action, second source, " +
  "second comparison, second reference, second hysteresis, off delay, value, on delay, " +
  "depends on, mode";
const READING = "device, reading, name, unit, divisor, register, function, type, byte order";
const SCHEDULE = "entry, name, action, value, second of the day, date, days, active";

// What people call otherwise than its setting.
/** @type {Record<string, string>} */
const SETTINGS = { "pid.kp": "Kp", "pid.ki": "Ki", "pid.kd": "Kd", "pid.pwm": "output" };

// In the order of the letters.
/** @type {Record<string, string>} */
const NAMES = {
  modbusmapping: "readings",
  mod_custom_save: READING,
  modbus_readings_save: READING,
  pwm: "output",
  "pwm<A>": "output, on",
  pwmp: "outputs",
  out: "output",
  "out<A>": "output, on",
  atout: "output and phase, seconds",
  usart_sensor: "module",
  serial: "module",
  gsmcmd: "command",
  "gsmnumber<A>": "slot, recipients",
  gsmnumber: "recipient",
  "gsmsms<A>": "slot, text when on, text when off",
  gsmsms: "on 1, on 2, on 3, on 4, off 1, off 2, off 3, off 4",
  word0: "refresh interval",
  byte0: "homepage",
  bit0: "automatic sign-in",
  bit1: "check for firmware",
  bit2: "on",
  bit3: "read-only",
  igain: "input, gain",
  inpdp: "inputs",
  inpdnn: "inputs",
  inpdb: "inputs",
  diffsel: "place, input",
  dswrite: "position, ID",
  dsOffset: "position, offset",
  "dsOffset<A>": "position, offset",
  i2csensors: "sensors",
  tname: "position, name",
  em1: "server, port, user name, password, recipient, sender, subject, texts, encryption",
  event: RULE,
  eventper: "entry, permanent",
  eventon: "entry, on",
  eventdel: "entry",
  powsel: "place, input",
  powset: "meter, reading",
  eclear: "meter",
  "vout<A>": "variable, on",
  vout: "variable",
  sched_save: SCHEDULE,
  schedset: SCHEDULE,
  schedon: "entry, on",
  scheddel: "entry",
  wdog1: "entry 1, entry 2, entry 3, entry 4, entry 5, entry 6",
  auth: "required, updates allowed, administrator, password, user, password of the user",
  users_save: "place, name, password, active",
  rulename: "entry, name",
  rulemove: "entry, place",
  rulemail: "slot, text when on, text when off, recipient",
  rulesms: "slot, text when on, text when off, recipients",
  "pulse<A>": "output, seconds",
  mod_write: "slot, register, type, value, byte order",
  "mod_write_set<A>": "write, name, slot, register, type, value on, value off, byte order",
  mod_write_run: "write, begins",
  "http<A>": "request, address",
  "httppost<A>": "request, method, body",
  "httpauth<A>": "request, user name, password",
  "snmptrap<A>": "receiver, on, host, port, community",
  "snmpinform<A>": "receiver, informs",
  t_man: "seconds",
  oled: "on, line 1, line 2, line 3, line 4",
};

// "return_time", "displayTime", "line11" -> "return time", "display time", "line 11"
/** @param {string} segment */
const separateWords = (segment) =>
  segment
    .replaceAll("_", " ")
    .replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .replace(/(?<=^[a-z]{4,})\d+$/, (number) => ` ${number}`);

// The name of a field; the letter itself where nothing better is known.
/** @param {Command} command @param {string} letter */
export function fieldName({ items, sets, letters }, letter) {
  if (letter.length > 1) return separateWords(letter);
  const [path = ""] = sets[letter] ?? [];
  if (SETTINGS[path]) return SETTINGS[path];
  const own = sets[letter]?.[0].split(".").filter((segment) => !/^[{\d]/.test(segment));
  if (own?.length) return separateWords(own.at(-1) ?? "");
  const named = NAMES[items[0]?.name]?.split(", ")[letters.indexOf(letter)];
  return named ?? placeName(Object.values(sets).flat(), letter) ?? letter;
}

// Of a field that only says where: the one of `outputs.{A}.name` is an output.
/** @param {string[]} paths @param {string} letter */
function placeName(paths, letter) {
  for (const path of paths) {
    const segments = path.split(".");
    const place = segments.indexOf(`{${letter}}`);
    if (place > 0) return separateWords(segments[place - 1]).replace(/s$/, "");
  }
  return null;
}

// From the text of a value on the wire to what is typed: the way back of lib/forms/schema.js.

/** @param {Schema} schema @param {string} wire @returns {Typed} */
export function toTypedFromWire(schema, wire) {
  if (isFlag(schema)) return wire === "1";
  if (hasParts(schema)) return partsFromWire(schema, wire);
  if (schema["x-words"]) return String(schema["x-words"][wire]);
  if (isNumber(schema)) return numberText(Number(wire) * range(schema).step);
  const text = decodeURIComponent(wire);
  return schema.contentEncoding === "base64" ? decodeBase64(text) : text;
}

/** @param {Schema} schema @param {string} wire @returns {Typed} */
function partsFromWire(schema, wire) {
  if (schema["x-bits"]) {
    return Array.from({ length: schema["x-bits"] }, (_, bit) => (Number(wire) & (2 ** bit)) !== 0);
  }
  const texts = wire === "" ? [] : wire.split(schema["x-separator"]);
  if (schema.type === "array") {
    return texts.map((text, at) => toTypedFromWire(partOf(schema, at), text));
  }
  const names = Object.keys(schema.properties);
  return Object.fromEntries(
    names.map((name, at) => [name, toTypedFromWire(schema.properties[name], texts[at])]),
  );
}

/** @param {string} text */
const decodeBase64 = (text) =>
  new TextDecoder().decode(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)));
