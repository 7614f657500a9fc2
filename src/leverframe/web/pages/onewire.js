// 1-Wire: find the thermometers on the bus, give them to DS1-DS8, name and correct them.

import { html, nothing } from "../vendor/lit-html.js";
import { Action } from "../lib/action.js";
import { Form } from "../lib/form.js";
import { headingOf } from "../lib/names.js";
import { NO_ID } from "../lib/onewire_bus.js";
import { liveReading } from "../lib/reading.js";
import { t } from "../lib/words.js";
import { BusScan } from "./onewire/scan.js";

export class Page {
  #scan;
  #cards;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#scan = new BusScan(context);
    this.#cards = [
      ...context.settings.onewire.map((_, index) => sensorCard(context, index)),
      ...context.settings.onewire_extra.map((_, index) => extraCard(context, index)),
    ];
  }

  async open() {}

  view() {
    return html`<div class="cards">
      ${this.#scan.view()} ${this.#cards.map((card) => card.view())}
    </div>`;
  }

  close() {
    this.#scan.stop();
  }
}

/** @param {AdminContext} context @param {number} index */
function sensorCard(context, index) {
  const place = { A: index + 1 };
  const label = `DS${index + 1}`;
  const free = new Action(context, {
    label: "free",
    command: "dswrite=<A>:<B>",
    values: { ...place, B: NO_ID },
    danger: ["free_danger", { label }],
    done: "freed",
  });
  const isFree = () => context.settings.onewire[index].id === NO_ID;
  const detail = () => (isFree() ? t("no_sensor") : "");
  return new Form(context, {
    heading: () => headingOf(context.settings, label),
    lead: () => html`
      ${liveReading(context.live, label, { name: t("now"), detail: detail() })}
      ${isFree() ? nothing : free.view()}
    `,
    fields: fieldsOf(context, index),
  });
}

/** @param {AdminContext} _context @param {number} index @returns {FieldSpec[]} */
export function fieldsOf(_context, index) {
  const at = { A: index + 1 };
  const path = `onewire.${index}`;
  return [
    { command: "tname", at: { A: index }, label: "name", path: `${path}.name` },
    { command: "dswrite=<A>:<B>", at, label: "id", path: `${path}.id`, none: [NO_ID, ""] },
    { command: "dsOffset=<A>:<B>", at, label: "offset", unit: "°C", path: `${path}.offset` },
  ];
}

// Further thermometers, which the mapping of m1-m30 calls slots 4 to 6.
/** @param {AdminContext} context @param {number} sensor */
function extraCard(context, sensor) {
  return new Form(context, {
    title: ["extra", { number: sensor + 1 }],
    note: ["extra_note", { slot: context.settings.modbus_slots.length + 1 + sensor }],
    fields: context.settings.onewire_extra[sensor].names.map((_, number) => ({
      command: "onewirename<A><B>",
      at: { A: sensor, B: number },
      label: ["extra_name", { number }],
    })),
  });
}
