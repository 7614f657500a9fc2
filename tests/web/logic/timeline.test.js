// The timeline without a browser: chains of causes, what a press means, and the time shown.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { pathOf, pointsOf, valueAt } from "../../../src/leverframe/web/lib/things/history.js";
import {
  barStartingAt,
  decidingStep,
  lanesOf,
  meantAt,
  stepsOf,
} from "../../../src/leverframe/web/pages/timeline/chain.js";
import { ticksOf } from "../../../src/leverframe/web/pages/timeline/picture.js";
import { Recorded } from "../../../src/leverframe/web/pages/timeline/rows.js";
import { dutyWord } from "../../../src/leverframe/web/pages/timeline/story.js";
import { Stretch } from "../../../src/leverframe/web/pages/timeline/head.js";
import { secondOfDay, useZone } from "../../../src/leverframe/web/lib/format/zone.js";
import { controller } from "./browser.mjs";

beforeEach(() => {
  controller.reset();
  useZone("");
  location.hash = "";
});

const RULE = { kind: "rule", detail: "Too warm", name: "Too warm", number: 1 };
const CONDITION = { label: "DS1", compare: ">=", reference: 24, ends: 23 };
const OPEN = { label: "INPD1", compare: "=", reference: 1, ends: 1 };
const DAY = {
  ...{ from: 0, to: 3000, now: 2000, since: 0 },
  lanes: [
    {
      ...{ label: "OUT3", kind: "output" },
      bars: [
        { begin: 0, end: 280, value: 0, cause: { kind: "start" } },
        { begin: 280, end: 1000, value: 1, cause: RULE },
        { begin: 1000, end: 2000, value: 0, cause: RULE },
      ],
    },
    {
      ...{ label: "OUT0", kind: "output" },
      bars: [
        { begin: 0, end: 1500, value: 0, cause: { kind: "start" } },
        { begin: 1500, end: 1501, value: 1, cause: { kind: "command", account: "admin" } },
        { begin: 1501, end: 1990, value: 0, cause: { kind: "timer", detail: "pulse", seconds: 1 } },
        { begin: 1990, end: 2000, value: 1, cause: { kind: "command", account: "admin" } },
        { begin: 2000, end: 2600, value: 1, planned: true },
        { begin: 2600, end: 3000, value: 0, planned: true, cause: { kind: "timer" } },
      ],
    },
    {
      ...{ label: "INPD1", kind: "input" },
      bars: [{ begin: 0, end: 100, value: 0 }, { begin: 100, end: 2000, value: 1 }],
    },
    {
      ...{ label: "rule.1", kind: "rule" },
      bars: [
        { begin: 0, end: 100, value: 0, readings: { DS1: 20 } },
        { begin: 100, end: 1000, value: 1, readings: { DS1: 24.1 } },
        { begin: 1000, end: 2000, value: 0, readings: { DS1: 22.9 } },
      ],
    },
    {
      ...{ label: "rule.2", kind: "rule" },
      bars: [
        { begin: 0, end: 100, value: 0, readings: { INPD1: 0 } },
        { begin: 100, end: 2000, value: 1, readings: { INPD1: 1 } },
      ],
    },
  ],
  messages: [{ time: 100, channel: "email", slot: 1, active: true, reason: "rule 2" }],
  rules: [
    { number: 1, name: "Too warm", operator: "-", conditions: [CONDITION] },
    { number: 2, name: "", operator: "OR", conditions: [CONDITION, OPEN] },
  ],
};
const stepTexts = (steps) => steps.map(({ what, time }) => `${what} ${time}`);

test("an output that a rule switched has the whole chain, from the reading to its end", () => {
  const steps = stepsOf(DAY, { label: "OUT3", begin: 280 });
  assert.deepEqual(stepTexts(steps), [
    ...["reading 100", "rule 280", "state 280", "message 100"],
    ...["reading 1000", "rule 1000", "state 1000"],
  ]);
  assert.deepEqual([steps[0].before, steps[0].value, steps[0].isMet], [20, 24.1, true]);
  assert.equal(steps[1].waited, 180);
  assert.deepEqual([...lanesOf(steps)], ["DS1", "rule.1", "OUT3", "messages"]);
  assert.deepEqual([...decidingStep(steps)], [["DS1", 24.1]]);
});

