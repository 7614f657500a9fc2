// The arithmetic of charts: columns, bars, spans of time, small lines, the course of the regulator.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { digitsOf } from "../../../src/leverframe/web/lib/things/axes.js";
import { Fingers } from "../../../src/leverframe/web/lib/things/figure.js";
import { roomy } from "../../../src/leverframe/web/lib/things/charts.js";
import {
  barsOf,
  join,
  shift,
  summaryOf,
  tableOf,
} from "../../../src/leverframe/web/lib/things/history.js";
import { Course as ChartCourse } from "../../../src/leverframe/web/pages/charts/legend.js";
import { View } from "../../../src/leverframe/web/pages/charts/view.js";
import { Course } from "../../../src/leverframe/web/pages/pid/trend.js";
import {
  LastHour,
  linePath as sketched,
  rise,
} from "../../../src/leverframe/web/pages/status/tiles.js";
import { controller } from "./browser.mjs";

beforeEach(() => {
  controller.reset();
  location.hash = "";
});

const RAW = {
  ...{ from: 0, to: 100, now: 60, since: 0, step: 0, times: [] },
  series: {
    DS1: { times: [10, 20, 30], values: [20, null, 24] },
    T1: { times: [20, 25], values: [5, 6] },
    OUT2: { times: [10, 40], values: [1, 0] },
    OUT3: { times: [50], values: [1] },
  },
};
const REDUCED = {
  ...{ from: 0, to: 30, now: 60, since: 0, step: 10, times: [0, 10, 20] },
  series: {
    DS1: { min: [1, null, 3], mean: [2, null, 4], max: [3, null, 9] },
    OUT2: { mean: [0, 0.5, 1] },
  },
};

test("a raw value holds until the next one, and the last until now; absent stays absent", () => {
  const one = tableOf(RAW, ["DS1"]);
  assert.deepEqual(one.times, [10, 20, 30, 60]);
  assert.deepEqual(one.columns, [{ values: [20, null, 24, 24] }]);
});

test("several labels stand on common times; one without values is empty", () => {
  const { times, columns } = tableOf(RAW, ["DS1", "T1", "CO2"]);
  assert.deepEqual(times, [10, 20, 25, 30, 60]);
  assert.deepEqual(columns[1].values, [null, 5, 6, 6, 6]);
  assert.deepEqual(columns[2].values, [null, null, null, null, null]);
});

test("a mean stands in the middle of its interval", () => {
  const { times, columns } = tableOf(REDUCED, ["DS1", "CO2"]);
  assert.deepEqual(times, [5, 15, 25]);
  assert.deepEqual(columns[0].mean, [2, null, 4]);
  assert.deepEqual(columns[1].max, [null, null, null]);
});

test("a state is a bar while it was on, of reduced values as high as its share", () => {
  assert.deepEqual(barsOf(RAW, "OUT2"), [[10, 40, 1]]);
  assert.deepEqual(barsOf(RAW, "OUT3"), [[50, 60, 1]]);
  assert.deepEqual(barsOf(RAW, "OUT9"), []);
  assert.deepEqual(barsOf(REDUCED, "OUT2"), [[10, 20, 0.5], [20, 30, 1]]);
  assert.deepEqual(barsOf(REDUCED, "OUT2", true), [[0, 10, 1], [10, 20, 0.5]]);
});

test("lowest, highest and last leave out what is absent", () => {
  assert.deepEqual(summaryOf(RAW, "DS1"), { min: 20, max: 24, last: 24 });
  assert.deepEqual(summaryOf(REDUCED, "DS1"), { min: 1, max: 9, last: 4 });
  assert.deepEqual(summaryOf(RAW, "CO2"), { min: null, max: null, last: null });
});

test("a scale leaves room, and does not blow up a line that hardly moves", () => {
  assert.deepEqual(roomy(null, null), [0, 1]);
  const [low, high] = roomy(10, 20);
  assert.ok(low < 10 && high > 20 && low > 8 && high < 22);
  const [flat, top] = roomy(100, 100);
  assert.ok(top - flat >= 1);
});

const view = (query) => new View(new URLSearchParams(query));

test("the address says which labels and which time are shown", () => {
  assert.deepEqual(view("labels=DS1,T1&range=7d").labels, ["DS1", "T1"]);
  assert.deepEqual(view("range=1h").span(5000), [1400, 5000]);
  assert.deepEqual(view("from=100&to=200").span(5000), [100, 200]);
  assert.equal(view("from=100&to=105").isLive, true);
  assert.equal(view("range=1century").range, "24h");
  assert.equal(view("").labels, null);
});

