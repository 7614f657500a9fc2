// What the schema of a field says: how a value is typed, what is allowed, and its text on the wire.
//
// Three forms of one value: the *value* as /api/settings has it (21.5, "OUT2", true), what is
// *typed* in a field (text of numbers and texts, the word of a code, true or false), and its *wire*
// text.

import {
  durationText,
  limitDuration,
  limitText,
  numberOf,
  numberText,
  secondsOf,
} from "../format/numbers.js";
import { code, t } from "../format/words.js";

// The case of a field that depends on another one; `seen` holds the other fields' values.
/** @param {Schema} schema @param {ByLetter} seen */
export function caseOf(schema, seen) {
  if (!schema.oneOf) return schema;
  const decides = String(seen[schema["x-depends"]]);
  return schema.oneOf.find((one) => one["x-when"].includes(decides)) ?? schema.oneOf[0];
}

const BIT = /** @type {Schema} */ ({ type: "integer", enum: [0, 1], "x-flag": true });

// The schema of one part of a list, of a set of bits, or of a record.
/** @param {Schema} schema @param {string | number} part */
export function partOf(schema, part) {
  if (schema["x-bits"]) return BIT;
  return schema.type === "array" ? schema.items : schema.properties[part];
}

/** @param {Schema} schema */
export const hasParts = (schema) =>
  Boolean(schema["x-bits"]) || schema.type === "array" || schema.type === "object";
/** @param {Schema} schema */
export const isFlag = (schema) => schema["x-flag"] === true;
/** @param {Schema} schema */
export const isChoice = (schema) => schema.enum !== undefined && !isFlag(schema);
/** @param {Schema} schema */
export const isNumber = (schema) => schema.type === "integer" && !schema.enum && !schema["x-bits"];

/** @param {Schema} schema */
export const isDuration = (schema) => schema["x-quantity"] === "duration";

// [word, shown text] of every code.
/** @param {Schema} schema @returns {[string, string][]} */
export function choices(schema) {
  const words = schema["x-words"];
  return (schema.enum ?? []).map((number) => {
    const word = String(words ? words[number] : number);
    return [word, code(word)];
  });
}

// The wire carries whole numbers; this many of them make one of the unit that people use.
/** @param {Schema} schema */
function scale(schema) {
  if (schema["x-unit"] === "10 s") return 0.1;
  return schema["x-factor"] ?? 1;
}

/** @param {number} number */
const tidy = (number) => Number(number.toPrecision(12));

/** @param {Schema} schema */
export function range(schema) {
  const per = scale(schema) * (schema["x-per"] ?? 1);
  return { min: tidy(schema.minimum / per), max: tidy(schema.maximum / per), step: tidy(1 / per) };
}

// A value that is not there yet is typed as nothing, in the right form.
/** @param {Schema} schema @param {Value} value @returns {Typed} */
export function toTyped(schema, value) {
  if (isFlag(schema)) return value === true || value === 1;
  if (schema.type === "object") {
    const whole = /** @type {Record<string, Value> | undefined} */ (value);
    const names = Object.keys(schema.properties);
    return Object.fromEntries(
      names.map((name) => [name, toTyped(schema.properties[name], whole?.[name])]),
    );
  }
  if (hasParts(schema)) {
    const none = Array(schema["x-bits"] ?? schema.minItems).fill(undefined);
    const items = /** @type {Value[]} */ (value ?? none);
    return items.map((item, index) => toTyped(partOf(schema, index), item));
  }
  if (value === null || value === undefined) return "";
  if (isDuration(schema)) return durationText(Number(value));
  return isNumber(schema) ? numberText(Number(value) / (schema["x-per"] ?? 1)) : String(value);
}

// What is typed, as a sentence can say it.
/** @param {Schema} schema @param {Typed} typed @returns {string} */
export function wordFor(schema, typed) {
  if (isFlag(schema)) return t(typed === true ? "state_on" : "state_off");
  if (typeof typed !== "object") return isChoice(schema) ? code(String(typed)) : String(typed);
  const parts = Object.entries(typed).map(([part, one]) => wordFor(partOf(schema, part), one));
  return parts.join(", ");
}

/** @param {Schema} schema @param {Typed} typed @returns {Value} */
export function valueFrom(schema, typed) {
  if (isFlag(schema)) return typed === true;
  if (Array.isArray(typed)) return typed.map((one, index) => valueFrom(partOf(schema, index), one));
  if (schema.type === "object") {
    return Object.fromEntries(
      Object.entries(typed).map(([name, item]) => [name, valueFrom(schema.properties[name], item)]),
    );
  }
  return isNumber(schema) ? tidy(toNumber(schema, String(typed)) * (schema["x-per"] ?? 1)) : typed;
}

// As it is typed, before the settings' own scale.
/** @param {Schema} schema @param {string} typed */
function toNumber(schema, typed) {
  return isDuration(schema) ? secondsOf(typed) : numberOf(typed);
}

// Why what was typed cannot be sent, in words; null if it can.
/** @param {Schema} schema @param {Typed} typed @returns {string | null} */
export function problemOf(schema, typed) {
  if (isFlag(schema)) return null;
  if (typeof typed === "object") return partsProblem(schema, typed);
  if (isChoice(schema)) {
    return choices(schema).some(([word]) => word === typed) ? null : t("choose_one");
  }
  const text = String(typed);
  return isNumber(schema) ? numberProblem(schema, text) : textProblem(schema, text);
}