test("of two conditions only those are shown that gave the result", () => {
  const HUMID = { label: "H1", compare: ">=", reference: 80, ends: 75 };
  /** @param {string} operator @param {0 | 1} value @param {Record<string, number>} readings */
  const conditionTexts = (operator, value, readings) => {
    const now = { begin: 280, end: 2000, value, readings };
    const bars = [{ begin: 0, end: 280, value: 1 - value }, now];
    const cause = { ...RULE, name: "" };
    const lanes = [
      { label: "OUT3", kind: "output", bars: [{ begin: 280, end: 2000, value, cause }] },
      { label: "rule.1", kind: "rule", bars },
    ];
    const rules = [{ number: 1, name: "", operator, conditions: [CONDITION, HUMID] }];
    const steps = stepsOf({ ...DAY, lanes, messages: [], rules }, { label: "OUT3", begin: 280 });
    return steps.flatMap((one) => (one.what === "reading" ? [`${one.label} ${one.isMet}`] : []));
  };
  assert.deepEqual(conditionTexts("OR", 1, { DS1: 25, H1: 60 }), ["DS1 true"]);
  assert.deepEqual(conditionTexts("OR", 1, { DS1: 25, H1: 81 }), ["DS1 true", "H1 true"]);
  assert.deepEqual(conditionTexts("OR", 0, { DS1: 20, H1: 60 }), ["DS1 false", "H1 false"]);
  assert.deepEqual(conditionTexts("AND", 0, { DS1: 20, H1: 81 }), ["DS1 false"]);
  assert.deepEqual(conditionTexts("AND", 1, { DS1: 25, H1: 81 }), ["DS1 true", "H1 true"]);
  assert.deepEqual(conditionTexts("NOR", 0, { DS1: 20, H1: 81 }), ["H1 true"]);
  assert.deepEqual(conditionTexts("NAND", 1, { DS1: 20, H1: 81 }), ["DS1 false"]);
  assert.deepEqual(conditionTexts("XOR", 1, { DS1: 20, H1: 81 }), ["DS1 false", "H1 true"]);
});

test("a hand, a timer and what is planned are shown as such", () => {
  const steps = stepsOf(DAY, { label: "OUT0", begin: 1990 });
  assert.deepEqual(stepTexts(steps), ["cause 1990", "state 1990", "cause 2600", "state 2600"]);
  assert.equal(steps[3].planned, true);
  const still = stepsOf(DAY, { label: "OUT3", begin: 1000 });
  assert.equal(stepTexts(still).at(-1), "state 1000");
});

test("a rule, an input and a message show what they did and what led to them", () => {
  assert.deepEqual(stepTexts(stepsOf(DAY, { label: "rule.1", begin: 100 })), [
    ...["reading 100", "met 100", "state 280", "reading 1000", "met 1000"],
  ]);
  assert.deepEqual(stepTexts(stepsOf(DAY, { label: "INPD1", begin: 100 })), [
    ...["state 100", "met 100", "message 100"],
  ]);
  const message = stepsOf(DAY, { label: "messages", begin: 100 });
  assert.deepEqual(stepTexts(message), ["reading 100", "rule 100", "message 100"]);
  assert.deepEqual(stepsOf(DAY, { label: "messages", begin: 7 }), []);
  assert.deepEqual(stepsOf(DAY, { label: "nothing", begin: 7 }), []);
});

test("a rule that has gone is named, and says nothing of what decided", () => {
  const other = { ...DAY, rules: [{ ...DAY.rules[0], name: "Another" }] };
  assert.deepEqual(stepTexts(stepsOf(other, { label: "OUT3", begin: 280 }))[0], "rule 280");
});

test("a press means the fine bar under the finger, else the wide one", () => {
  assert.deepEqual(meantAt(DAY, "OUT0", 1490, 15), { label: "OUT0", begin: 1500 });
  assert.deepEqual(meantAt(DAY, "OUT0", 1300, 15), { label: "OUT0", begin: 0 });
  assert.deepEqual(meantAt(DAY, "messages", 95, 15), { label: "messages", begin: 100 });
  assert.equal(meantAt(DAY, "messages", 500, 15), null);
  assert.deepEqual(barStartingAt(DAY, 281), { label: "OUT3", begin: 280 });
  assert.equal(barStartingAt(DAY, 600), null);
});

test("what continues as planned is shown with its start", () => {
  const begun = { begin: 100, end: 500, value: 1 };
  const planned = { begin: 500, end: 600, value: 1, planned: true };
  const later = { begin: 800, end: 900, value: 1, planned: true };
  const bars = [begun, planned, { ...planned, begin: 600, end: 800, value: 0 }, later];
  const timeline = { ...DAY, lanes: [{ label: "OUT0", kind: "output", bars }] };
  const begins = [550, 850].map((time) => meantAt(timeline, "OUT0", time, 1)?.begin);
  assert.deepEqual(begins, [100, 800]);
});

test("the time rolls with now until a part is chosen, and the address keeps it", () => {
  const stretch = new Stretch(new URLSearchParams());
  const [from, to] = stretch.bounds(1_000_000);
  assert.deepEqual([from, to], [1_000_000 - 86_400, 1_000_000 + 14_400]);
  stretch.zoom(500, 1500);
  assert.deepEqual(stretch.bounds(2_000_000), [500, 1500]);
  assert.equal(location.hash, "#/timeline?from=500&to=1500");
  stretch.shift(0.5, 0);
  assert.deepEqual(stretch.bounds(0), [1000, 2000]);
  stretch.scale(2, 0, 1500);
  assert.deepEqual(stretch.bounds(0), [500, 2500]);
  stretch.choose("6h");
  assert.equal(location.hash, "#/timeline?span=6h");
  const at = new Stretch(new URLSearchParams("at=1000000"));
  assert.deepEqual(at.bounds(0), [1_000_000 - 43_200, 1_000_000 + 43_200]);
});