test("buttons move and zoom, never past now", () => {
  const one = view("range=1h&labels=DS1");
  one.shift(-0.5, 10_000);
  assert.deepEqual(one.span(10_000), [4600, 8200]);
  assert.equal(location.hash, "#/charts?labels=DS1&from=4600&to=8200");
  one.scale(0.5, 10_000);
  assert.deepEqual(one.span(10_000), [5500, 7300]);
  one.shift(5, 10_000);
  assert.deepEqual(one.span(10_000), [8200, 10_000]);
  one.zoom(9000, 9001, 10_000);
  const [from, to] = one.span(10_000);
  assert.equal(to - from, 10);
  one.choose("1h");
  assert.equal(one.isLive, true);
});

test("a label is drawn once, and no more when it is taken off", () => {
  const one = view("labels=DS1,T1");
  one.toggle("DS1", true);
  assert.deepEqual(one.labels, ["T1", "DS1"]);
  one.toggle("T1", false);
  assert.equal(location.hash, "#/charts?labels=DS1&range=24h");
});

// What a chart of one label holds after an answer of the controller.
async function courseOf(answer, labels = ["DS1"]) {
  const course = new ChartCourse();
  controller.answers["/api/history"] = () => structuredClone(answer);
  await course.read(labels, [0, 60]);
  return course;
}

test("a chart continues with what is heard, and is read again after a whole interval", async () => {
  const course = await courseOf(RAW);
  assert.equal(course.extend({ time: 64, DS1: 25 }, [20, 64]), true);
  assert.deepEqual(course.history.series.DS1, { times: [20, 30, 64], values: [null, 24, 25] });
  const reduced = await courseOf({ ...REDUCED, to: 60 });
  assert.equal(reduced.extend({ time: 65 }, [0, 65]), true);
  assert.equal(reduced.extend({ time: 71 }, [0, 71]), false);
});

test("of several values at one moment, a chart ends with the one that was heard last", async () => {
  const course = await courseOf(RAW);
  for (const value of [25, 26]) {
    assert.equal(course.extend({ time: 60, DS1: value }, [20, 60]), true);
  }
  // It came late: the shown time has moved on without it.
  assert.equal(course.extend({ time: 59, DS1: 27 }, [19, 59]), true);
  assert.deepEqual(course.history.series.DS1.values, [null, 24, 25, 26, 27]);
  assert.deepEqual(course.history.series.DS1.times, [20, 30, 60, 60, 60]);
});

test("a chart does not know what was between the end it asked for and the answer", async () => {
  const course = await courseOf({ ...RAW, to: 58 });
  assert.equal(course.extend({ time: 60, DS1: 25 }, [20, 60]), true);
  assert.equal(course.history.series.DS1.values.at(-1), 25);
});

for (const [time, leap] of [
  [65, "forward"],
  [55, "back"],
]) {
  test(`a chart is read again after a leap ${leap}: the gap is unknown`, async () => {
    const course = await courseOf(RAW);
    assert.equal(course.extend({ time, DS1: 25 }, [0, time]), false);
    assert.equal(course.history.series.DS1.values.at(-1), 24);
  });
}

test("a chart continues with what it has where others were chosen and not answered", async () => {
  const course = await courseOf(RAW);
  controller.answers["/api/history"] = () => {
    throw new TypeError("Failed to fetch");
  };
  await assert.rejects(course.read(["CO2"], [0, 60]));
  assert.equal(course.extend({ time: 61, DS1: 25, CO2: 400 }, [0, 61]), true);
  assert.equal(course.history.series.DS1.values.at(-1), 25);
});

test("an answer that comes after a chart was left is not taken", async () => {
  const course = new ChartCourse();
  controller.answers["/api/history"] = () => structuredClone(RAW);
  const reading = course.read(["DS1"], [0, 60]);
  course.leave();
  assert.equal(await reading, false);
  assert.equal(course.history, null);
});

test("history and what happens make one course", () => {
  const series = {
    DS1: { times: [0, 10], values: [20, null] },
    "PWM0.duty": { times: [5], values: [50] },
  };
  const shown = { source: "DS1", output: "PWM0.duty", target: 21 };
  const course = Course.of({ step: 0, to: 30, series }, shown);
  course.add(31, 22, 23, 60);
  course.add(29, 1, 1, 1);
  assert.deepEqual(
    [course.times, course.input, course.target, course.duty],
    [
      [0, 5, 10, 30, 31],
      [20, 20, null, null, 22],
      [21, 21, 21, 21, 23],
      [null, 50, 50, 50, 60],
    ],
  );
  course.add(31 + 15 * 60, 24, 23, 60);
  assert.deepEqual(course.times, [31, 931]);
});

