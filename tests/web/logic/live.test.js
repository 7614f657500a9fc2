// The live state between two messages, and what is read again because of it.

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { isTooLate, setClock, switchOutput } from "../../../src/leverframe/web/lib/live/api.js";
import { Followed } from "../../../src/leverframe/web/lib/live/live.js";
import { Live } from "../../../src/leverframe/web/lib/live/live.js";
import { FleetStream } from "../../../src/leverframe/web/fleet/view.js";
import { controller } from "./browser.mjs";

test("an order before the first heartbeat waits until the controller answers", async () => {
  controller.reset();
  let wake = null;
  controller.answers["/health"] = () => new Promise((resolve) => (wake = resolve));
  const order = switchOutput(1, true);
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  assert.deepEqual(controller.sent, []);
  wake({});
  await order;
  assert.deepEqual(
    controller.sent.map(({ target }) => target),
    ["/outs.cgi?out1=1"],
  );
});

test("an order before the first heartbeat is not given to a sleeping controller", async () => {
  controller.reset();
  controller.answers["/health"] = () => {
    throw new DOMException("", "TimeoutError");
  };
  await assert.rejects(switchOutput(1, true), isTooLate);
  assert.deepEqual(controller.sent, []);
});

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

// ---- the heartbeat --------------------------------------------------------------------------

const STATE = { time: 0, virtual_time: true };
let stream = null;

class FakeStream extends EventTarget {
  isClosed = false;

  constructor() {
    super();
    stream = this;
  }

  say(kind, content) {
    this.dispatchEvent(Object.assign(new Event(kind), { data: JSON.stringify(content) }));
  }

  close() {
    this.isClosed = true;
  }
}

// A page that hears its controller; time stands still until it is moved.
function startLive() {
  controller.reset();
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  Object.assign(globalThis, { EventSource: FakeStream });
  document.addEventListener = () => {};
  const live = new Live();
  live.start();
  stream.say("state", STATE);
  return live;
}

async function pass(ms) {
  mock.timers.tick(ms);
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

const loseController = () => {
  const fail = () => {
    throw new TypeError("fetch failed");
  };
  controller.answers = { "/health": fail, "/api/state": fail };
};

test("a heartbeat every two seconds keeps a page live", async () => {
  const live = startLive();
  for (let second = 2; second < 60; second += 2) {
    await pass(2000);
    stream.say("heartbeat", { clock: second });
    assert.equal(live.connection, "live");
  }
  mock.timers.reset();
});

test("the first missing heartbeat is seen, and the next one repairs it", async () => {
  const live = startLive();
  controller.answers["/health"] = () => new Promise(() => {});
  await pass(3000);
  assert.equal(live.connection, "late");
  stream.say("heartbeat", { clock: 3 });
  assert.equal(live.connection, "live");
  await pass(2900);
  assert.equal(live.connection, "live");
  mock.timers.reset();
});

test("a move of the clock is a gap, and the time that passes is none", async () => {
  const now = mock.method(performance, "now", () => Date.now());
  const live = startLive();
  const hasGap = live.watchGaps();
  stream.say("change", { time: 9 });
  assert.ok(!hasGap());
  stream.say("change", { time: 3609 });
  assert.ok(hasGap());
  stream.say("change", { time: 9 });
  assert.ok(hasGap(), "back again");
  stream.say("change", { time: 10, virtual_time: false });
  assert.ok(!hasGap());
  await pass(2000);
  stream.say("change", { time: 12 });
  assert.ok(!hasGap());
  stream.say("change", { time: 100 });
  assert.ok(hasGap());
  now.mock.restore();
  mock.timers.reset();
});

test("a controller that does not answer is lost since its last contact", async () => {
  const live = startLive();
  await pass(2000);
  stream.say("heartbeat", { clock: 2 });
  loseController();
  await pass(3000);
  await pass(0);
  assert.equal(live.connection, "lost");
  assert.equal(live.lostSince, 2);
  assert.ok(stream.isClosed);
  mock.timers.reset();
});

test("an order says until when it is valid, by the clock of the controller", async () => {
  const sent = [];
  const usual = globalThis.fetch;
  globalThis.fetch = async (target, { headers, signal }) => {
    sent.push([target, Number(headers["X-Valid-Until"]), signal.aborted]);
    return new Response("");
  };
  const now = mock.method(performance, "now", () => 5000);
  setClock(1000);
  now.mock.mockImplementation(() => 6000);
  await switchOutput(2, true);
  assert.deepEqual(sent, [["/outs.cgi?out2=1", 1004, false]]);
  now.mock.restore();
  globalThis.fetch = usual;
});

test("a page of a fleet is lost since its last contact, and patient with slow nodes", async () => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  const now = mock.method(performance, "now", () => Date.now());
  Object.assign(globalThis, { EventSource: FakeStream });
  document.addEventListener = () => {};
  const fleet = new FleetStream();
  fleet.look({ wanted: {}, page: 1 });
  stream.say("view", { node: { virtual: false, time: 100, timezone: "UTC" }, rows: [], order: [] });
  await pass(8000);
  stream.say("heartbeat", { clock: 8 });
  await pass(9000);
  assert.equal(fleet.connection, "live");
  await pass(1000);
  assert.equal(fleet.connection, "lost");
  assert.equal(fleet.lostSince, 108);
  now.mock.restore();
  mock.timers.reset();
});
