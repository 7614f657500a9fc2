// The live state between two messages, and what is read again because of it.

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { Followed } from "../../../src/leverframe/web/lib/live/live.js";
import { Live } from "../../../src/leverframe/web/lib/live/live.js";

for (const [virtual, left] of [
  [false, 29],
  [true, 30],
]) {
  test(`${left} of 30 s are left later where time is ${virtual ? "" : "not "}virtual`, () => {
    const now = mock.method(performance, "now", () => 1000);
    const live = new Live();
    live.know({ time: 0, virtual_time: virtual });
    now.mock.mockImplementation(() => 2500);
    assert.equal(live.remaining(30), left);
    now.mock.restore();
  });
}

test("what is followed is read again after a message, not because time passes", async () => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  let [notify, reads] = [null, 0];
  const listen = (listener) => {
    notify = listener;
    return () => {};
  };
  const live = { heard: 1, connection: "live", listen };
  const followed = new Followed({ live }, async () => ++reads);
  await followed.open();
  const tick = () => {
    notify();
    mock.timers.tick(500);
  };
  tick();
  assert.equal(reads, 2);
  tick();
  tick();
  assert.equal(reads, 2);
  live.heard++;
  tick();
  assert.equal(reads, 3);
  followed.close();
  mock.timers.reset();
});
