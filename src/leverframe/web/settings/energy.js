// A meter: where it gets its current and voltage, or pulses, and its counter.

import { Action } from "../lib/forms/action.js";
import { thingChoice } from "../lib/forms/fields.js";
import { Form } from "../lib/forms/form.js";

/** @type {CardsOf} */
export function cardsOf(context, { index, more }) {
  const reset = new Action(context, {
    label: "reset",
    command: "powset",
    values: { A: index, B: 0 },
    danger: "reset_danger",
    done: "reset_done",
  });
  return [
    new Form(context, {
      title: "settings",
      tail: () => reset.view(),
      fields: fieldsOf(context, index),
      opened: ["name", "current", "voltage"],
      ...more,
    }),
  ];
}

/** @param {AdminContext} context @param {number} index @returns {FieldSpec[]} */
function fieldsOf(context, index) {
  const at = { A: index };
  const setting = `power.${index}`;
  const draw = thingChoice(context);
  // Voltages are chosen by the same command; their numbers follow those of the currents.
  const voltage = { A: index + context.settings.power.length };
  return [
    { command: "pown", at, label: "name" },
    { command: "powsel", at, label: "current", path: `${setting}.current`, draw },
    {
      command: "powsel",
      at: voltage,
      label: "voltage",
      hint: "voltage_hint",
      path: `${setting}.voltage`,
      draw,
    },
    { command: "peunit", at, label: "unit" },
    { command: "powim", at, label: "pulses", hint: "pulses_hint" },
    {
      command: "powset",
      at,
      label: "counter",
      hint: "counter_hint",
      read: () => countedText(context, index),
    },
  ];
}

/** @param {AdminContext} context @param {number} index */
const countedText = ({ live }, index) =>
  Number((live.state[`ENERGY${index + 1}`] ?? 0).toFixed(3));

/** @type {CommonOf} */
export const commonOf = (context, more) => [
  new Form(context, {
    title: "settings",
    fields: [{ command: "powsave", label: "remember", hint: "remember_hint" }],
    ...more,
  }),
];
