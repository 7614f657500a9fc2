// Modbus devices of one's own: how each speaks, and the table of its readings.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { t } from "../lib/format/words.js";
import { Form } from "../lib/forms/form.js";
import { address, note } from "../lib/frame/router.js";
import { slotsOf } from "../lib/things/buses.js";
import { ReadingsTable } from "./modbus_devices/table.js";

const COMMAND = "mod_custom_set<A>";

export class Page {
  #context;
  // { line, table } of every device: what is typed in one stays while another is looked at.
  #devices;
  #shown = signal(0);

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#devices = context.settings.modbus_devices.map((_, index) => ({
      line: lineCard(context, index),
      table: new ReadingsTable(context, index),
    }));
  }

  /** @param {URLSearchParams} params */
  async open(params) {
    const wanted = Number(params.get("device")) - 1;
    if (this.#devices[wanted]) this.#shown.value = wanted;
  }

  view() {
    const { line, table } = this.#devices[this.#shown.value];
    return html`<div class="group devices" role="group" aria-label=${t("devices")}>
        ${this.#devices.map((_, index) => this.#chooser(index))}
      </div>
      <div class="cards">${line.view()} ${this.#slots()}</div>
      <div class="cards wide">${table.view()}</div>`;
  }

  /** @param {number} index */
  #chooser(index) {
    const { name } = this.#context.settings.modbus_devices[index];
    const { line, table } = this.#devices[index];
    const isChanged = line.isChanged || table.isChanged;
    return html`<button
      type="button"
      aria-pressed=${index === this.#shown.value}
      @click=${() => this.#show(index)}
    >
      ${title(index, name)}${isChanged ? ` · ${t("changed")}` : nothing}
    </button>`;
  }

  /** @param {number} index */
  #show(index) {
    this.#shown.value = index;
    note("modbus_devices", { device: index + 1 });
  }

  #slots() {
    const slots = slotsOf(this.#context.settings, this.#shown.value);
    return html`<section class="card">
      <h2>${t("in_use")}</h2>
      <p>${slots.length ? t("in_slots", { slots: slots.join(", ") }) : t("in_no_slot")}</p>
      <p class="note"><a href=${address("modbus")}>${t("to_modbus")}</a></p>
    </section>`;
  }
}

/** @param {number} index @param {string} name */
const title = (index, name) =>
  name ? `${index + 1} · ${name}` : t("unnamed", { number: index + 1 });

/** @param {AdminContext} context @param {number} index */
function lineCard(context, index) {
  const at = { A: index };
  return new Form(context, {
    heading: () => title(index, context.settings.modbus_devices[index].name),
    fields: [
      { command: COMMAND, at, letter: "B", label: "name" },
      { command: COMMAND, at, letter: "C", label: "bitrate" },
      { command: COMMAND, at, letter: "D", label: "parity" },
      { command: COMMAND, at, letter: "E", label: "stop_bits" },
      { command: COMMAND, at, letter: "F", label: "delay", unit: "s", hint: "delay_hint" },
    ],
  });
}