// A timeline that follows a controller: `live` is what it hears, `asked` what it read, each
// answered by hand.
function follow() {
  const live = { state: { time: 1000, OUT0: 0 }, heard: 1, watchGaps: () => () => false };
  const overview = { isPresent: () => false };
  const recorded = new Recorded({ live, overview });
  const asked = [];
  controller.answers["/api/timeline"] = () =>
    new Promise((answer) => {
      asked.push((now) => {
        answer({ ...DAY, rules: [], lanes: [], now });
        return new Promise(setImmediate);
      });
    });
  const hear = (state) => {
    live.state = { ...live.state, ...state };
    live.heard++;
    recorded.follow(stretch);
  };
  const stretch = new Stretch(new URLSearchParams());
  return { live, recorded, asked, hear, stretch };
}

test("what is heard while the timeline is read is read after it", async () => {
  const { recorded, asked, hear, stretch } = follow();
  recorded.read(stretch);
  hear({ OUT0: 1 });
  assert.equal(asked.length, 1);
  await asked[0](1000);
  assert.equal(asked.length, 2);
  await asked[1](1000);
  assert.deepEqual([asked.length, recorded.isReading], [2, false]);
});

test("a timeline that has all that was heard is not read again", async () => {
  const { recorded, asked, hear, stretch } = follow();
  recorded.read(stretch);
  hear({ time: 1001 });
  await asked[0](1001);
  hear({ time: 1002 });
  assert.equal(asked.length, 1);
  // Several changes at one moment of a clock that stands still.
  hear({ OUT0: 1 });
  await asked[1](1002);
  hear({ OUT0: 0 });
  assert.equal(asked.length, 3);
});

test("the answer about a stretch that was left is not shown", async () => {
  const { recorded, asked, stretch } = follow();
  recorded.read(stretch);
  recorded.read(stretch);
  await asked[1](1002);
  await asked[0](1001);
  assert.deepEqual([recorded.timeline.now, recorded.isReading], [1002, false]);
  recorded.read(stretch);
  recorded.leave();
  await asked[2](1003);
  assert.equal(recorded.timeline.now, 1002);
});

test("times stand at round moments, and readings hold until the next value", () => {
  useZone("Asia/Kolkata");
  const ticks = ticksOf({ from: 0, to: 86_400, width: 800 });
  assert.ok(ticks.length > 4 && ticks.length <= 12);
  assert.ok(ticks.every((time) => secondOfDay(time) % 3600 === 0));
  const raw = { DS1: { times: [10, 20, 30], values: [1, null, 3] } };
  const points = pointsOf({ step: 0, to: 100, now: 60, times: [], series: raw }, "DS1");
  assert.deepEqual(points, [[10, 1], [20, null], [30, 3], [60, 3]]);
  assert.deepEqual([valueAt(points, 15), valueAt(points, 25), valueAt(points, 5)], [1, null, null]);
  const series = { DS1: { mean: [1, null] } };
  const reduced = { step: 10, to: 100, now: 60, times: [0, 10], series };
  assert.deepEqual(pointsOf(reduced, "DS1"), [[5, 1], [15, null]]);
  assert.deepEqual(pointsOf(null, "DS1"), []);
});

test("a reading is drawn at the value it had until it changed; means are joined", () => {
  const same = (number) => number;
  const raw = { DS1: { times: [0, 20, 30, 40], values: [18, 21, null, 19] } };
  const read = { step: 0, to: 100, now: 60, times: [], series: raw };
  assert.equal(
    pathOf(read, pointsOf(read, "DS1"), same, same),
    "M0.0,18.0H20.0V21.0H30.0M40.0,19.0H60.0V19.0",
  );
  const series = { DS1: { mean: [18, 21] } };
  const reduced = { step: 10, to: 20, now: 20, times: [0, 10], series };
  assert.equal(
    pathOf(reduced, pointsOf(reduced, "DS1"), same, same),
    "M5.0,18.0L15.0,21.0L20.0,21.0",
  );
});

test("a PWM output is shown by its duty, and by the range where that moved", () => {
  const series = { "PWM0.duty": { times: [0, 100, 200], values: [20, 49.6, 35] } };
  const history = { step: 0, from: 0, to: 300, now: 300, times: [], series };
  assert.equal(dutyWord(history, "PWM0", 100, 100), "50 %");
  assert.equal(dutyWord(history, "PWM0", 50, 250), "20–50 %");
  assert.equal(dutyWord(history, "OUT0", 0, 100), "");
  assert.equal(dutyWord(null, "PWM0", 0, 100), "");
});
