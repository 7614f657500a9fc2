// Going through the IDs that answer on the 1-Wire bus.

import * as api from "./api.js";

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
