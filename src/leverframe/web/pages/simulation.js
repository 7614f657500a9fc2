// The simulated board: turn what it senses, plug and unplug, let things happen, move the time.

import { html, nothing } from "../vendor/lit-html.js";
import { t } from "../lib/format/words.js";
import { copyable, optionsOf } from "../lib/forms/controls.js";
import * as api from "../lib/live/api.js";
import { thingName } from "../lib/things/things.js";
import { Bench } from "./simulation/bench.js";
import { faultsCard, plantsCard } from "./simulation/kind_form.js";
import { Knob, Pin } from "./simulation/knob.js";
import { Ask, Passing, Snapshots } from "./simulation/time.js";

// Which readings stand together; those that no card names stand with the Modbus readings.
const CARDS = [
  { title: "analog_title", note: "analog_note", has: /^(VCC|TEMP|INPA\d)$/ },
  { title: "places_title", note: "places_note", has: /^DS\d$/ },
  { title: "i2c_title", has: /^(T1|H1|P1)$/, lead: "i2c" },
  { title: "serial_title", note: "serial_note", has: /^(CO2|PM.*|DISTANCE)$/, lead: "scan" },
  { title: "lighting_title", note: "lighting_note", has: /^d\d$/, across: true },
  { title: "modbus_title", note: "modbus_note", has: /./, across: true },
];

const ACROSS = CARDS.filter(({ across }) => across);
const NARROW = CARDS.filter(({ across }) => !across);

export class Page {
  #context;
  #bench;
  /** @type {Map<string, Knob>} */
  #knobs = new Map();
  /** @type {Map<string, Pin>} */
  #pins = new Map();
  #time;
  #plants;
  #faults;
  #snapshots;
  #asks;
  #stop = () => {};

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#bench = new Bench();
    this.#time = new Passing(this.#bench);
    this.#plants = plantsCard(context, this.#bench);
    this.#faults = faultsCard(context, this.#bench);
    this.#snapshots = new Snapshots(this.#bench);
    this.#asks = asksOf(context, this.#bench);
  }

  async open() {
    await Promise.all([this.#bench.read(), this.#snapshots.read()]);
    // Whatever changes anywhere may have come from the board, or changed it through a plant.
    this.#stop = this.#context.live.listen(() => this.#bench.read().catch(() => {}));
  }

  close() {
    this.#stop();
  }

  view() {
    if (!this.#bench.isRead) return nothing;
    return html`<p class="note">${t("intro")}</p>
      <div class="cards">
        ${this.#request()} ${this.#time.view()} ${this.#snapshots.view()} ${this.#digital()}
        ${this.#onewire()} ${this.#readings(NARROW)} ${this.#sms()} ${this.#hosts()}
        ${this.#plants.view()} ${this.#faults.view()} ${this.#readings(ACROSS)}
      </div>`;
  }

  #digital() {
    return html`<section class="card">
      <h2>${t("page_digital")}</h2>
      <p class="note">${t("digital_note")}</p>
      ${Object.keys(this.#bench.report.levels).map((label) => this.#pin(label).view())}
    </section>`;
  }

  /** @param {string} label */
  #pin(label) {
    return getOrMake(
      this.#pins,
      label,
      () => new Pin(this.#context, this.#bench, label, () => thingName(this.#context, label)),
    );
  }

  // Every reading stands in the first card that has it.
  /** @param {typeof CARDS} cards */
  #readings(cards) {
    const labels = Object.keys(this.#bench.report.readings);
    return cards.map((card) =>
      this.#card(
        card,
        labels.filter((label) => CARDS.find(({ has }) => has.test(label)) === card),
      ),
    );
  }

  /** @param {typeof CARDS[number]} card @param {string[]} labels */
  #card({ title, note, lead, across }, labels) {
    return html`<section class="card ${across ? "across" : ""}">
      <h2>${t(title)}</h2>
      ${note ? html`<p class="note">${t(note)}</p>` : nothing}
      ${lead === "i2c" ? this.#i2c() : nothing}
      <div class="turns">${labels.map((label) => this.#knob(label).view())}</div>
      ${lead === "scan" ? this.#scan() : nothing}
    </section>`;
  }

  /** @param {string} label */
  #knob(label) {
    return getOrMake(
      this.#knobs,
      label,
      () =>
        new Knob(this.#context, this.#bench, label, {
          read: (report) => report.readings[label],
          called: () => thingName(this.#context, label),
        }),
    );
  }

  #i2c() {
    const { found, sensors } = this.#bench.report.i2c;
    return html`<div class="field">
      <label for="i2c-found">${t("i2c_answers")}</label>
      <select
        id="i2c-found"
        @change=${(event) => this.#bench.sendQuietly(["i2c", event.target.value])}
      >
        ${optionsOf([["none", t("none")], ...sensors.map((name) => [name, name])], found ?? "none")}
      </select>
    </div>`;
  }

  #scan() {
    const { scanned } = this.#bench.report.barcode;
    return html`${this.#asks.scan.view()}
    ${scanned === null ? nothing : html`<p class="note">${t("scanned", { code: scanned })}</p>`}`;
  }

  #onewire() {
    const ids = Object.keys(this.#bench.report.onewire);
    return html`<section class="card">
      <h2>${t("page_onewire")}</h2>
      <p class="note">${t("onewire_note")}</p>
      ${ids.length ? nothing : html`<p class="empty">${t("empty_bus")}</p>`}
      ${ids.map((id) => this.#sensor(id).view())} ${this.#asks.attach.view()}
      ${ids.length
        ? html`<button type="button" @click=${() => this.#bench.sendQuietly(["onewire", "none"])}>
            ${t("clear_bus")}
          </button>`
        : nothing}
    </section>`;
  }

  /** @param {string} id */
  #sensor(id) {
    return getOrMake(
      this.#knobs,
      id,
      () =>
        new Knob(this.#context, this.#bench, id, {
          // It measures what any 1-Wire thermometer can.
          read: ({ onewire, readings }) => ({ ...readings.DS1, value: onewire[id] ?? null }),
        }),
    );
  }

  #sms() {
    const { received } = this.#bench.report.sms;
    return html`<section class="card">
      <h2>${t("sms_title")}</h2>
      <p class="note">${t("sms_note")}</p>
      ${this.#asks.sms.view()}
      <ul class="log">
        ${received.toReversed().map(
          ({ sender, text, answer }) =>
            html`<li>
              <span>${sender}</span><span>${text}</span>
              <small>${answer === null ? t("sms_unanswered") : answer}</small>
            </li>`,
        )}
      </ul>
    </section>`;
  }

  #hosts() {
    const { hosts, virtual_time: isVirtual } = this.#bench.report;
    return html`<section class="card">
      <h2>${t("hosts_title")}</h2>
      <p class="note">${t(isVirtual ? "hosts_note" : "hosts_real")}</p>
      ${Object.entries(hosts).map(
        ([host, milliseconds]) =>
          html`<div class="pin">
            <span class="name">${t("answers_after", { host, milliseconds })}</span>
            <button type="button" @click=${() => this.#bench.sendQuietly(["ping", `${host}:none`])}>
              ${t("fall_silent")}
            </button>
          </div>`,
      )}
      ${isVirtual ? this.#asks.host.view() : nothing}
    </section>`;
  }

  #request() {
    const { lastRequest } = this.#bench;
    return html`<section class="card request" aria-live="polite">
      <h2>${t("last_request")}</h2>
      ${lastRequest
        ? copyable(api.curl(lastRequest))
        : html`<p class="empty">${t("nothing_sent")}</p>`}
    </section>`;
  }
}

