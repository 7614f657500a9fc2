// Every state of a lever: its word, what stands beneath, how far it is pulled and its marks.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { causeOf } from "../../../src/leverframe/web/lib/things/signs.js";
import { Lever } from "../../../src/leverframe/web/lib/things/lever.js";
import { mover, standing } from "../../../src/leverframe/web/lib/things/lever_state.js";
import { formatValue } from "../../../src/leverframe/web/lib/format/numbers.js";
import { controller } from "./browser.mjs";
import { markup, openContext } from "./helpers.js";

const NOON = new Date(2024, 4, 15, 12).getTime() / 1000;
const DAILY = { name: "Evening", action: "OUT0", value: 0 };

let context;
beforeEach(async () => {
  controller.reset();
  context = await openContext();
  know({ OUT0: 0, OUT1: 1, PWM0: 1, "PWM0.duty": 25 });
  context.live.connection = "live";
});

const know = (more) => {
  context.live.state = { ...context.live.state, time: NOON, virtual_time: true, ...more };
};
const overview = (account, status) => context.overview.take({ account, status, labels: {} });
const ON = { isOn: true, word: "on", beneath: "", share: 1, marks: ["on"] };
const OFF = { isOn: false, word: "off", beneath: "", share: 0, marks: [] };
const on = (more) => ({ ...ON, ...more });
const off = (more) => ({ ...OFF, ...more });

test("on leans right, off leans left", () => {
  assert.deepEqual(standing(context, "OUT1"), on());
  assert.deepEqual(standing(context, "OUT0"), off());
});

test("PWM leans in proportion and says its percentage, off it is off", () => {
  assert.deepEqual(standing(context, "PWM0"), on({ word: "25\u00a0%", share: 0.25 }));
  know({ PWM0: 0 });
  assert.deepEqual(standing(context, "PWM0"), off());
});

test("what was asked for is a ghost until the state agrees", async () => {
  const lever = new Lever(context, { label: "OUT0", name: () => "Pump", act: async () => {} });
  const draw = () => markup(lever.upright());
  assert.doesNotMatch(draw(), /asked|ghost/);
  press(lever.upright());
  assert.match(draw(), /class="ghost"/);
  assert.match(draw(), /requested: on…/);
  assert.match(draw(), /aria-checked=false/);
  know({ OUT0: 1 });
  assert.doesNotMatch(draw(), /asked|ghost/);
});

test("an order that is refused falls back and says why", async () => {
  const act = async () => Promise.reject(new Error("no way"));
  const lever = new Lever(context, { label: "OUT0", name: () => "Pump", act });
  await press(lever.upright());
  assert.match(markup(lever.upright()), /role="alert">The controller/);
  assert.doesNotMatch(markup(lever.upright()), /ghost/);
});

test("counting: what is left, or the time of day when that is far or planned", () => {
  know({ returns_in: { OUT1: 1452 } });
  assert.deepEqual(standing(context, "OUT1"), on({ beneath: "24:12 left" }));
  know({ returns_in: { OUT1: 7200 } });
  assert.deepEqual(standing(context, "OUT1"), on({ beneath: "until 14:00" }));
  context.settings.schedule = [{ ...DAILY, action: "OUT1" }];
  know({ returns_in: {}, schedule: [{ index: 0, next_run: NOON + 28_800 }] });
  assert.deepEqual(standing(context, "OUT1"), on({ beneath: "until 20:00" }));
});

test("held by hand against its rule, which is named", () => {
  const held = { kind: "rule_held", label: "OUT0", figures: { rule: "Watering" } };
  know({ findings: [held], switched: { OUT0: { time: NOON, by: { kind: "command" } } } });
  assert.deepEqual(standing(context, "OUT0"), off({ beneath: "held", marks: ["held"] }));
  assert.equal(mover(context, "OUT0").name, "by hand");
  assert.match(mover(context, "OUT0").why, /^although Watering requires on, /);
  held.figures.rule = 3;
  assert.match(mover(context, "OUT0").why, /^although Rule 3 requires on, /);
});

test("overruled: its rule or schedule entry is named, and no hand holds it", () => {
  const finding = { kind: "rule_overruled", label: "OUT0", figures: { rule: "Watering" } };
  const by = { kind: "timer", detail: "return time" };
  know({ findings: [finding], switched: { OUT0: { time: NOON, by } } });
  assert.deepEqual(standing(context, "OUT0"), off());
  assert.equal(mover(context, "OUT0").name, "return time");
  assert.match(mover(context, "OUT0").why, /^although Watering requires on, /);
  finding.kind = "schedule_overruled";
  finding.figures = { entry: "Morning" };
  assert.match(mover(context, "OUT0").why, /^although Morning requires on, /);
});

test("locked", () => {
  overview({}, { outblock: "1" });
  assert.deepEqual(standing(context, "OUT1"), on({ beneath: "locked", marks: ["locked", "on"] }));
  assert.deepEqual(standing(context, "EVENT1").marks, []);
});

test("fault: its drive is shown to be in trouble", () => {
  know({ troubles: { OUT1: "The line cannot be had." } });
  const fault = { word: "fault", beneath: "no answer", marks: ["fault", "on"] };
  assert.deepEqual(standing(context, "OUT1"), on(fault));
  assert.deepEqual(standing(context, "OUT0"), off());
});

test("stale: shows what it was and since when", () => {
  context.live.connection = "lost";
  context.live.lostSince = NOON;
  const stale = standing(context, "OUT1");
  assert.deepEqual([stale.word, stale.marks], ["was on", ["stale", "on"]]);
  assert.match(stale.beneath, /12:00$/);
});

test("only to look: no mark but that", () => {
  overview({ read_only: true }, {});
  assert.deepEqual(standing(context, "OUT1"), on({ marks: ["on", "look"] }));
});

test("power is written as people write it", () => {
  const powerText = (value) => formatValue("POWER1", value).text;
  assert.deepEqual([1.5, 2300, 0, 0.125, 10].map(powerText), ["1.5", "2300", "0", "0.125", "10"]);
});

// The button is the first thing of the drawn lever that listens.
function press(template) {
  const listeners = template.values.filter((value) => typeof value === "function");
  return listeners[0]();
}

test("the regulator goes by a reading, as rules do; a return time by the clock", () => {
  assert.equal(causeOf("timer", "PID regulator").name, "rule");
  assert.equal(causeOf("timer", "return time").name, "schedule");
});
