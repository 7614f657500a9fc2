// Modbus: the drawer of a meter, and the drawer of one of m1-m30.

import { html, nothing } from "../vendor/lit-html.js";
import { shortMoment } from "../lib/format/moments.js";
import { formatValue } from "../lib/format/numbers.js";
import { decimal, serverText, t } from "../lib/format/words.js";
import { optionsOf } from "../lib/forms/controls.js";
import { Form } from "../lib/forms/form.js";
import { useStyle } from "../lib/frame/look.js";
import { moduleName, readingsOf, readingTitle, readModules } from "../lib/things/buses.js";
import { findingsOf } from "../lib/things/findings.js";
import { kindOf } from "../lib/things/things.js";
import { MeterForm } from "./modbus/meter.js";

/** @type {CardsOf} */
export function cardsOf(context, place) {
  const isMapped = kindOf(place.label).kind === "mapped";
  if (isMapped) return [mappingCard(context, place), { view: () => nothing, open: readWithStyle }];
  const slot = place.index + 1;
  return [new MeterForm(context, slot, place.more), { view: () => slotView(context, slot) }];
}

const readWithStyle = () => Promise.all([readModules(), useStyle("modbus")]);

// How the module in a slot answers. A finding already says that it is silent.
/** @param {AdminContext} context @param {number} slot */
function slotView(context, slot) {
  const { silent_since: silent, refused = [] } = context.live.state.modbus?.[slot] ?? {};
  const counted = context.live.state.modbus_statistics?.[slot];
  const isTold = findingsOf(context).some(({ page }) => page === `things?thing=SLOT${slot}`);
  const isSilent = silent && !isTold;
  if (!isSilent && !counted && refused.length === 0) return nothing;
  return html`<div>
    ${isSilent
      ? html`<p class="attention">
          ${t("silent_since", { time: shortMoment(silent, context.live.state.time) })}
        </p>`
      : nothing}
    ${refused.map((one) => html`<p class="attention">${refusal(one)}</p>`)} ${statistics(counted)}
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
      { command: "mname", at: { A: index }, label: "name", hint: "name_hint" },
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
