// Weather: temperature, humidity and pressure with their names, the altitude, the dew point.

import { html } from "../vendor/lit-html.js";
import { Form } from "../lib/form.js";
import { headingOf } from "../lib/names.js";
import { liveReading } from "../lib/reading.js";
import { address } from "../lib/router.js";
import { sensorDetection } from "../lib/sensor_detection.js";
import { code, t } from "../lib/words.js";

// The command that names them counts on after the eight 1-Wire thermometers.
const T1 = 8;
const H1 = 9;

/** @param {string} command @param {ByLetter} at @param {string} path */
const nameField = (command, at, path) => ({ command, at, label: "name", path });

// By label.
/** @type {Record<string, FieldSpec[]>} */
export const FIELDS = {
  T1: [nameField("tname", { A: T1 }, "weather.t1_name")],
  H1: [nameField("tname", { A: H1 }, "weather.h1_name")],
  P1: [
    nameField("p1name", {}, "weather.p1_name"),
    { command: "pmeter", label: "altitude", unit: "m", hint: "altitude_hint" },
  ],
};

export class Page {
  #context;
  #cards;
  #detect;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#detect = sensorDetection(context);
    this.#cards = Object.entries(FIELDS).map(([label, fields]) => card(context, label, fields));
  }

  async open() {}

  view() {
    const { live, settings } = this.#context;
    return html`<div class="cards">
      ${this.#cards.map((one) => one.view())}
      <section class="card">
        <h2>${t("sensor")}</h2>
        <p class="note">${t("sensor_now", { sensor: code(settings.i2c.primary) })}</p>
        ${liveReading(live, "DEWPOINT", { name: t("dew_point") })} ${this.#detect.view()}
        <p class="note"><a href=${address("i2c")}>${t("to_i2c")}</a></p>
      </section>
    </div>`;
  }

  close() {}
}

/** @param {AdminContext} context @param {string} label @param {FieldSpec[]} fields */
function card(context, label, fields) {
  return new Form(context, {
    heading: () => headingOf(context.settings, label),
    lead: () => liveReading(context.live, label, { name: t("now") }),
    fields,
  });
}
