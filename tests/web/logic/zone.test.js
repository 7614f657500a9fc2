// Times are those of the place, whatever the zone of the browser.

import assert from "node:assert/strict";
import { afterEach, before, test } from "node:test";

import { textOf } from "./helpers.js";
import { roundTimes } from "../../../src/leverframe/web/lib/things/axes.js";
import { dayName } from "../../../src/leverframe/web/lib/things/journal.js";
import {
  dayNumber,
  dayText,
  fullMoment,
  isoDay,
  moment,
  shortMoment,
  weekdayName,
} from "../../../src/leverframe/web/lib/format/moments.js";
import { secondsUntil, secondsWritten } from "../../../src/leverframe/web/lib/things/switches.js";
import * as words from "../../../src/leverframe/web/lib/format/words.js";
import {
  dayOf,
  dayStart,
  momentOf,
  momentsOf,
  offsetAt,
  secondOfDay,
  displayZone,
  useZone,
  wallOf,
  weekdayOf,
  zoneName,
} from "../../../src/leverframe/web/lib/format/zone.js";
import { zoneNote } from "../../../src/leverframe/web/lib/format/moments.js";

const HOUR = 3600;
const DAY = 24 * HOUR;
const at = (text) => Date.parse(`${text}Z`) / 1000;
const isos = (moments) => moments.map((one) => new Date(one * 1000).toISOString().slice(0, 16));

before(async () => {
  // Readers of all tests live in New York.
  process.env.TZ = "America/New_York";
  await words.startWords();
  await words.fetchWords("journal");
});
afterEach(() => useZone(""));

for (const [zone, moment_, hours] of [
  ["UTC", "2026-07-01T12:00", 0],
  ["Europe/Warsaw", "2026-01-01T12:00", 1],
  ["Europe/Warsaw", "2026-07-01T12:00", 2],
  ["America/New_York", "2026-07-01T12:00", -4],
  ["Asia/Kolkata", "2026-07-01T12:00", 5.5],
  ["Asia/Kathmandu", "2026-07-01T12:00", 5.75],
  ["America/St_Johns", "2026-01-01T12:00", -3.5],
  // Half an hour of daylight saving.
  ["Australia/Lord_Howe", "2026-01-01T12:00", 11],
  ["Australia/Lord_Howe", "2026-07-01T12:00", 10.5],
  ["Pacific/Kiritimati", "2026-07-01T12:00", 14],
]) {
  test(`clocks in ${zone} are ${hours} h ahead of UTC at ${moment_}`, () => {
    useZone(zone);
    assert.equal(offsetAt(at(moment_)), hours * HOUR);
    assert.equal(wallOf(at(moment_)), at(moment_) + hours * HOUR);
    assert.deepEqual(momentsOf(wallOf(at(moment_))), [at(moment_)]);
  });
}

test("the offset changes in the second in which clocks do", () => {
  useZone("Europe/Warsaw");
  const [spring, autumn] = [at("2026-03-29T01:00"), at("2026-10-25T01:00")];
  assert.deepEqual([spring - 1, spring].map(offsetAt), [HOUR, 2 * HOUR]);
  assert.deepEqual([autumn - 1, autumn].map(offsetAt), [2 * HOUR, HOUR]);
});

test("a time that the clock leaves out is the moment of the change, as for the schedule", () => {
  useZone("Europe/Warsaw");
  for (const missing of ["02:00", "02:30", "02:59"]) {
    assert.deepEqual(isos(momentsOf(at(`2026-03-29T${missing}`))), ["2026-03-29T01:00"], missing);
  }
  assert.equal(momentOf(at("2026-03-29T01:59")), at("2026-03-29T00:59"));
  assert.equal(momentOf(at("2026-03-29T03:00")), at("2026-03-29T01:00"));
  useZone("Australia/Lord_Howe");
  assert.deepEqual(isos(momentsOf(at("2026-10-04T02:15"))), ["2026-10-03T15:30"]);
  // A whole day was left out.
  useZone("Pacific/Apia");
  assert.deepEqual(isos(momentsOf(at("2011-12-30T12:00"))), ["2011-12-30T10:00"]);
});

test("a time that the clock shows twice are two moments, of which the first counts", () => {
  useZone("Europe/Warsaw");
  const twice = at("2026-10-25T02:30");
  assert.deepEqual(isos(momentsOf(twice)), ["2026-10-25T00:30", "2026-10-25T01:30"]);
  assert.equal(momentOf(twice), at("2026-10-25T00:30"));
  assert.deepEqual(isos(momentsOf(at("2026-10-25T03:00"))), ["2026-10-25T02:00"]);
});

