// Durations as people write them, and numbers in the scale that people use.

import assert from "node:assert/strict";
import { afterEach, before, test } from "node:test";

import { NEVER } from "../../../src/leverframe/web/lib/forms/bound_field.js";
import {
  durationText,
  inOneUnit,
  limitDuration,
  roughText,
  secondsOf,
} from "../../../src/leverframe/web/lib/format/numbers.js";
import { Form } from "../../../src/leverframe/web/lib/forms/form.js";
import {
  limitsText,
  problemOf,
  toTyped,
  valueFrom,
} from "../../../src/leverframe/web/lib/forms/schema.js";
import { secondsWritten, tidyWritten } from "../../../src/leverframe/web/lib/things/switches.js";
import { shownSpan } from "../../../src/leverframe/web/pages/timeline/story.js";
import * as words from "../../../src/leverframe/web/lib/format/words.js";
import { controller } from "./browser.mjs";
import { openContext, targets, textOf } from "./helpers.js";

before(openContext);
afterEach(() => {
  controller.reset();
  words.chooseLanguage("en");
});

const DAY_S = 86_400;

test("a duration is written in the units that people use", () => {
  const written = [0, 10, 300, 5100, 90_061, 0.5, 85.25].map(durationText);
  assert.deepEqual(written, [
    "0 s",
    "10 s",
    "5 min",
    "1 h 25 min",
    "1 d 1 h 1 min 1 s",
    "0.5 s",
    "1 min 25.25 s",
  ]);
});

test("a limit is as precise as people write it, and never too high", () => {
  assert.deepEqual([327_670, DAY_S, 3599].map(limitDuration), ["3 d 19 h", "1 d", "59 min 59 s"]);
});

test("how long something is to be on is written in any way", () => {
  const now = 1_000_000;
  const times = ["90 s", "1 h 30 min", "3 d", "90", "0.5 h"];
  const seconds = times.map((text) => secondsWritten(text, now));
  assert.deepEqual(seconds, [90, 5400, 3 * DAY_S, 90, 1800]);
  assert.deepEqual(["", "soon", "0 s", "25:00"].map((text) => secondsWritten(text, now)), [
    ...[null, null, null, null],
  ]);
  assert.deepEqual(["90", "8:30 pm"].map(tidyWritten), ["1 min 30 s", "until 20:30"]);
});

test("a time between two minutes is that of the minutes which stand beside it", () => {
  const [begin, end] = [22 * 3600 + 5, 22 * 3600 + 41 * 60 + 50];
  assert.equal(roughText(shownSpan(begin, end)), "41 min");
  assert.equal(roughText(shownSpan(begin, begin + 62)), "1 min 2 s");
});

test("the units are those of the reader's language", () => {
  const days = { en: "5 d", pl: "5 dni", fr: "5 j", hu: "5 nap", cs: "5 dní" };
  for (const [language, text] of Object.entries(days)) {
    words.chooseLanguage(language);
    assert.equal(durationText(5 * DAY_S), text);
  }
  const countTexts = (...counts) => counts.map((count) => durationText(count * DAY_S));
  assert.deepEqual(countTexts(1, 2, 5), ["1 den", "2 dny", "5 dní"]);
  words.chooseLanguage("pl");
  assert.deepEqual(countTexts(1, 2, 22), ["1 dzień", "2 dni", "22 dni"]);
  words.chooseLanguage("hu");
  assert.deepEqual([3690, 0.5].map(durationText), ["1 óra 1 perc 30 mp", "0,5 mp"]);
});

test("one unit is enough where only the size matters", () => {
  assert.deepEqual([2 * DAY_S, DAY_S, 119, 3].map(inOneUnit), ["2 d", "24 h", "119 s", "3 s"]);
});

