// 1-Wire: find the thermometers on the bus and give them to DS1-DS8; name and correct each.

import { nothing } from "../vendor/lit-html.js";
import { Action } from "../lib/forms/action.js";
import { Form } from "../lib/forms/form.js";
import { NO_ID } from "../lib/things/buses.js";
import { thingName } from "../lib/things/things.js";
import { FoundSensors } from "./onewire/found.js";

const FIRST_EXTRA_SLOT = 4;

/** @type {CardsOf} */
export function cardsOf(context, { index, label, more }) {
  const at = { A: index + 1 };
  const path = `onewire.${index}`;
  const free = new Action(context, {
    label: "free",
    command: "dswrite=<A>:<B>",
    values: { ...at, B: NO_ID },
    danger: ["free_danger", { label: thingName(context, label) }],
    done: "freed",
  });
  return [
    new Form(context, {
      title: "settings",
      tail: () => (context.settings.onewire[index].id === NO_ID ? nothing : free.view()),
      fields: [
        { command: "tname", at: { A: index }, label: "name", path: `${path}.name` },
        { command: "dswrite=<A>:<B>", at, label: "id", path: `${path}.id`, none: [NO_ID, ""] },
        { command: "dsOffset=<A>:<B>", at, label: "offset", unit: "°C", path: `${path}.offset` },
      ],
      opened: ["name", "offset"],
      ...more,
    }),
  ];
}

/** @type {CommonOf} */
export const commonOf = (context, more) => [
  new FoundSensors(context),
  ...context.settings.onewire_extra.map((_, sensor) => extraCard(context, sensor, more)),
];

// Further thermometers, which the choice of m1-m30 calls slots 4 to 6.
/** @param {AdminContext} context @param {number} sensor @param {MoreOfForm} more */
function extraCard(context, sensor, more) {
  const slot = FIRST_EXTRA_SLOT + sensor;
  return new Form(context, {
    title: ["extra", { number: sensor + 1 }],
    note: "extra_note",
    isUnused: () =>
      context.settings.onewire_extra[sensor].names.every((name) => name === "") &&
      context.settings.modbus_mapping.every((mapped) => mapped.slot !== slot),
    fields: context.settings.onewire_extra[sensor].names.map((_, number) => ({
      command: "onewirename<A><B>",
      at: { A: sensor, B: number },
      label: ["extra_name", { number }],
    })),
    ...more,
  });
}
