// The steps of the first run that find sensors and give names.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { code, t } from "../../lib/format/words.js";
import { problemOf } from "../../lib/forms/schema.js";
import * as api from "../../lib/live/api.js";
import { ShownMap } from "../../lib/live/drawing.js";
import { idsOnBus, NO_ID } from "../../lib/things/buses.js";
import { OutputNames } from "./outputs.js";
import { Step } from "./step.js";

// Third step: which sensors answer on the buses. Those that are new get the free places.

const NONE = "NONE";

export class FindStep extends Step {
  title = "find_title";
  // The IDs of the last scan; null before the first.
  /** @type {Signal<string[] | null>} */
  #found = signal(null);
  #isDone = signal(false);

  get button() {
    return this.#isDone.value ? "save_continue" : "scan";
  }

  view() {
    const { i2c } = this.context.settings;
    return html`<p class="note">${t("find_note")}</p>
      ${this.#found.value === null
        ? nothing
        : html`<ul class="found" role="list">
            ${this.#found.value.map(
              (id) =>
                html`<li>
                  <span>${t("bus_onewire")}</span><code>${id}</code>
                  <small>${t(this.#has(id) ? "has_place" : "is_new")}</small>
                </li>`,
            )}
            ${this.#isDone.value && i2c.primary !== NONE
              ? html`<li>
                  <span>${t("bus_i2c")}</span><code>${code(i2c.primary)}</code>
                  <small>${t("has_place")}</small>
                </li>`
              : nothing}
          </ul>`}
      <p role="status">${this.#outcomeText()}</p>
      ${this.#isDone.value
        ? html`<p>
            <button
              type="button"
              ?disabled=${this.task.isBusy}
              @click=${() => this.task.run(() => this.#scan())}
            >
              ${t("scan_again")}
            </button>
          </p>`
        : nothing}`;
  }

  #outcomeText() {
    if (this.#found.value === null) return "";
    if (!this.#isDone.value) return t("scanning", { count: this.#found.value.length });
    const count = this.#found.value.length + (this.context.settings.i2c.primary === NONE ? 0 : 1);
    const left = this.#new.length - this.#free.length;
    if (count === 0) return t("found_none");
    return left > 0 ? t("found_more", { count, left }) : t("found_all", { count });
  }

  get #places() {
    return this.context.settings.onewire;
  }

  /** @param {string} id */
  #has(id) {
    return this.#places.some((place) => place.id === id);
  }

  get #new() {
    return (this.#found.value ?? []).filter((id) => !this.#has(id));
  }

  // The numbers of the places without a sensor, from 1 as the command counts them.
  get #free() {
    return this.#places.flatMap((place, index) => (place.id === NO_ID ? [index + 1] : []));
  }

  /** @param {string} _note @param {() => Promise<unknown>} done */
  async send(_note, done) {
    if (!this.#isDone.value) {
      await this.#scan();
      return "stay";
    }
    const bind = this.context.commands.get("dswrite=<A>:<B>");
    const free = this.#free;
    const items = this.#new
      .slice(0, free.length)
      .map((id, index) => bind.query({ A: free[index], B: id }));
    if (items.length > 0) await api.send(`${bind.path}?${items.join("&")}`);
    return done();
  }

  async #scan() {
    const { commands } = this.context;
    this.#isDone.value = false;
    this.#found.value = [];
    if (commands.find("dswrite=0")) {
      for await (const found of idsOnBus(commands)) {
        this.#found.value = found;
      }
    }
    const detect = commands.find("bme280detect");
    if (detect) await api.send(detect.request({}).target);
    await this.context.readSettings();
    this.#isDone.value = true;
  }
}

// Fourth step: names for the sensors, with their live values: the one that is held gets warmer; and
// for the outputs, each of which can be tried.

/** @typedef {{ label: string, kind: string, id: string, command: string, at: ByLetter }} Sensor */
/** @typedef {{ time: number, value: number }} Sample */

// A change within this time counts as happening now.
const SPAN_S = 20;
const FELT = 0.4;

export class NamesStep extends Step {
  title = "names_title";
  /** @type {ShownMap<string, string>} */
  #typed = new ShownMap();
  /** @type {ShownMap<string, Sample[]>} */
  #samples = new ShownMap();
  #outputs = new OutputNames(this.context, this);