test("what is written is read as it was, in every language", () => {
  for (const language of Object.keys(words.LANGUAGES)) {
    words.chooseLanguage(language);
    for (let seconds = 0; seconds < 2 * DAY_S; seconds = seconds * 1.7 + 0.1) {
      const whole = Math.round(seconds * 10) / 10;
      assert.equal(secondsOf(durationText(whole)), whole, durationText(whole));
    }
    assert.equal(secondsOf(durationText(2 ** 31 - 1)), 2 ** 31 - 1);
  }
});

test("people say durations in several ways", () => {
  const said = ["90", "90 s", "1.5 min", "1,5 min", "1min30s", "90 sek.", "1,5 perc"];
  assert.deepEqual(new Set(said.map(secondsOf)), new Set([90]));
  assert.deepEqual(["2 godz.", "1 óra", "1 j"].map(secondsOf), [7200, 3600, DAY_S]);
});

test("what is no duration is none", () => {
  const wrong = ["", " ", "soon", "5 miles", "10 s 5 min", "5 min 5 min", "-5 s", "1:30", "1 2"];
  assert.deepEqual(wrong.filter((text) => !Number.isNaN(secondsOf(text))), []);
});

test("what is shown in passing is as precise as people care to hear", () => {
  const texts = [40, 300, 320, 7200, 23_430, 90_000, 400_000].map(roughText);
  const spoken = ["40 s", "5 min", "5 min 20 s", "2 h", "6 h 31 min", "1 d 1 h", "4 d 15 h"];
  assert.deepEqual(texts, spoken);
});

const TIME = { type: "integer", minimum: 1, maximum: 3600, "x-quantity": "duration" };
const ENDLESS = { ...TIME, minimum: 0, maximum: 2 ** 31 - 1 };

test("limits of durations are durations, and the end of a counter is no limit", () => {
  assert.equal(limitsText(TIME), "1 s to 1 h");
  assert.equal(problemOf(TIME, "2 h"), "Out of range. Allowed: 1 s to 1 h.");
  assert.equal(problemOf(TIME, "soon"), "Not a duration. Write 10 s, 5 min or 1 h 25 min.");
  assert.equal(problemOf(TIME, "0.5 s"), "Out of range. Allowed: 1 s to 1 h.");
  assert.equal(problemOf(TIME, "1.5 s"), "Allowed in steps of 1 s.");
  assert.equal(limitsText(ENDLESS), "");
  assert.equal(problemOf(ENDLESS, "99999 d"), "Above the largest value of the controller.");
  const from1 = { type: "integer", minimum: 1, maximum: 2 ** 31 - 1 };
  assert.equal(limitsText(from1), "");
  assert.equal(problemOf(from1, "0"), "At least 1.");
  assert.equal(problemOf(from1, "many"), "Not a number.");
});

test("a setting in hundredths is typed as the number that it is", () => {
  const gain = { type: "integer", minimum: -(2 ** 31), maximum: 2 ** 31 - 1, "x-per": 100 };
  assert.equal(toTyped(gain, 125), "1.25");
  assert.equal(valueFrom(gain, "1,25"), 125);
  assert.equal(valueFrom(gain, toTyped(gain, 7)), 7);
  assert.equal(problemOf(gain, "1.255"), "Allowed in steps of 0.01.");
});

test("a field takes a duration, and says never instead of 0", async () => {
  const context = await openContext();
  const at = { A: 1 };
  const spec = { command: "ortime", at, label: "name", unit: "s", none: NEVER };
  const form = new Form(context, { heading: "x", fields: [spec] });
  const [field] = form.fields;
  assert.equal(field.typed, "never");
  form.type(field, "1 h 25 min");
  assert.ok(textOf(form.view()).includes("changed"));
  await form.save();
  assert.deepEqual(targets(), ["/outs.cgi?ortime=15100"]);
  context.settings.outputs[1].return_time = 600;
  form.restore();
  assert.equal(field.typed, "10 min");
  form.type(field, "600 s");
  assert.equal(field.isChanged, false);
  form.type(field, "");
  assert.equal(field.value({}), 0);
  assert.equal(field.problem({}, true), null);
});
