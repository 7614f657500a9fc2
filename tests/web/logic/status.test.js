// What stands beside the levers: amounts that meters have counted.

import assert from "node:assert/strict";
import { test } from "node:test";

import { amounts } from "../../../src/leverframe/web/pages/status/meters.js";

const HOUR = 3600;
const MIDNIGHT = 100 * 24 * HOUR;
const YESTERDAY = MIDNIGHT - 24 * HOUR;
const raw = (...points) => ({
  times: points.map(([hour]) => MIDNIGHT + hour * HOUR),
  values: points.map(([, count]) => count),
});
const countEnergy = (now, series) =>
  amounts({ now: MIDNIGHT + now * HOUR, step: 0, times: [] }, series, YESTERDAY, MIDNIGHT);

test("what was counted is shown for today, for yesterday and for each hour of a day", () => {
  const { today, yesterday, hours } = countEnergy(9.5, raw([-20, 5], [-1, 7], [1, 8], [9, 10.5]));
  assert.deepEqual([today, yesterday], [3.5, 2]);
  assert.deepEqual([hours.at(-1), hours.at(-9), hours.at(-11)], [2.5, 1, 2]);
});

test("yesterday may have had 25 hours", () => {
  const series = raw([-26, 1], [-24.5, 3], [-1, 7]);
  const answer = { now: MIDNIGHT + HOUR, step: 0, times: [] };
  assert.equal(amounts(answer, series, MIDNIGHT - 25 * HOUR, MIDNIGHT).yesterday, 6);
  assert.equal(amounts(answer, series, YESTERDAY, MIDNIGHT).yesterday, 4);
});

test("a counter that was set back counts from there, and gaps count nothing", () => {
  const { today } = countEnergy(9, raw([1, 8], [2, null], [3, 0], [4, 1.5]));
  assert.equal(today, 1.5);
});

test("an unknown amount is not shown as nothing", () => {
  assert.deepEqual(countEnergy(9, raw()).today, null);
  assert.deepEqual(countEnergy(9, raw([1, 8], [2, 9])).yesterday, null);
});

test("reduced values count by the highest of each interval", () => {
  const times = [MIDNIGHT, MIDNIGHT + HOUR];
  const answer = { now: MIDNIGHT + 2 * HOUR, step: HOUR, times };
  assert.equal(amounts(answer, { max: [3, 4] }, YESTERDAY, MIDNIGHT).today, 1);
});
