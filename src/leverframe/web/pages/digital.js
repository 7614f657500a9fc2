// Digital inputs: what they are called, how they rest, and what a press does.

import { html } from "../vendor/lit-html.js";
import { NEVER } from "../lib/bound_field.js";
import { Form } from "../lib/form.js";
import { headingOf } from "../lib/names.js";
import { reading } from "../lib/reading.js";
import { t } from "../lib/words.js";

// Which inputs share an impulse time.
const PAIRS = ["INPD1 + INPD2", "INPD3 + INPD4"];

export class Page {
  #cards;

  /** @param {AdminContext} context */
  constructor(context) {
    const inputs = context.settings.digital_inputs;
    this.#cards = [...inputs.map((_, index) => inputCard(context, index)), pairsCard(context)];
  }

  async open() {}

  view() {
    return html`<div class="cards">${this.#cards.map((card) => card.view())}</div>`;
  }

  close() {}
}

/** @param {AdminContext} context @param {number} index */
function inputCard(context, index) {
  const label = `INPD${index + 1}`;
  return new Form(context, {
    heading: () => headingOf(context.settings, label),
    lead: () => level(context, label, index),
    fields: fieldsOf(context, index),
  });
}

/** @param {AdminContext} _context @param {number} index @returns {FieldSpec[]} */
export function fieldsOf(_context, index) {
  const at = { A: index };
  // One command sets the bits of all inputs; a card changes the one of its own.
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

/** @param {AdminContext} context @param {string} label @param {number} index */
function level({ live, settings }, label, index) {
  const high = live.state[label] === 1;
  const { negate_display: negated } = settings.digital_inputs[index];
  return reading({
    name: t("now"),
    value: high !== negated ? t("level_open") : t("level_closed"),
    detail: negated ? t(high ? "negated_open" : "negated_closed") : "",
  });
}

/** @param {AdminContext} context */
function pairsCard(context) {
  return new Form(context, {
    title: "impulse_time",
    note: "impulse_note",
    fields: PAIRS.map((plainLabel, part) => ({ command: "imptimen", part, plainLabel })),
  });
}
