// A PWM output: its name, its duty and how it behaves; and the frequencies, which are shared.

import { Form } from "../lib/forms/form.js";
import { thingName } from "../lib/things/things.js";

/** @type {CardsOf} */
export const cardsOf = (context, { index, more }) => [
  new Form(context, {
    title: "settings",
    fields: fieldsOf(context, index),
    opened: ["name", "duty"],
    ...more,
  }),
];

/** @param {AdminContext} context @param {number} index @returns {FieldSpec[]} */
function fieldsOf(context, index) {
  const at = { A: index };
  // One command sets two bits of every output: first polarities, then modes.
  /** @param {Settings} settings */
  const bits = ({ pwm }) => [
    ...pwm.map((output) => output.active_low),
    ...pwm.map((output) => output.on_off_mode),
  ];
  const mode = index + context.settings.pwm.length;
  return [
    { command: "pname", at, label: "name" },
    { command: "pwmd", at, label: "duty", unit: "%" },
    { command: "pwmt", at, label: "change_time", unit: "s", hint: "change_hint" },
    { command: "pwmp", part: index, read: bits, label: "active_low", hint: "active_low_hint" },
    { command: "pwmp", part: mode, read: bits, label: "on_off_mode", hint: "on_off_hint" },
  ];
}

/** @type {CommonOf} */
export const commonOf = (context, more) => [
  new Form(context, {
    title: "frequency",
    note: ["frequency_note", { name: thingName(context, "PWM0") }],
    fields: [
      { command: "pwmf", at: { A: 0 }, plainLabel: thingName(context, "PWM0"), unit: "Hz" },
      { command: "pwmf", at: { A: 1 }, label: "frequency_others", unit: "Hz" },
    ],
    ...more,
  }),
];
