// Variables of rules and texts for clients, one by one; and the numbers that clients may keep.

import { html } from "../vendor/lit-html.js";
import { Form } from "../lib/forms/form.js";
import { kindOf } from "../lib/things/things.js";

/** @type {CardsOf} */
export function cardsOf(context, { index, label, more }) {
  const at = { A: index };
  const isText = kindOf(label).kind === "text";
  const field = isText
    ? { command: "string<A>", at, label: "value" }
    : { command: "eventname", at, label: "name" };
  return [new Form(context, { title: "settings", fields: [field], ...more })];
}

/** @type {CommonOf} */
export const commonOf = (context, more) => [
  new Form(context, {
    title: "bits",
    note: "stored_note",
    fields: places(context, "bit<A>").map((at) => ({
      command: "bit<A>",
      at,
      plainLabel: `bit${at.A}`,
      draw: bitSwitch,
    })),
    ...more,
  }),
  new Form(context, { title: "bytes", fields: numbers(context, "byte<A>"), ...more }),
  new Form(context, { title: "words", fields: numbers(context, "word<A>"), ...more }),
  new Form(context, { title: "dwords", fields: numbers(context, "dword<A>"), ...more }),
];

/** @param {AdminContext} context @param {string} command */
const numbers = (context, command) =>
  places(context, command).map((at) => ({
    command,
    at,
    plainLabel: command.replace("<A>", String(at.A)),
  }));

// Those that have a meaning of their own are set elsewhere, and are no places of this command.
/** @param {AdminContext} context @param {string} name */
function places({ commands }, name) {
  const schema = commands.find(name)?.schema("A");
  if (!schema) return [];
  return (schema.enum ?? numbersFrom(schema.minimum, schema.maximum)).map((A) => ({ A }));
}

/** @param {number} min @param {number} max */
const numbersFrom = (min, max) =>
  Array.from({ length: max - min + 1 }, (_, index) => min + index);

/** @param {DrawnField} field @param {Drawn} drawn */
function bitSwitch(field, { change }) {
  return html`<input
    id=${field.id}
    type="checkbox"
    role="switch"
    .checked=${field.typed === "1"}
    @change=${(event) => change(event.target.checked ? "1" : "0")}
  />`;
}
