// PWM outputs: levers and duties at hand, and how each output behaves.

import { html } from "../vendor/lit-html.js";
import * as api from "../lib/api.js";
import { Duty } from "../lib/duty.js";
import { Form } from "../lib/form.js";
import { Lever } from "../lib/lever.js";
import { headingOf } from "../lib/names.js";

export class Page {
  #cards;

  /** @param {AdminContext} context */
  constructor(context) {
    const outputs = context.settings.pwm.map((_, index) => outputCard(context, index));
    this.#cards = [...outputs, frequencyCard(context)];
  }

  async open() {}

  view() {
    return html`<div class="cards">${this.#cards.map((card) => card.view())}</div>`;
  }

  close() {}
}

/** @param {AdminContext} context @param {number} index */
function outputCard(context, index) {
  const label = `PWM${index}`;
  const lever = new Lever(context, {
    label,
    name: () => "",
    act: (on) => api.switchPwm(index, on),
  });
  const duty = new Duty(context, label);
  return new Form(context, {
    heading: () => headingOf(context.settings, label),
    lead: () => html`${lever.view()} ${duty.view()}`,
    fields: fieldsOf(context, index),
  });
}

/** @param {AdminContext} context @param {number} index @returns {FieldSpec[]} */
export function fieldsOf(context, index) {
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

/** @param {AdminContext} context */
function frequencyCard(context) {
  const last = context.settings.pwm.length - 1;
  return new Form(context, {
    title: "frequency",
    note: "frequency_note",
    fields: [
      { command: "pwmf", at: { A: 0 }, plainLabel: "PWM0", unit: "Hz" },
      { command: "pwmf", at: { A: 1 }, plainLabel: `PWM1 – PWM${last}`, unit: "Hz" },
    ],
  });
}
