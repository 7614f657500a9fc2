// Power and energy: where each meter gets its current and voltage, or pulses, and its counter.

import { html } from "../vendor/lit-html.js";
import { Action } from "../lib/action.js";
import { Form } from "../lib/form.js";
import { headingOf } from "../lib/names.js";
import { liveReading } from "../lib/reading.js";
import { t } from "../lib/words.js";

export class Page {
  #cards;

  /** @param {AdminContext} context */
  constructor(context) {
    const meters = context.settings.power;
    this.#cards = [...meters.map((_, index) => meterCard(context, index)), countersCard(context)];
  }

  async open() {}

  view() {
    return html`<div class="cards">${this.#cards.map((card) => card.view())}</div>`;
  }

  close() {}
}

/** @param {AdminContext} context */
function countersCard(context) {
  return new Form(context, {
    title: "all_counters",
    fields: [{ command: "powsave", label: "remember", hint: "remember_hint" }],
  });
}

/** @param {AdminContext} context @param {number} index */
function meterCard(context, index) {
  const reset = new Action(context, {
    label: "reset",
    command: "powset",
    values: { A: index, B: 0 },
    danger: "reset_danger",
    done: "reset_done",
  });
  return new Form(context, {
    heading: () => headingOf(context.settings, `POWER${index + 1}`),
    lead: () => readings(context, index),
    tail: () => reset.view(),
    fields: fieldsOf(context, index),
  });
}

/** @param {AdminContext} context @param {number} index @returns {FieldSpec[]} */
export function fieldsOf(context, index) {
  const at = { A: index };
  const setting = `power.${index}`;
  // Voltages are chosen by the same command; their numbers follow those of the currents.
  const voltage = { A: index + context.settings.power.length };
  return [
    { command: "pown", at, label: "name" },
    { command: "powsel", at, label: "current", path: `${setting}.current` },
    {
      command: "powsel",
      at: voltage,
      label: "voltage",
      hint: "voltage_hint",
      path: `${setting}.voltage`,
    },
    { command: "peunit", at, label: "unit" },
    { command: "powim", at, label: "pulses", hint: "pulses_hint" },
    {
      command: "powset",
      at,
      label: "counter",
      hint: "counter_hint",
      read: () => counted(context, index),
    },
  ];
}

/** @param {AdminContext} context @param {number} index */
const counted = ({ live }, index) =>
  Number((live.state[`ENERGY${index + 1}`] ?? 0).toFixed(3));

/** @param {AdminContext} context @param {number} index */
function readings({ live, settings }, index) {
  const [power, energy] = unitsOf(settings.power[index].unit);
  return html`
    ${liveReading(live, `POWER${index + 1}`, { name: t("power_now"), unit: power })}
    ${liveReading(live, `ENERGY${index + 1}`, { name: t("energy_so_far"), unit: energy })}
  `;
}

// "kW->W/kWh": what a module gives, what is shown, what is counted.
/** @param {string} unit */
const unitsOf = (unit) => /^(?:.*->)?(.+)\/([^/]+)$/.exec(unit)?.slice(1) ?? [];
