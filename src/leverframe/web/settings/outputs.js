// An output: its name, timing and what happens at the start; and the flags of all of them.

import { NEVER } from "../lib/forms/bound_field.js";
import { Form } from "../lib/forms/form.js";

/** @type {CardsOf} */
export const cardsOf = (context, { index, more }) => [
  new Form(context, {
    title: "settings",
    fields: fieldsOf(context, index),
    opened: ["name", "return_time"],
    ...more,
  }),
];

/** @param {AdminContext} context @param {number} index @returns {FieldSpec[]} */
function fieldsOf(context, index) {
  const at = { A: index };
  const setting = `outputs.${index}`;
  // One command sets both times of periodic switching: those of being off follow the others.
  const off = { A: index + context.settings.outputs.length };
  return [
    { command: "oname", at, label: "name" },
    { command: "ortime", at, label: "return_time", unit: "s", none: NEVER },
    { command: "aout", at, label: "periodic" },
    { command: "atout", at, label: "on_time", unit: "s", path: `${setting}.on_time` },
    { command: "atout", at: off, label: "off_time", unit: "s", path: `${setting}.off_time` },
    { command: "oafs", at, label: "on_after_start" },
    { command: "ouet", at, label: "start_delay", unit: "s" },
    { command: "roafs", at, label: "remember" },
  ];
}

/** @type {CommonOf} */
export const commonOf = (context, more) => [
  new Form(context, {
    title: "settings",
    fields: [
      { command: "outnn", label: "invert_display", hint: "invert_hint" },
      { command: "outblock", label: "lock", hint: "lock_hint" },
    ],
    ...more,
  }),
];