/**
 * @template T
 * @param {Map<string, T>} map
 * @param {string} key
 * @param {() => T} make
 * @returns {T}
 */
function getOrMake(map, key, make) {
  const one = map.get(key) ?? make();
  map.set(key, one);
  return one;
}

/** @param {AdminContext} context @param {Bench} bench */
function asksOf(context, bench) {
  const watched = context.settings.watchdog.find(({ host }) => host)?.host ?? "";
  return {
    attach: new Ask(bench, {
      button: "plug_in",
      fields: [{ name: "id", label: "onewire_id", initial: "28:FF:64:1E:8C:16:03:5A" }],
      items: ({ id }) => [["onewire", id.trim().toUpperCase()]],
    }),
    scan: new Ask(bench, {
      button: "scan",
      fields: [{ name: "code", label: "scan_code", most: () => bench.report.barcode.max_letters }],
      items: ({ code }) => [["barcode", code]],
      isEmptiedAfter: true,
    }),
    sms: new Ask(bench, {
      button: "receive",
      fields: [
        { name: "sender", label: "sms_sender", initial: "+48601000000" },
        { name: "message", label: "sms_text", most: () => bench.report.sms.max_letters },
      ],
      items: ({ sender, message }) => [["sms", `${sender.trim()}:${message}`]],
    }),
    host: new Ask(bench, {
      button: "let_answer",
      fields: [
        { name: "host", label: "host", initial: watched },
        { name: "milliseconds", label: "milliseconds", initial: "5" },
      ],
      items: ({ host, milliseconds }) => [["ping", `${host.trim()}:${milliseconds.trim()}`]],
    }),
  };
}
