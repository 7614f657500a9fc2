// Which reading of which slot one of m1-m30 shows: two choices, and the value beside them.

import { html, nothing } from "../../vendor/lit-html.js";
import { Form } from "../../lib/form.js";
import { moduleName, readingTitle, readingsOf } from "../../lib/modules.js";
import { optionsOf } from "../../lib/options.js";
import { shown } from "../../lib/quantities.js";
import { t } from "../../lib/words.js";

const NOTHING = "0";

/** @param {AdminContext} context @param {ThingPlace} place */
export const mappingCard = (context, { index, label, more }) =>
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
  const offered = offeredReadings(context, Number(slot), number);
  const unit = readingsOf(settings, Number(slot))[Number(number)]?.unit ?? "";
  const value = live.state[label];
  return html`<div class="mapped">
    <select id=${field.id} @change=${(event) => change(event.target.value + number)}>
      ${optionsOf(
        offeredSlots(schema).map((one) => [one, slotName(settings, Number(one))]),
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
            ${shown(label, value).text} <small>${value === null ? "" : unit}</small>
          </span>`}
  </div>`;
}

// As many as fit the form of an item in this version.
/** @param {Schema} schema */
function offeredSlots(schema) {
  const item = new RegExp(schema.pattern ?? "");
  return [..."0123456789"].filter((slot) => item.test(`${slot}0`));
}

// The readings of the slot by name; all numbers where the slot is empty.
/** @param {AdminContext} context @param {number} slot @param {string} current */
function offeredReadings({ commands, settings }, slot, current) {
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
