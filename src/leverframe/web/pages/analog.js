// Analog inputs: what is connected to each, and how its voltage becomes the value that is shown.

import { html } from "../vendor/lit-html.js";
import * as api from "../lib/api.js";
import { Form } from "../lib/form.js";
import { headingOf } from "../lib/names.js";
import { liveReading } from "../lib/reading.js";
import { decimal, t } from "../lib/words.js";

const READ_AGAIN_MS = 1000;

export class Page {
  #context;
  #cards;
  #stop;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  // Millivolts at the pins, and what the values are measured in, by label.
  /** @type {Record<string, number>} */
  #raw = {};
  /** @type {Labels} */
  #labels = {};

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#cards = context.settings.analog_inputs.map((_, index) => this.#card(index));
    const stops = [
      context.live.listen(() => this.#follow()),
      context.live.listenToSettings(() => this.#follow()),
    ];
    this.#stop = () => stops.forEach((stop) => stop());
  }

  async open() {
    await this.#read();
  }

  close() {
    this.#stop();
    clearTimeout(this.#timer);
  }

  view() {
    const { live } = this.#context;
    return html`<div class="cards">
      ${this.#cards.map((card) => card.view())}
      <section class="card">
        <h2>${t("supply")}</h2>
        <p class="note">${t("supply_note")}</p>
        ${liveReading(live, "VCC")} ${liveReading(live, "TEMP")}
      </section>
    </div>`;
  }

  /** @param {number} index */
  #card(index) {
    const context = this.#context;
    const label = `INPA${index + 1}`;
    return new Form(context, {
      heading: () => headingOf(context.settings, label),
      lead: () =>
        liveReading(context.live, label, {
          name: t("now"),
          unit: this.#labels[label]?.unit,
          detail: this.#atThePin(label),
        }),
      fields: fieldsOf(context, index),
    });
  }

  /** @param {string} label */
  #atThePin(label) {
    if (!(label in this.#raw)) return "";
    return t("at_the_pin", { volts: decimal(this.#raw[label] / 1000, 3) });
  }

  // The voltages at the pins are no part of the stream: they are read again while something moves.
  #follow() {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#read();
    }, READ_AGAIN_MS);
  }

  async #read() {
    try {
      const [file, labels] = await Promise.all([api.rawReadings(), api.labels()]);
      this.#labels = labels;
      for (const number of [1, 2, 3, 4, 5, 6]) {
        this.#raw[`INPA${number}`] = Number(file.querySelector(`inp${number}`)?.textContent);
      }
    } catch {
      this.#raw = {};
    }
    this.#context.redraw();
  }
}

/** @param {AdminContext} context @param {number} index @returns {FieldSpec[]} */
export function fieldsOf(context, index) {
  const at = { A: index };
  return [
    { command: "iname", at, label: "name" },
    { command: "sensor", at, label: "sensor" },
    ...amplified(context, index),
    { command: "multiplier", at, label: "multiplier" },
    { command: "calibration", at, label: "calibration", unit: "mV" },
  ];
}

// Only some inputs have an amplifier.
/** @param {AdminContext} context @param {number} index */
function amplified(context, index) {
  const last = context.commands.find("igain")?.schema("A").maximum ?? -1;
  const path = `analog_inputs.${index}.gain`;
  return index <= last
    ? [{ command: "igain", at: { A: index }, label: "gain", hint: "gain_hint", path }]
    : [];
}
