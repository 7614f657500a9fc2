// From the text of a value on the wire to what is typed: the way back of lib/schema.js.

import { numberText } from "../../lib/numbers.js";
import { hasParts, isFlag, isNumber, partOf, range } from "../../lib/schema.js";

/** @param {Schema} schema @param {string} wire @returns {Typed} */
export function typedFromWire(schema, wire) {
  if (isFlag(schema)) return wire === "1";
  if (hasParts(schema)) return partsFromWire(schema, wire);
  if (schema["x-words"]) return String(schema["x-words"][wire]);
  if (isNumber(schema)) return numberText(Number(wire) * range(schema).step);
  const text = decodeURIComponent(wire);
  return schema.contentEncoding === "base64" ? decodedBase64(text) : text;
}

/** @param {Schema} schema @param {string} wire @returns {Typed} */
function partsFromWire(schema, wire) {
  if (schema["x-bits"]) {
    return Array.from({ length: schema["x-bits"] }, (_, bit) => (Number(wire) & (2 ** bit)) !== 0);
  }
  const texts = wire === "" ? [] : wire.split(schema["x-separator"]);
  if (schema.type === "array") {
    return texts.map((text, at) => typedFromWire(partOf(schema, at), text));
  }
  const names = Object.keys(schema.properties);
  return Object.fromEntries(
    names.map((name, at) => [name, typedFromWire(schema.properties[name], texts[at])]),
  );
}

/** @param {string} text */
const decodedBase64 = (text) =>
  new TextDecoder().decode(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)));