/** @param {Schema} schema @param {Typed[] | { [part: string]: Typed }} typed */
function partsProblem(schema, typed) {
  const parts = Object.entries(typed);
  if (schema.type === "array" && parts.length < schema.minItems) return limitsText(schema);
  return parts.map(([part, one]) => problemOf(partOf(schema, part), one)).find(Boolean) ?? null;
}

/** @param {Schema} schema @param {string} typed */
function numberProblem(schema, typed) {
  const value = toNumber(schema, typed);
  const { min, max, step } = range(schema);
  if (Number.isNaN(value)) return notANumber(schema);
  if (value < min || value > max) return outOfRange(schema, value < min);
  const isWhole = tidy(value / step) % 1 === 0;
  return isWhole ? null : t("in_steps", { step: toTypedNumber(schema, step) });
}

/** @param {Schema} schema */
function notANumber(schema) {
  if (isDuration(schema)) return t("not_a_duration");
  return isBounded(schema) ? t("not_a_number", limits(schema)) : t("only_number");
}

/** @param {Schema} schema @param {boolean} isBelow */
function outOfRange(schema, isBelow) {
  if (isBounded(schema)) return t("out_of_range", limits(schema));
  if (!isBelow) return t("too_large");
  return schema.minimum > -MOST ? t("too_small", limits(schema)) : t("too_little");
}

/** @param {Schema} schema @param {string} typed */
function textProblem(schema, typed) {
  const length = [...typed].length;
  const { minLength = 0, maxLength = Infinity, pattern, contentEncoding } = schema;
  if (length > maxLength) return t("too_long", { length, max: maxLength });
  if (length < minLength) return t("too_short", { length, min: minLength });
  const fits = contentEncoding || !pattern || new RegExp(pattern, "u").test(typed);
  return fits ? null : t("wrong_form", { form: form(schema) });
}

/** @param {Schema} schema */
const form = (schema) => code(schema.description ?? schema.pattern ?? "");

// What is allowed, in a few words beside the field.
/** @param {Schema} schema */
export function limitsText(schema) {
  if (isFlag(schema) || isChoice(schema)) return "";
  if (schema.type === "array") {
    const { minItems: min, maxItems: max } = schema;
    return t(min ? "allowed_items" : "allowed_most", { min, max });
  }
  if (isNumber(schema)) return rangeText(schema);
  if (schema.type !== "string") return "";
  return [lengthText(schema), schema.description ? form(schema) : ""].filter(Boolean).join(", ");
}

// A single character is no limit worth showing; how many fit is shown near the end.
/** @param {Schema} schema */
const lengthText = ({ minLength: min = 0, maxLength: max }) =>
  max && min > 1 ? t("allowed_letters_from", { min, max }) : "";

// The end of a machine's range is no limit worth showing.
const MOST = 2 ** 31 - 1;
const MOST_OF_WORD = 2 ** 15 - 1;

/** @param {Schema} schema */
const isBounded = ({ minimum, maximum }) =>
  maximum < MOST && minimum > -MOST && (maximum !== MOST_OF_WORD || minimum >= -MOST_OF_WORD);

/** @param {Schema} schema */
const rangeText = (schema) =>
  isBounded(schema) ? t("allowed_range", limits(schema)) : "";

// Lowest and highest as they are typed.
/** @param {Schema} schema */
function limits(schema) {
  const { min, max } = range(schema);
  const most = isDuration(schema) ? limitDuration(max) : limitText(max);
  return { min: toTypedNumber(schema, min), max: most };
}

/** @param {Schema} schema @param {number} number */
const toTypedNumber = (schema, number) =>
  isDuration(schema) ? durationText(number) : limitText(number);

// Percent-encoded so that nothing in it can be taken for a separator.
/** @param {string} value */
const encode = (value) =>
  encodeURIComponent(value).replace(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );

// The text of a value on the wire.
/** @param {Schema} schema @param {Value} value @returns {string} */
export function wireText(schema, value) {
  if (isFlag(schema)) return value ? "1" : "0";
  if (hasParts(schema)) return partsText(schema, value);
  if (schema["x-words"]) return codeNumber(schema["x-words"], value);
  if (isNumber(schema)) return String(Math.round(Number(value) * scale(schema)));
  return encode(schema.contentEncoding === "base64" ? base64(String(value)) : String(value ?? ""));
}

/** @param {Schema} schema @param {Value} value */
function partsText(schema, value) {
  if (schema.type === "object") {
    const whole = /** @type {Record<string, Value>} */ (value);
    return Object.entries(schema.properties)
      .map(([name, one]) => wireText(one, whole[name]))
      .join(schema["x-separator"]);
  }
  const items = /** @type {Value[]} */ (value);
  return schema["x-bits"]
    ? String(items.reduce((/** @type {number} */ sum, on, bit) => sum + (on ? 2 ** bit : 0), 0))
    : items.map((item) => wireText(schema.items, item)).join(schema["x-separator"]);
}

/** @param {Record<string, string>} words @param {Value} word */
function codeNumber(words, word) {
  return String(Object.keys(words).find((key) => words[key] === String(word)));
}

/** @param {string} value */
const base64 = (value) => btoa(String.fromCharCode(...new TextEncoder().encode(value)));