test("days begin at midnight of the place and are shorter and longer where clocks change", () => {
  useZone("Europe/Warsaw");
  const noon = at("2026-03-29T10:00");
  assert.deepEqual(isos([dayStart(noon, -1), dayStart(noon), dayStart(noon, 1)]), [
    "2026-03-27T23:00",
    "2026-03-28T23:00",
    "2026-03-29T22:00",
  ]);
  const late = at("2026-10-25T22:30");
  assert.equal(dayStart(late, 1) - dayStart(late), 25 * HOUR);
  assert.equal(isoDay(dayOf(late)), "2026-10-25");
  useZone("Asia/Kolkata");
  assert.deepEqual(isos([dayStart(at("2026-05-01T18:29")), dayStart(at("2026-05-01T18:30"))]), [
    "2026-04-30T18:30",
    "2026-05-01T18:30",
  ]);
  // Where midnight itself is left out, a day begins at one o'clock.
  useZone("America/Santiago");
  assert.deepEqual(isos([dayStart(at("2026-09-06T15:00"))]), ["2026-09-06T04:00"]);
});

test("the day, its weekday and how far it has come are those of the place", () => {
  const evening = at("2026-11-15T23:30:15");
  const dayParts = () => [isoDay(dayOf(evening)), weekdayOf(evening), secondOfDay(evening)];
  useZone("Europe/Warsaw");
  assert.deepEqual(dayParts(), ["2026-11-16", 0, 30 * 60 + 15]);
  useZone("America/New_York");
  assert.deepEqual(dayParts(), ["2026-11-15", 6, 18 * HOUR + 30 * 60 + 15]);
  assert.equal(dayOf(at("1969-12-31T12:00")), -1);
});

test("moments are written with the clock of the place", () => {
  const evening = at("2026-11-15T23:30:15");
  useZone("Asia/Kathmandu");
  assert.equal(words.clock(evening), "05:15:15");
  assert.equal(moment(evening), "05:15:15");
  assert.equal(shortMoment(evening), "05:15");
  assert.equal(shortMoment(evening, evening - 6 * HOUR), "Nov 16 05:15");
  assert.match(fullMoment(evening, { dateStyle: "medium", timeStyle: "short" }), /Nov 16.*05:15/);
});

test("a name of a day is the same in every zone", () => {
  for (const zone of ["", "Pacific/Kiritimati", "Pacific/Pago_Pago"]) {
    useZone(zone);
    assert.deepEqual([0, 6].map(weekdayName), ["Mon", "Sun"]);
    assert.equal(dayText(dayNumber("2026-01-31"), { dateStyle: "medium" }), "Jan 31, 2026");
  }
});

test("the journal's days are those of the place", () => {
  const now = at("2026-01-01T23:30");
  const moments = [now, now - HOUR, now - 24 * HOUR, now - 25 * HOUR];
  const days = () =>
    words.speaking("journal", () => moments.map((one) => dayName(one, now)));
  useZone("Europe/Warsaw");
  const [today, yesterday, same, before_] = days();
  assert.deepEqual([today, yesterday], ["Today", "Yesterday, Thursday 1 January"]);
  assert.equal(same, yesterday);
  assert.match(before_, /^Wednesday.* 31 December 2025$/);
  useZone("UTC");
  assert.equal(days()[1], "Today");
});

for (const [time, now, hours] of [
  ["22:00", "2026-07-01T12:00", 8],
  ["14:00", "2026-07-01T12:00", 24],
  ["13:59", "2026-07-01T12:00", 24 - 1 / 60],
  // The night in which clocks are put forward is an hour shorter, and the other one longer.
  ["06:00", "2026-03-28T21:00", 7],
  ["06:00", "2026-10-24T20:00", 9],
  // What the clock shows twice is the next of them.
  ["02:30", "2026-10-25T00:15", 0.25],
  ["02:30", "2026-10-25T00:45", 0.75],
  ["02:30", "2026-03-29T00:30", 0.5],
]) {
  test(`from ${now} UTC until ${time} in Warsaw it takes ${hours} h`, () => {
    useZone("Europe/Warsaw");
    assert.equal(secondsUntil(time, at(now)), hours * HOUR);
  });
}

