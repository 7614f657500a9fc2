// An analog input: what is connected to it, and how its voltage becomes the value that is shown.

import { html, nothing } from "../vendor/lit-html.js";
import { decimal, t } from "../lib/format/words.js";
import { Form } from "../lib/forms/form.js";
import * as api from "../lib/live/api.js";
import { Followed } from "../lib/live/live.js";

/** @type {CardsOf} */
export function cardsOf(context, { index, more }) {
  // The voltages at the pins are no part of the stream.
  const raw = new Followed(context, api.rawReadings);
  const form = new Form(context, {
    title: "settings",
    lead: () => atThePin(raw.value, index),
    fields: fieldsOf(context, index),
    opened: ["name", "sensor"],
    ...more,
  });
  return [form, raw];
}

/** @param {XMLDocument | null} file @param {number} index */
function atThePin(file, index) {
  const millivolts = Number(file?.querySelector(`inp${index + 1}`)?.textContent ?? NaN);
  if (Number.isNaN(millivolts)) return nothing;
  return html`<p class="note">${t("at_the_pin", { volts: decimal(millivolts / 1000, 3) })}</p>`;
}

/** @param {AdminContext} context @param {number} index @returns {FieldSpec[]} */
function fieldsOf(context, index) {
  const at = { A: index };
  return [
    { command: "iname", at, label: "name" },
    { command: "sensor", at, label: "sensor" },
    ...gainNote(context, index),
    { command: "multiplier", at, label: "multiplier" },
    { command: "calibration", at, label: "calibration", unit: "mV" },
  ];
}

// Only some inputs have an amplifier.
/** @param {AdminContext} context @param {number} index */
function gainNote(context, index) {
  const last = context.commands.find("igain")?.schema("A").maximum ?? -1;
  const path = `analog_inputs.${index}.gain`;
  return index <= last
    ? [{ command: "igain", at: { A: index }, label: "gain", hint: "gain_hint", path }]
    : [];
}
