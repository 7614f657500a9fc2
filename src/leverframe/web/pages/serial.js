// The serial port: which module is connected to it, and what that module says now.

import { html, nothing } from "../vendor/lit-html.js";
import { Action } from "../lib/action.js";
import { Form } from "../lib/form.js";
import { liveReading, reading } from "../lib/reading.js";
import { address } from "../lib/router.js";
import { serverText, t } from "../lib/words.js";

// What the modules measure; others answer in their own ways, or say nothing.
/** @type {Record<string, string[]>} */
const READINGS = {
  "PM sensor SDS011": ["PM2.5", "PM10.0"],
  "PM sensor SPS30": ["PM1.0", "PM2.5", "PM4.0", "PM10.0"],
  "CO2 sensor MH-Z16/19": ["CO2"],
  "ultrasonic distance sensor": ["DISTANCE"],
};
/** @type {Record<string, string>} */
const UNITS = { DISTANCE: "mm" };
const GSM_MODEM = "GSM modem SIM800L";
const SCANNER = "bar/QR code scanner";

export class Page {
  #context;
  #cards;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    const lighting = new Action(context, {
      label: "connect_lighting",
      command: "lightmod",
      done: "lighting_done",
    });
    this.#cards = [
      new Form(context, {
        title: "module",
        note: "module_note",
        fields: [{ command: "usart_sensor", label: "connected", path: "serial.module" }],
        lead: () => (context.settings.serial.lighting ? nothing : lighting.view()),
      }),
      new Form(context, {
        title: "meter",
        note: "meter_note",
        fields: [{ command: "sdm120bitrate=<A>", label: "bitrate", unit: "bit/s" }],
      }),
    ];
  }

  async open() {}

  view() {
    const { live } = this.#context;
    const trouble = live.state.troubles?.["serial module"];
    return html`<div class="cards">
      <section class="card">
        <h2>${t("says_now")}</h2>
        ${trouble ? html`<p class="attention">${serverText(trouble)}</p>` : nothing} ${this.#said()}
      </section>
      ${this.#cards.map((card) => card.view())}
    </div>`;
  }

  close() {}

  #said() {
    const { live, settings } = this.#context;
    const { module, lighting } = settings.serial;
    if (module === "OFF") return html`<p class="empty">${t("nothing_connected")}</p>`;
    if (lighting) return html`<p class="empty">${t("lighting_connected")}</p>`;
    if (module === GSM_MODEM) return html`<a href=${address("gsm")}>${t("to_gsm")}</a>`;
    if (module === SCANNER) {
      const { barcode } = live.state;
      return reading({ name: t("last_code"), value: barcode ?? "–" });
    }
    if (!READINGS[module]) return html`<p class="empty">${t("says_nothing")}</p>`;
    return READINGS[module].map((label) => liveReading(live, label, { unit: UNITS[label] }));
  }
}
