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

// [{ name, unit }] of built-in modules, by module.
/** @type {Signal<Modules>} */
const listed = signal({});

export async function readModules() {
  listed.value = await api.modules();
}

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

// Present value of a reading of a slot, from the bus or from m1-m30; undefined where it is not
// read.
/** @param {AdminContext} context @param {number} slot @param {number} number */
export function valueOf({ live, settings }, slot, number) {
  const values = live.state.modbus?.[slot]?.readings ?? {};
  const name = readingsOf(settings, slot)[number]?.name || String(number);
  if (name in values) return values[name];
  const place = settings.modbus_mapping.findIndex(
    (one) => one.slot === slot && one.reading === number,
  );
  return place < 0 ? undefined : live.state[`m${place + 1}`];
}

// The slots in which a device of one's own is, counted from 0.
/** @param {Settings} settings @param {number} device */
export const slotsOf = (settings, device) =>
  settings.modbus_slots.flatMap(({ module }, index) =>
    module === `custom${device + 1}` ? [index + 1] : [],
  );

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
