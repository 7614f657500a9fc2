// While the connection is lost, nothing looks as if it could be operated, and nothing is sent.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Duty } from "../../../src/leverframe/web/lib/things/switches.js";
import { Switches } from "../../../src/leverframe/web/lib/things/switches.js";
import { fetchWords, speaking } from "../../../src/leverframe/web/lib/format/words.js";
import { Knob } from "../../../src/leverframe/web/pages/simulation/knob.js";
import { Pin } from "../../../src/leverframe/web/pages/simulation/knob.js";
import { PulseMenu } from "../../../src/leverframe/web/pages/status/pulse.js";
import { OnFor } from "../../../src/leverframe/web/pages/things/on_for.js";
import { controller } from "./browser.mjs";
import { markup, openContext, textOf } from "./helpers.js";

const REASON = "no connection to the controller";

let context;
let switches;
beforeEach(async () => {
  controller.reset();
  context = await openContext();
  context.live.state = { ...context.live.state, OUT0: 0, PWM0: 0, "PWM0.duty": 50 };
  await Promise.all(["status", "things", "simulation"].map(fetchWords));
  switches = new Switches(context);
  context.live.connection = "live";
});

const lose = () => {
  context.live.connection = "lost";
  context.live.lostSince = 0;
};

// By what is pressed: how it is drawn.
function controls() {
  const usual = [0, 40];
  const reading = { value: 20, limits: [-55, 125], usual, unit: "°C" };
  const bench = { report: { readings: { DS1: reading }, levels: { INPD1: 1 } }, isFed: () => true };
  const knob = new Knob(context, bench, "DS1", { read: () => reading });
  const duty = new Duty(context, "PWM0", () => switches.hindrance("PWM0"));
  const parts = {
    "the lever of a frame": () => switches.upright("OUT0"),
    "the lever of a row": () => switches.lever("OUT0"),
    "on for, on Status": drawPart("status", new PulseMenu(context, 0, () => "Pump")),
    "on for, in a drawer": drawPart("things", new OnFor(context, "OUT0")),
    "the slider of a PWM output": drawPart("status", duty),
    "what the board senses": drawPart("simulation", knob),
    "a contact": drawPart("simulation", new Pin(context, bench, "INPD1", () => "Door")),
  };
  return Object.entries(parts);
}

const drawPart = (words, part) => () => speaking(words, () => part.view());
const isIdle = (drawn) => /disabled=("?)true\1/.test(drawn);

test("all that is operated is idle and shows why, until the controller is reached again", () => {
  for (const [what, draw] of controls()) {
    assert.equal(isIdle(markup(draw())), false, what);
    lose();
    assert.equal(isIdle(markup(draw())), true, what);
    assert.ok(markup(draw()).includes(`title=${REASON}`), what);
    context.live.connection = "live";
    assert.equal(isIdle(markup(draw())), false, what);
    assert.ok(!markup(draw()).includes(REASON), what);
  }
});

// What listens first in a template is what is pressed.
const press = (template) => {
  const listens = (value) => typeof value === "function";
  const inner = template.values.find(listens) ?? template.values[0].values.find(listens);
  return inner({ preventDefault() {} });
};

test("a lever that is pressed shows why it stays and sends nothing", async () => {
  for (const draw of [() => switches.upright("OUT0"), () => switches.lever("OUT0")]) {
    lose();
    await press(draw());
    assert.match(textOf(draw()), new RegExp(REASON));
    assert.deepEqual(controller.sent, []);
    context.live.connection = "live";
    assert.doesNotMatch(textOf(draw()), new RegExp(REASON));
  }
});

test("'on for' does not open, shows why, and stays away from accounts that may only look", () => {
  const draw = drawPart("status", new PulseMenu(context, 0, () => "Pump"));
  lose();
  let isKept = false;
  const pressed = draw().values.filter((value) => typeof value === "function").at(-1);
  pressed({ preventDefault: () => (isKept = true) });
  assert.equal(isKept, true);
  assert.match(textOf(draw()), new RegExp(REASON));
  assert.equal(switches.prohibition("OUT0"), null);
  context.overview.take({ account: { read_only: true }, status: {}, labels: {} });
  assert.equal(switches.prohibition("OUT0"), "this account is read-only");
});