  // Those on the buses, in the order of their places.
  /** @returns {Sensor[]} */
  get #sensors() {
    const { onewire, i2c } = this.context.settings;
    const thermometers = onewire.flatMap(({ id }, index) =>
      id === NO_ID ? [] : [sensor(`DS${index + 1}`, "temperature", id, "tname", { A: index })],
    );
    const model = code(i2c.primary);
    const climate = [
      sensor("T1", "temperature", model, "tname", { A: 8 }),
      sensor("H1", "humidity", model, "tname", { A: 9 }),
      sensor("P1", "pressure", model, "p1name", {}),
    ];
    const { state } = this.context.live;
    return [...thermometers, ...climate.filter(({ label }) => state[label] != null)];
  }

  follow() {
    const { state } = this.context.live;
    for (const { label } of this.#sensors) {
      const value = state[label];
      if (typeof value !== "number") continue;
      const begin = state.time - SPAN_S;
      const recent = (this.#samples.get(label) ?? []).filter(({ time }) => time > begin);
      this.#samples.set(label, [...recent, { time: state.time, value }]);
    }
  }

  view() {
    return html`<h3>${t("sensors_part")}</h3>
      ${this.#sensorRows()}
      <h3>${t("outputs_part")}</h3>
      ${this.#outputs.view()}`;
  }

  #sensorRows() {
    const sensors = this.#sensors;
    if (sensors.length === 0) return html`<p class="empty">${t("no_sensors")}</p>`;
    return html`<p class="note">${t("names_note", { count: sensors.length })}</p>
      <ul class="sensors" role="list">
        ${sensors.map((one) => this.#row(one))}
      </ul>
      <p class="note">${t("names_later")}</p>`;
  }

  /** @param {Sensor} sensor */
  #row({ label, kind, id }) {
    const { text, unit, absent } = this.context.overview.formatValue(label);
    const trend = absent ? "silent" : this.#trend(label);
    const wrong = this.task.refusal(label);
    return html`<li ?data-felt=${trend === "rising" || trend === "falling"} data-label=${label}>
      <span class="value">${text}<i>${absent ? "" : unit}</i></span>
      <span class="id">${t(`kind_${kind}`)}<small>${id} · ${t(`trend_${trend}`)}</small></span>
      <div class="naming" ?data-wrong=${wrong}>
        <input
          aria-label=${t("name_of", { id })}
          autocomplete="off"
          placeholder=${t(`such_as_${kind}`)}
          .value=${this.#name(label)}
          @input=${(event) => {
            this.#typed.set(label, event.target.value);
            this.typing(label);
          }}
        />
        ${wrong ? html`<p class="wrong" role="alert">${wrong}</p>` : nothing}
      </div>
    </li>`;
  }

  /** @param {string} label */
  #trend(label) {
    const samples = this.#samples.get(label) ?? [];
    const change = (samples.at(-1)?.value ?? 0) - (samples[0]?.value ?? 0);
    if (Math.abs(change) < FELT) return "steady";
    return change > 0 ? "rising" : "falling";
  }

  /** @param {string} label */
  #name(label) {
    return this.#typed.get(label) ?? this.context.overview.name(label);
  }

  get #changed() {
    const { overview } = this.context;
    return this.#sensors.filter(({ label }) => this.#name(label) !== overview.name(label));
  }

  check() {
    const { commands } = this.context;
    const problems = this.#changed.map(({ label, command, at }) => {
      const one = commands.get(command);
      return [label, problemOf(one.schema(one.lastLetter, at), this.#name(label)) ?? ""];
    });
    return this.task.sayAll(Object.fromEntries([...problems, ...this.#outputs.problems]));
  }

  /** @param {string} _note @param {() => Promise<unknown>} done */
  async send(_note, done) {
    const { commands } = this.context;
    const names = this.#changed.map(({ label, command, at }) => {
      const one = commands.get(command);
      return { path: one.path, item: one.query({ ...at, [one.lastLetter]: this.#name(label) }) };
    });
    const items = [...names, ...this.#outputs.items];
    for (const [path, group] of Map.groupBy(items, (one) => one.path)) {
      await api.send(`${path}?${group.map(({ item }) => item).join("&")}`);
    }
    return done();
  }
}

/**
 * @param {string} label
 * @param {string} kind
 * @param {string} id
 * @param {string} command
 * @param {ByLetter} at
 */
const sensor = (label, kind, id, command, at) => ({ label, kind, id, command, at });
