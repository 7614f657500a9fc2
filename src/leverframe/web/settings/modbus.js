// Modbus: what is connected in a slot and what it says; which reading one of m1-m30 shows.

import { html, nothing } from "../vendor/lit-html.js";
import { Form } from "../lib/form.js";
import { moduleName, readModules, readingTitle, readingsOf, valueOf } from "../lib/modules.js";
import { shown } from "../lib/quantities.js";
import { choices } from "../lib/schema.js";
import { kindOf } from "../lib/things.js";
import { clock, code, decimal, serverText, t } from "../lib/words.js";
import { mappingCard } from "./modbus/mapping.js";

const HOST = "modbushost<A>";
const LINE = "modbusline<A>";

/** @type {CardsOf} */
export function cardsOf(context, place) {
  const isMapped = kindOf(place.label).kind === "mapped";
  const form = isMapped ? mappingCard(context, place) : slotCard(context, place);
  return [form, { view: () => nothing, open: readModules }];
}

// Versions with one slot have commands without a place.
/** @param {AdminContext} context @param {ThingPlace} place */
function slotCard(context, { index, more }) {
  return new Form(context, {
    title: "settings",
    lead: () => said(context, index + 1),
    fields: fieldsOf(context, index),
    opened: ["module", "slave_id"],
    ...more,
  });
}

/** @param {AdminContext} context @param {number} index @returns {FieldSpec[]} */
function fieldsOf(context, index) {
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
    .map(({ unit }, number) => ({
      name: readingTitle(context.settings, slot, number) || t("reading", { number }),
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
  const told = { registers, function: number, code: exception, words: serverText(words) };
  return t("refused", told);
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
