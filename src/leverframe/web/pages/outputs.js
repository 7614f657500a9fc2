// Outputs: names, timing and what happens at the start; the flags that concern all of them.

import { html } from "../vendor/lit-html.js";
import { NEVER } from "../lib/bound_field.js";
import { Form } from "../lib/form.js";

export class Page {
  #cards;

  /** @param {AdminContext} context */
  constructor(context) {
    const { outputs } = context.settings;
    // The lock comes last: what can switch an output is refused once it is set.
    this.#cards = [...outputs.map((_, index) => outputCard(context, index)), flagsCard(context)];
  }

  async open() {}

  view() {
    return html`<div class="cards">${this.#cards.map((card) => card.view())}</div>`;
  }

  close() {}
}

/** @param {string} label @param {string} name */
const withName = (label, name) => (name ? `${label} · ${name}` : label);

/** @param {AdminContext} context */
function flagsCard(context) {
  return new Form(context, {
    title: "all_outputs",
    fields: [
      { command: "outnn", label: "invert_display", hint: "invert_hint" },
      { command: "outblock", label: "lock", hint: "lock_hint" },
    ],
  });
}

/** @param {AdminContext} context @param {number} index */
function outputCard(context, index) {
  return new Form(context, {
    heading: () => withName(`OUT${index}`, context.settings.outputs[index].name),
    fields: fieldsOf(context, index),
  });
}

/** @param {AdminContext} context @param {number} index @returns {FieldSpec[]} */
export function fieldsOf(context, index) {
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
