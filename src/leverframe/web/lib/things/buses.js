// What sits on the buses: Modbus modules, 1-Wire sensors.

import { signal } from "../../vendor/signals-core.js";
import { code, readingWord } from "../format/words.js";
import * as api from "../live/api.js";

// The readings of what sits in the Modbus slots: their names, and their values as far as known.

const CUSTOM = /^custom(\d)$/;

// A device of one's own has the name that it was given.
/** @param {Settings} settings @param {string} module */
export function moduleName(settings, module) {
  const [, number] = CUSTOM.exec(module) ?? [];
  const name = number ? settings.modbus_devices[Number(number) - 1]?.name : "";
  return name || code(module);
}

// The number of a described device, from 0; null for a known one.
/** @param {string} module */
export function deviceOf(module) {
  const [, number] = CUSTOM.exec(module) ?? [];
  return number ? Number(number) - 1 : null;
}

// Whether a device has a name, readings or a slot.
/** @param {Settings} settings @param {string} module */
export function isDescribed({ modbus_devices: devices, modbus_slots: slots }, module) {
  const { name, readings } = devices[deviceOf(module) ?? -1] ?? { name: "", readings: [] };
  return (
    name !== "" ||
    readings.some((reading) => reading.name !== "") ||
    slots.some((slot) => slot.module === module)
  );
}

// [{ name, unit }] of built-in modules, by module.
/** @type {Signal<Modules>} */
const listed = signal({});

export async function readModules() {
  listed.value = await api.modules();
}

/** @param {string} module */
export const readingsOfModule = (module) => listed.value[module] ?? [];

// What people read of a reading: names that they gave stand as they are.
/** @param {Settings} settings @param {number} slot @param {number} number */
export function readingTitle(settings, slot, number) {
  const name = readingsOf(settings, slot)[number]?.name ?? "";
  return settings.modbus_slots[slot - 1]?.module in listed.value ? readingWord(name) : name;
}

// The readings of a slot in their order; slots after those of modules are 1-Wire sensors.
/** @param {Settings} settings @param {number} slot */
export function readingsOf(settings, slot) {
  const module = settings.modbus_slots[slot - 1]?.module;
  const extra = settings.onewire_extra[slot - settings.modbus_slots.length - 1];
  if (extra) return extra.names.map((name) => ({ name, unit: "°C" }));
  const [, number] = CUSTOM.exec(module ?? "") ?? [];
  return (
    (number ? settings.modbus_devices[Number(number) - 1]?.readings : listed.value[module]) ?? []
  );
}

// Going through the IDs that answer on the 1-Wire bus.

// Of a free position, and what the bus says after its last sensor.
export const NO_ID = "00:00:00:00:00:00:00:00";
// Far more than a bus can carry: a bus that changes all the time must not be asked for ever.
const MAX_STEPS = 200;

// The IDs found so far, sorted, after each step. The bus is a ring of its sensors and one empty
// place; it may be entered anywhere.
/** @param {Commands} commands @returns {AsyncGenerator<string[]>} */
export async function* idsOnBus(commands) {
  const { target } = commands.get("dswrite=0").request({});
  const seen = new Set();
  for (let step = 0; step < MAX_STEPS; step++) {
    await api.send(target);
    const { dsid } = await api.sensors();
    if (seen.has(dsid)) return;
    seen.add(dsid);
    yield [...seen].filter((id) => id !== NO_ID).sort();
  }
}
