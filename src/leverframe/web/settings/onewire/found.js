// The sensors on the 1-Wire bus with their live values, beside the positions that they can have. A
// sensor that is held in the hand gets warmer: so it is recognised before it is assigned.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { decimal, t } from "../../lib/format/words.js";
import { Task } from "../../lib/forms/task.js";
import { useStyle } from "../../lib/frame/look.js";
import * as api from "../../lib/live/api.js";
import { ShownMap } from "../../lib/live/drawing.js";
import { NO_ID } from "../../lib/things/buses.js";
import { currentValueText, thingAddress, thingName } from "../../lib/things/things.js";

const PERIOD_MS = 2000;

/** @typedef {{ label: string, id: string }} Position */

export class FoundSensors {
  #context;
  // What is on the bus; null before it was read.
  /** @type {Signal<Api.OneWireReport[] | null>} */
  #found = signal(null);
  #isOpen = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #task = new Task();
  // By ID: the position that is chosen and not yet assigned.
  /** @type {ShownMap<string, string>} */
  #chosen = new ShownMap();

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
  }

  async open() {
    this.#isOpen = true;
    await useStyle("sensors");
    await this.#follow();
  }

  close() {
    this.#isOpen = false;
    clearTimeout(this.#timer);
  }

  // Reads the bus as long as the drawer is open. While the connection is lost, the banner says so.
  async #follow() {
    try {
      this.#found.value = await api.onewireSensors();
    } catch (error) {
      if (!api.mayPass(error)) throw error;
    }
    if (this.#isOpen) this.#timer = setTimeout(() => this.#follow(), PERIOD_MS);
  }

  view() {
    return html`<div>
      <h2>${t("scan_title")}</h2>
      <p class="note">${t("scan_note")}</p>
      <div class="side-by-side">
        <div>
          <h3 id="found-sensors">${t("found_sensors")}</h3>
          ${this.#foundView()}
        </div>
        <div>
          <h3 id="sensor-positions">${t("positions")}</h3>
          <ul class="positions" aria-labelledby="sensor-positions">
            ${this.#positions.map((position) => this.#positionView(position))}
          </ul>
        </div>
      </div>
      ${this.#task.view()}
    </div>`;
  }

  #foundView() {
    if (this.#found.value === null) return nothing;
    if (this.#found.value.length === 0) return html`<p class="empty">${t("nothing_found")}</p>`;
    return html`<ul class="found" aria-labelledby="found-sensors">
      ${this.#found.value.map((sensor) => this.#sensorView(sensor))}
    </ul>`;
  }

  /** @param {Api.OneWireReport} sensor */
  #sensorView({ id, celsius }) {
    const owner = this.#positions.find((position) => position.id === id);
    return html`<li>
      <b>${celsius === null ? "—" : `${decimal(celsius, 1)} °C`}</b>
      <code>${id}</code>
      ${owner
        ? html`<span>${t("assigned", { label: this.#nameOf(owner.label) })}</span>`
        : this.#assignment(id)}
    </li>`;
  }

  /** @param {string} id */
  #assignment(id) {
    const chosen = this.#choiceFor(id);
    return html`<span class="assign">
      <select
        aria-label=${t("position_of", { id })}
        @change=${(event) => this.#chosen.set(id, event.target.value)}
      >
        ${this.#positions.map(
          ({ label, id: taken }) =>
            html`<option value=${label} .selected=${label === chosen}>
              ${taken === NO_ID ? this.#nameOf(label) : t("taken", { label: this.#nameOf(label) })}
            </option>`,
        )}
      </select>
      <button type="button" @click=${() => this.#task.run(() => this.#assign(id))}>
        ${t("assign")}
      </button>
    </span>`;
  }

  /** @param {Position} position */
  #positionView({ label, id }) {
    const isFree = id === NO_ID;
    const value = isFree ? t("position_free") : currentValueText(this.#context, label) || "—";
    return html`<li ?data-free=${isFree}>
      <a href=${thingAddress(label)}>${this.#nameOf(label)}</a>
      <span>${value}</span>
    </li>`;
  }

  /** @param {string} label */
  #nameOf(label) {
    return thingName(this.#context, label);
  }

  /** @returns {Position[]} */
  get #positions() {
    return this.#context.settings.onewire.map(({ id }, index) => ({ label: `DS${index + 1}`, id }));
  }

  // The free positions go to the sensors without one in turn, unless others were chosen.
  /** @param {string} id */
  #choiceFor(id) {
    const positions = this.#positions;
    const free = positions.filter((position) => position.id === NO_ID);
    const assigned = new Set(positions.map((position) => position.id));
    const waiting = (this.#found.value ?? []).filter((sensor) => !assigned.has(sensor.id));
    const offered = free[waiting.findIndex((sensor) => sensor.id === id)] ?? positions[0];
    return this.#chosen.get(id) ?? offered.label;
  }

  /** @param {string} id */
  async #assign(id) {
    const position = Number(this.#choiceFor(id).slice(2));
    const bind = this.#context.commands.get("dswrite=<A>:<B>");
    await api.send(bind.request({ A: position, B: id }).target);
    this.#chosen.delete(id);
    await this.#context.readSettings();
  }
}
