// Modbus: what is connected in a slot and what it says; which reading one of m1-m30 shows.

import { html, nothing } from "../vendor/lit-html.js";
import { shortMoment } from "../lib/format/moments.js";
import { formatValue } from "../lib/format/numbers.js";
import { code, decimal, serverText, t } from "../lib/format/words.js";
import { optionsOf } from "../lib/forms/controls.js";
import { Form } from "../lib/forms/form.js";
import { choices } from "../lib/forms/schema.js";
import { moduleName, readingsOf, readingTitle, readModules, valueOf } from "../lib/things/buses.js";
import { findingsOf } from "../lib/things/findings.js";
import { kindOf } from "../lib/things/things.js";

const HOST = "modbushost<A>";
const LINE = "modbusline<A>";

/** @type {CardsOf} */
export function cardsOf(context, place) {
  const isMapped = kindOf(place.label).kind === "mapped";
  if (isMapped) return [mappingCard(context, place), { view: () => nothing, open: readModules }];
  const slot = place.index + 1;
  return [{ view: () => slotView(context, slot), open: readModules }, slotCard(context, place)];
}

// Versions with one slot have commands without a place.
/** @param {AdminContext} context @param {ThingPlace} place */
function slotCard(context, { index, more }) {
  return new Form(context, {
    title: "settings",
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
    { command: module, at, label: "module", draw: chooserOf(nameIn(context)) },
    { command: id, at, label: "slave_id" },
    { command: HOST, at: { A: index }, label: "host", hint: "host_hint" },
    { command: LINE, at: { A: index }, letter: "B", label: "bitrate", draw: chooserOf(wordFor) },
    { command: LINE, at: { A: index }, letter: "C", label: "parity", draw: chooserOf(wordFor) },
    { command: LINE, at: { A: index }, letter: "D", label: "stop_bits", draw: chooserOf(wordFor) },
  ];
}

// Devices of one's own are offered by the names that they were given.
/** @param {AdminContext} context @returns {(word: string) => string} */
const nameIn = (context) => (word) => moduleName(context.settings, word);

/** @param {string} word */
const wordFor = (word) => (["0", "module"].includes(word) ? t("as_module") : code(word));

/** @param {(word: string) => string} name */
function chooserOf(name) {
  /** @type {Draw} */
  const draw = (field, { schema, change }) =>
    html`<select
      id=${field.id}
      aria-describedby="${field.id}-hint"
      @change=${(event) => change(event.target.value)}
    >
      ${choices(schema).map(
        ([word]) =>
          html`<option value=${word} .selected=${word === field.typed}>${name(word)}</option>`,
      )}
    </select>`;
  return draw;
}

// What the module in a slot reports. A finding already says that it is silent.
/** @param {AdminContext} context @param {number} slot */
function slotView(context, slot) {
  const { silent_since: silent, refused = [] } = context.live.state.modbus?.[slot] ?? {};
  const readings = readingsOf(context.settings, slot)
    .map(({ unit }, number) => ({
      name: readingTitle(context.settings, slot, number) || t("reading", { number }),
      unit,
      value: valueOf(context, slot, number),
    }))
    .filter(({ value }) => value !== undefined);
  const counted = context.live.state.modbus_statistics?.[slot];
  const isTold = findingsOf(context).some(({ page }) => page === `things?thing=SLOT${slot}`);
  const isSilent = silent && !isTold;
  if (!isSilent && !counted && refused.length + readings.length === 0) return nothing;
  return html`<div>
    <h2>${t("says")}</h2>
    ${isSilent
      ? html`<p class="attention">
          ${t("silent_since", { time: shortMoment(silent, context.live.state.time) })}
        </p>`
      : nothing}
    ${refused.map((one) => html`<p class="attention">${refusal(one)}</p>`)}
    ${readings.length
      ? html`<dl class="values">
          ${readings.map(
            ({ name, unit, value }) =>
              html`<div>
                <dt>${name}</dt>
                <dd>
                  ${formatValue("m1", value).text} <small>${value === null ? "" : unit}</small>
                </dd>
              </div>`,
          )}
        </dl>`
      : nothing}
    ${statistics(counted)}
  </div>`;
}

/** @param {Api.RefusedRead} one */
function refusal({ function: number, register, count, code: exception, words }) {
  const last = register + count - 1;
  const registers = count === 1 ? String(register) : `${register}-${last}`;
  const values = { registers, function: number, code: exception, words: serverText(words) };
  return t("refused", values);
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
  return html`<details class="advanced">
    <summary>${t("statistics")}</summary>
    <dl class="values">
      ${rows.map(
        ([word, value]) =>
          html`<div>
            <dt>${t(String(word))}</dt>
            <dd>${value}</dd>
          </div>`,
      )}
    </dl>
  </details>`;
}

/** @param {number | null} seconds */
const milliseconds = (seconds) => (seconds === null ? "–" : `${decimal(1000 * seconds, 0)} ms`);

// Which reading of which slot one of m1-m30 shows: two choices, and the value beside them.

const NOTHING = "0";

/** @param {AdminContext} context @param {ThingPlace} place */
const mappingCard = (context, { index, label, more }) =>
  new Form(context, {
    title: "settings",
    fields: [
      {
        command: "modbusmapping",
        part: index,
        label: "shows",
        read: ({ modbus_mapping: mapping }) =>
          mapping.map(({ slot, reading }) => `${slot}${reading}`),
        draw: (field, drawn) => choiceOfTwo(context, label, field, drawn),
      },
    ],
    ...more,
  });

/**
 * @param {AdminContext} context
 * @param {string} label
 * @param {DrawnField} field
 * @param {Drawn} drawn
 */
function choiceOfTwo(context, label, field, { schema, change }) {
  const { live, settings } = context;
  const [slot, number] = [String(field.typed)[0], String(field.typed).slice(1)];
  const offered = listReadings(context, Number(slot), number);
  const unit = readingsOf(settings, Number(slot))[Number(number)]?.unit ?? "";
  const value = live.state[label];
  return html`<div class="mapped">
    <select id=${field.id} @change=${(event) => change(event.target.value + number)}>
      ${optionsOf(
        listSlots(schema).map((one) => [one, slotName(settings, Number(one))]),
        slot,
      )}
    </select>
    ${slot === NOTHING
      ? nothing
      : html`<select
            id="${field.id}-reading"
            aria-label=${t("reading_number")}
            @change=${(event) => change(slot + event.target.value)}
          >
            ${optionsOf(
              offered.map(([one, name]) => [one, name ? `${one} · ${name}` : one]),
              number,
            )}
          </select>
          <span class="value">
            ${formatValue(label, value).text} <small>${value === null ? "" : unit}</small>
          </span>`}
  </div>`;
}

// As many as fit the form of an item in this version.
/** @param {Schema} schema */
function listSlots(schema) {
  const item = new RegExp(schema.pattern ?? "");
  return [..."0123456789"].filter((slot) => item.test(`${slot}0`));
}

// The readings of the slot by name; all numbers where the slot is empty.
/** @param {AdminContext} context @param {number} slot @param {string} current */
function listReadings({ commands, settings }, slot, current) {
  const readings = readingsOf(settings, slot);
  const { maximum } = commands.get("mod_custom_save").schema("B");
  const count = readings.length || maximum + 1;
  const offered = Array.from({ length: count }, (_, number) => [
    String(number),
    readingTitle(settings, slot, number),
  ]);
  const isOffered = offered.some(([number]) => number === current);
  return isOffered ? offered : [...offered, [current, ""]];
}

/** @param {Settings} settings @param {number} slot */
function slotName(settings, slot) {
  if (slot === 0) return t("inactive");
  const modules = settings.modbus_slots.length;
  if (slot > modules) return `${slot} · 1-Wire ${slot - modules}`;
  return `${slot} · ${moduleName(settings, settings.modbus_slots[slot - 1].module)}`;
}
