// Modbus: what is connected in the slots, which readings m1-m30 show, the server for others.

import { html, nothing } from "../vendor/lit-html.js";
import { Form } from "../lib/form.js";
import { moduleName, readModules, readingsOf, valueOf } from "../lib/modules.js";
import { shown } from "../lib/quantities.js";
import { liveReading } from "../lib/reading.js";
import { address } from "../lib/router.js";
import { choices } from "../lib/schema.js";
import { clock, code, decimal, t } from "../lib/words.js";
import { mappingCard } from "./modbus/mapping.js";

const HOST = "modbushost<A>";
const LINE = "modbusline<A>";

export class Page {
  #context;
  #cards;
  #mapping;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#cards = [
      ...context.settings.modbus_slots.map((_, index) => slotCard(context, index)),
      serverCard(context),
    ];
    this.#mapping = mappingCard(context);
  }

  async open() {
    await readModules();
  }

  view() {
    const { commands } = this.#context;
    return html`<div class="cards">
        ${this.#cards.map((card) => card.view())}
        ${commands.find("mod_custom_save")
          ? html`<section class="card">
              <h2>${t("own_devices")}</h2>
              <p class="note">${t("own_devices_note")}</p>
              <a href=${address("modbus_devices")}>${t("to_devices")}</a>
            </section>`
          : nothing}
      </div>
      <div class="cards wide">
        ${this.#mapping.fields.length ? this.#mapping.view() : this.#inOrder()}
      </div>`;
  }

  close() {}

  // Versions that cannot choose show the readings of the one slot in their order.
  #inOrder() {
    const { live, settings } = this.#context;
    const readings = readingsOf(settings, 1);
    return html`<section class="card">
      <h2>${t("in_order")}</h2>
      ${readings.length ? nothing : html`<p class="empty">${t("nothing_connected")}</p>`}
      ${readings.map(({ name, unit }, index) =>
        liveReading(live, `m${index + 1}`, { name: `m${index + 1} · ${name}`, unit }),
      )}
    </section>`;
  }
}

/** @param {AdminContext} context */
function serverCard(context) {
  return new Form(context, {
    title: "server",
    note: "server_note",
    fields: [{ command: "modbuson", label: "server_on" }],
  });
}

// Versions with one slot have commands without a place.
/** @param {AdminContext} context @param {number} index */
function slotCard(context, index) {
  return new Form(context, {
    title: ["slot", { number: index + 1 }],
    lead: () => said(context, index + 1),
    fields: fieldsOf(context, index),
  });
}

/** @param {AdminContext} context @param {number} index @returns {FieldSpec[]} */
export function fieldsOf(context, index) {
  const hasSlots = context.commands.find("modbus_sensor=<A><B>") !== null;
  const at = hasSlots ? { A: index } : {};
  const [module, id] = hasSlots
    ? ["modbus_sensor=<A><B>", "modbusid=<A><B>"]
    : ["modbus_sensor=<A>", "modbusid=<A>"];
  return [
    { command: module, at, label: "module", draw: chosen(nameIn(context)) },
    { command: id, at, label: "slave_id" },
    { command: HOST, at: { A: index }, label: "host", hint: "host_hint" },
    { command: LINE, at: { A: index }, letter: "B", label: "bitrate", draw: chosen(spoken) },
    { command: LINE, at: { A: index }, letter: "C", label: "parity", draw: chosen(spoken) },
    { command: LINE, at: { A: index }, letter: "D", label: "stop_bits", draw: chosen(spoken) },
  ];
}

// Devices of one's own are offered by the names that they were given.
/** @param {AdminContext} context @returns {(word: string) => string} */
const nameIn = (context) => (word) => moduleName(context.settings, word);

/** @param {string} word */
const spoken = (word) => (["0", "module"].includes(word) ? t("as_module") : code(word));

/** @param {(word: string) => string} name */
function chosen(name) {
  /** @type {Draw} */
  const draw = (field, { schema, change }) => html`<select
    id=${field.id}
    aria-describedby="${field.id}-hint"
    @change=${(event) => change(event.target.value)}
  >
    ${choices(schema).map(
      ([word]) => html`<option value=${word} .selected=${word === field.typed}>
        ${name(word)}
      </option>`,
    )}
  </select>`;
  return draw;
}

// What the module in a slot says, as far as anybody asks it.
/** @param {AdminContext} context @param {number} slot */
function said(context, slot) {
  const { silent_since: silent, refused = [] } = context.live.state.modbus?.[slot] ?? {};
  const readings = readingsOf(context.settings, slot)
    .map(({ name, unit }, number) => ({
      name: name || t("reading", { number }),
      unit,
      value: valueOf(context, slot, number),
    }))
    .filter(({ value }) => value !== undefined);
  return html`${silent
    ? html`<p class="attention">${t("silent_since", { time: clock(silent) })}</p>`
    : nothing}
  ${refused.map((one) => html`<p class="attention">${refusal(one)}</p>`)}
  ${readings.length
    ? html`<dl class="values">
        ${readings.map(
          ({ name, unit, value }) => html`<div>
            <dt>${name}</dt>
            <dd>${shown("m1", value).text} <small>${value === null ? "" : unit}</small></dd>
          </div>`,
        )}
      </dl>`
    : nothing}
  ${statistics(context.live.state.modbus_statistics?.[slot])}`;
}

/** @param {Api.RefusedRead} one */
function refusal({ function: number, register, count, code: exception, words }) {
  const last = register + count - 1;
  const registers = count === 1 ? String(register) : `${register}-${last}`;
  return t("refused", { registers, function: number, code: exception, words });
}

// What came of the requests to the module in a slot.
/** @param {Api.SlotStatistics | undefined} counted */
function statistics(counted) {
  if (!counted) return nothing;
  const exceptions = Object.entries(counted.exceptions)
    .map(([number, count]) => `${number}: ${count}`)
    .join(", ");
  const took = [counted.last_answer_s, counted.mean_answer_s].map(milliseconds).join(" / ");
  const rows = [
    ["requests", counted.requests],
    ["timeouts", counted.timeouts],
    ["crc_errors", counted.crc_errors],
    ["exceptions", exceptions || 0],
    ["answer_time", took],
  ];
  return html`<details>
    <summary>${t("statistics")}</summary>
    <dl class="values">
      ${rows.map(([word, value]) => html`<div><dt>${t(String(word))}</dt><dd>${value}</dd></div>`)}
    </dl>
  </details>`;
}

/** @param {number | null} seconds */
const milliseconds = (seconds) =>
  seconds === null ? "–" : `${decimal(1000 * seconds, 0)} ms`;
