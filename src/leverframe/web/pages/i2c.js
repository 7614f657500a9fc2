// I2C: which sensors are connected, how fast the bus is, and what they measure now.

import { html, nothing } from "../vendor/lit-html.js";
import { Form } from "../lib/form.js";
import { headingOf } from "../lib/names.js";
import { liveReading } from "../lib/reading.js";
import { address } from "../lib/router.js";
import { choices } from "../lib/schema.js";
import { sensorDetection } from "../lib/sensor_detection.js";
import { t } from "../lib/words.js";

// Behind the primary sensor where the particulate sensor is connected, too.
const WITH_SPS30 = " + SPS30";
const CLIMATE = ["T1", "H1", "P1", "DEWPOINT"];
const PARTICULATES = ["PM1.0", "PM2.5", "PM4.0", "PM10.0"];

export class Page {
  #context;
  #cards;
  #detect;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#detect = sensorDetection(context);
    this.#cards = [this.#sensorsCard(), frequencyCard(context)];
  }

  async open() {}

  view() {
    return html`<div class="cards">
      ${this.#readings()} ${this.#cards.map((card) => card.view())}
    </div>`;
  }

  close() {}

  #readings() {
    const { live, settings } = this.#context;
    const labels = [
      ...(settings.i2c.primary === "NONE" ? [] : CLIMATE),
      ...(settings.i2c.sps30 ? PARTICULATES : []),
    ];
    return html`<section class="card">
      <h2>${t("readings")}</h2>
      ${labels.length ? nothing : html`<p class="empty">${t("no_sensors")}</p>`}
      ${labels.map((label) => liveReading(live, label, { name: headingOf(settings, label) }))}
      <p class="note"><a href=${address("weather")}>${t("to_names")}</a></p>
    </section>`;
  }

  #sensorsCard() {
    return new Form(this.#context, {
      title: "sensors",
      lead: () => html`<p class="note">${t("detect_note")}</p>
        ${this.#detect.view()}`,
      fields: [
        {
          command: "i2csensors",
          label: "primary",
          read: ({ i2c }) => i2c.primary + (i2c.sps30 ? WITH_SPS30 : ""),
          draw: sensorChoice,
        },
      ],
    });
  }
}

/** @param {AdminContext} context */
function frequencyCard(context) {
  return new Form(context, {
    title: "bus",
    note: "bus_note",
    fields: [{ command: "i2csfreq", label: "frequency", unit: "kHz" }],
  });
}

// One code says both which sensor is the primary one and whether there is an SPS30.
/** @param {DrawnField} field @param {Drawn} drawn */
function sensorChoice(field, { schema, change }) {
  const primary = String(field.typed).replace(WITH_SPS30, "");
  const hasSps30 = String(field.typed).endsWith(WITH_SPS30);
  const offered = choices(schema).filter(([word]) => !word.endsWith(WITH_SPS30));
  /** @param {string} sensor @param {boolean} sps30 */
  const chosen = (sensor, sps30) => change(sensor + (sps30 ? WITH_SPS30 : ""));
  return html`<select
      id=${field.id}
      aria-describedby="${field.id}-hint"
      @change=${(event) => chosen(event.target.value, hasSps30)}
    >
      ${offered.map(
        ([word, shown]) =>
          html`<option value=${word} .selected=${word === primary}>${shown}</option>`,
      )}
    </select>
    <label class="toggle">
      <input
        id="${field.id}-sps30"
        type="checkbox"
        role="switch"
        .checked=${hasSps30}
        @change=${(event) => chosen(primary, event.target.checked)}
      />
      <span>${t("sps30")}</span>
    </label>`;
}
