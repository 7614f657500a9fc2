// What a regulator makes of a step of its target.

import assert from "node:assert/strict";
import { test } from "node:test";

import { judge, stepResponse } from "../../../src/leverframe/web/pages/pid/step_card.js";

const PLANT = { gain: 40, lag: 600 };
const end = (gains) => stepResponse(gains, PLANT, 1).values.at(-1);

test("with an integral part the loop gets to its target, without one it stays short of it", () => {
  assert.ok(Math.abs(end({ kp: 10, ki: 0.02, kd: 0 }) - 1) < 0.02);
  assert.ok(end({ kp: 2, ki: 0, kd: 0 }) < 0.6);
});

test("without any gain nothing moves, and it is said not to settle", () => {
  const still = stepResponse({ kp: 0, ki: 0, kd: 0 }, PLANT, 1);
  assert.ok(still.values.every((value) => Math.abs(value) < 1e-9));
  assert.equal(judge(still, 1).settled, null);
});

test("a greater integral part goes further past the target, and no duty leaves its limits", () => {
  const past = (ki) => judge(stepResponse({ kp: 1, ki, kd: 0 }, PLANT, 1), 1).overshoot;
  assert.ok(past(0.1) > past(0.005));
  const { duties } = stepResponse({ kp: 500, ki: 5, kd: 0 }, PLANT, 1);
  assert.ok(duties.every((duty) => duty >= 0 && duty <= 100));
});