test("until a time are whole seconds, which end when the clock shows it", () => {
  useZone("Asia/Kolkata");
  assert.equal(secondsUntil("18:00", at("2026-07-01T12:29:00") + 0.4), 60);
  assert.equal(secondsWritten("6:00 pm", at("2026-07-01T12:29:00")), 60);
});

test("marks stand at round times of the place", () => {
  useZone("Asia/Kolkata");
  const [from, to] = [at("2026-07-01T12:00"), at("2026-07-01T16:00")];
  assert.deepEqual(roundTimes(from, to, HOUR).map(words.clock), [
    "18:00:00",
    "19:00:00",
    "20:00:00",
    "21:00:00",
  ]);
  const days = roundTimes(at("2026-07-01T00:00"), at("2026-07-03T00:00"), DAY);
  assert.deepEqual(isos(days), ["2026-07-01T18:30", "2026-07-02T18:30"]);
});

test("marks stay at round times where clocks change", () => {
  useZone("Europe/Warsaw");
  const hours = (from, to, step) =>
    roundTimes(at(from), at(to), step).map((one) => words.clock(one).slice(0, 5));
  assert.deepEqual(hours("2026-03-28T23:00", "2026-03-29T11:00", 3 * HOUR), [
    ...["00:00", "03:00", "06:00", "09:00", "12:00"],
  ]);
  assert.deepEqual(hours("2026-03-29T00:00", "2026-03-29T02:00", HOUR), [
    ...["01:00", "03:00", "04:00"],
  ]);
  assert.deepEqual(hours("2026-10-25T00:00", "2026-10-25T02:00", HOUR), [
    ...["02:00", "02:00", "03:00"],
  ]);
  assert.deepEqual(hours("2026-10-25T00:50", "2026-10-25T01:05", 300), [
    ...["02:50", "02:55", "02:00", "02:05"],
  ]);
  const days = roundTimes(at("2026-03-27T00:00"), at("2026-03-31T00:00"), DAY);
  assert.deepEqual(days.map(secondOfDay), [0, 0, 0, 0]);
});

test("marks of months stand at their first day", () => {
  useZone("Europe/Warsaw");
  const marks = (from, to, step) => isos(roundTimes(at(from), at(to), step));
  assert.deepEqual(marks("2025-12-15T00:00", "2026-04-15T00:00", 30 * DAY), [
    ...["2025-12-31T23:00", "2026-01-31T23:00", "2026-02-28T23:00", "2026-03-31T22:00"],
  ]);
  assert.deepEqual(marks("2025-12-15T00:00", "2026-12-15T00:00", 90 * DAY), [
    ...["2025-12-31T23:00", "2026-03-31T22:00", "2026-06-30T22:00", "2026-09-30T22:00"],
  ]);
  assert.deepEqual(marks("2024-06-01T00:00", "2026-06-01T00:00", 365 * DAY), [
    ...["2024-12-31T23:00", "2025-12-31T23:00"],
  ]);
});

test("a reader elsewhere sees whose the times are", () => {
  const noteOf = (zone, time) => {
    useZone(zone);
    return textOf(zoneNote(at(time)));
  };
  assert.equal(
    noteOf("Europe/Warsaw", "2026-11-17T13:05"),
    "Times are in Europe/Warsaw (now 14:05); your time is 6 h behind.",
  );
  // For a week of March it is an hour less.
  assert.match(noteOf("Europe/Warsaw", "2026-03-10T13:05"), /5 h behind/);
  assert.match(noteOf("America/Los_Angeles", "2026-11-17T13:05"), /Los Angeles .*05:05.*3 h ahead/);
  assert.match(noteOf("Asia/Kolkata", "2026-11-17T13:05"), /10 h 30 min behind/);
});

test("nothing is said where the clocks agree, whatever the zone is called", () => {
  for (const zone of ["", "America/New_York", "America/Toronto"]) {
    useZone(zone);
    assert.equal(textOf(zoneNote(at("2026-11-17T13:05"))), "");
  }
  useZone("Europe/Warsaw");
  assert.equal(textOf(zoneNote(undefined)), "");
});

test("a zone that the browser does not know leaves the reader's own, and that is said", () => {
  useZone("Europe/Atlantis");
  assert.equal(displayZone(), undefined);
  assert.equal(zoneName(), "Europe/Atlantis");
  assert.equal(words.clock(at("2026-11-17T13:05")), "08:05:00");
  assert.match(textOf(zoneNote(at("2026-11-17T13:05"))), /does not know .* Europe\/Atlantis/);
});