test("the last hour is a line with a gap where nothing was", async () => {
  const hour = new LastHour();
  const series = { DS1: { times: [0, 1800, 2400], values: [20, null, 30] } };
  controller.answers["/api/history"] = () => ({ step: 0, now: 3599, series, times: [] });
  await hour.read(["DS1"]);
  const picture = (limits) => sketched(hour.line("DS1"), limits);
  const before = picture([25, 400]);
  assert.match(before.course, /^M0 .*L29 .*M40 .*L59 /);
  assert.deepEqual(before.limits, ["M0 17.0H59"], "a threshold far away is left out");
  assert.equal(before.silence, "");
  assert.equal(sketched(hour.line("CO2"), [1]).course, "");
  assert.equal(rise(hour.line("DS1")), 10);
  assert.equal(hour.since("DS1"), 40 * 60);
  hour.follow({ time: 3700, DS1: 40 });
  assert.notEqual(picture([]).course, before.course);
  hour.follow({ time: 3800, DS1: null });
  assert.match(picture([]).silence, /^M58 .*H59$/);
});

// A place of 100 pixels that shows the seconds 0 to 1000, and what fingers made of it.
function touchPlace() {
  const listeners = {};
  const place = {
    style: { setProperty() {} },
    clientWidth: 100,
    getBoundingClientRect: () => ({ left: 0 }),
    addEventListener: (name, listener) => (listeners[name] = listener),
  };
  const said = { range: [0, 1000], ended: 0, back: 0 };
  const moves = {
    range: () => said.range,
    show: (from, to) => (said.range = [Math.round(from), Math.round(to)]),
    end: () => said.ended++,
    back: () => said.back++,
  };
  const fingers = new Fingers(place, moves);
  const touch = (name, pointerId, clientX, timeStamp = 0) =>
    listeners[name]({ pointerType: "touch", pointerId, clientX, timeStamp });
  return { said, fingers, touch };
}

test("one finger moves the time under it", () => {
  const { said, touch, fingers } = touchPlace();
  touch("pointerdown", 1, 50);
  touch("pointermove", 1, 53);
  assert.deepEqual(said.range, [0, 1000]);
  touch("pointermove", 1, 70);
  assert.deepEqual(said.range, [-200, 800]);
  assert.equal(fingers.areDown, true);
  touch("pointerup", 1, 70);
  assert.deepEqual([said.ended, fingers.areDown], [1, false]);
});

test("two fingers stretch the time between them, within measure", () => {
  const { said, touch } = touchPlace();
  touch("pointerdown", 1, 25);
  touch("pointerdown", 2, 75);
  touch("pointermove", 2, 100);
  touch("pointermove", 1, 0);
  assert.deepEqual(said.range, [250, 750]);
  touch("pointermove", 2, 1);
  const [from, to] = said.range;
  assert.ok(to - from < 2100);
});

test("two quick taps return, two slow ones do not", () => {
  const { said, touch } = touchPlace();
  for (const time of [0, 1000, 1200]) {
    touch("pointerdown", 1, 50, time);
    touch("pointerup", 1, 50, time);
  }
  assert.equal(said.back, 1);
});

test("a page that is scrolled puts the time back", () => {
  const { said, touch } = touchPlace();
  touch("pointerdown", 1, 50);
  touch("pointermove", 1, 70);
  touch("pointercancel", 1, 70);
  assert.deepEqual([said.range, said.ended], [[0, 1000], 0]);
});

test("what was before is drawn as if it were now, on common times", () => {
  const raw = shift(RAW, 100);
  assert.deepEqual([raw.from, raw.to, raw.now], [100, 200, 160]);
  assert.deepEqual(raw.series.DS1.times, [110, 120, 130]);
  assert.deepEqual(RAW.series.DS1.times, [10, 20, 30]);
  const reduced = shift(REDUCED, 100);
  assert.deepEqual(reduced.times, [100, 110, 120]);
  assert.deepEqual(reduced.series.DS1, REDUCED.series.DS1);
  const drawn = join([[1, 3], [10, null]], [[2, 3], [20, 30]]);
  assert.deepEqual(drawn, [[1, 2, 3], [10, undefined, null], [undefined, 20, 30]]);
});

test("the address keeps what stands behind", () => {
  const one = view("labels=DS1&behind=week");
  assert.equal(one.behind, "week");
  one.putBehind("day");
  assert.ok(location.hash.endsWith("behind=day"));
  one.putBehind(null);
  assert.ok(!location.hash.includes("behind"));
  assert.equal(view("behind=century").behind, null);
});

test("an axis has the decimals that its steps need", () => {
  assert.deepEqual([10, 2.5, 0.5, 0.25, 0.001].map(digitsOf), [0, 1, 1, 2, 3]);
});
