// A digital input: what it is called, how it rests, and what a press does; the times between two.

import { html, nothing } from "../vendor/lit-html.js";
import { t } from "../lib/format/words.js";
import { NEVER } from "../lib/forms/bound_field.js";
import { Form } from "../lib/forms/form.js";
import { thingName } from "../lib/things/things.js";

// Which inputs share an impulse time.
const PAIRS = [
  ["INPD1", "INPD2"],
  ["INPD3", "INPD4"],
];

/** @type {CardsOf} */
export const cardsOf = (context, { index, label, more }) => [
  new Form(context, {
    title: "settings",
    lead: () => inversionNote(context, index, label),
    fields: fieldsOf(index),
    opened: ["name"],
    ...more,
  }),
];

/** @param {AdminContext} context @param {number} index @param {string} label */
function inversionNote({ live, settings }, index, label) {
  if (!settings.digital_inputs[index].negate_display) return nothing;
  const text = t(live.state[label] === 1 ? "negated_open" : "negated_closed");
  return html`<p class="note">${text}</p>`;
}

/** @param {number} index @returns {FieldSpec[]} */
function fieldsOf(index) {
  const at = { A: index };
  // One command sets the bits of all inputs; a form changes the one of its own.
  /** @param {keyof Api.DigitalInput} setting */
  const bit = (setting) => ({
    part: index,
    /** @param {Settings} settings */
    read: ({ digital_inputs: inputs }) => inputs.map((input) => input[setting]),
  });
  return [
    { command: "idname", at, label: "name" },
    { command: "inpdp", ...bit("pull_up"), label: "pull_up", hint: "pull_up_hint" },
    { command: "inpdnn", ...bit("negate_display"), label: "negate", hint: "negate_hint" },
    { command: "inpdb", ...bit("bistable"), label: "bistable", hint: "bistable_hint" },
    { command: "inpdbt", at, label: "bistable_time", unit: "s", none: NEVER },
  ];
}

/** @type {CommonOf} */
export const commonOf = (context, more) => [
  new Form(context, {
    title: "impulse_time",
    note: "impulse_note",
    fields: PAIRS.map((pair, part) => ({
      command: "imptimen",
      part,
      plainLabel: pair.map((label) => thingName(context, label)).join(" + "),
    })),
    ...more,
  }),
];
