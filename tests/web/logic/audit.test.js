// Who changed what: things by their names, settings by their labels, values as people write them.

import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";

import { asEntries, auditWords } from "../../../src/leverframe/web/pages/log/entries.js";
import * as words from "../../../src/leverframe/web/lib/format/words.js";
import { openContext } from "./helpers.js";

let context;
before(async () => {
  context = await openContext();
  await Promise.all([words.usePageWords("log"), words.completeWords()]);
  context.overview.name = (label) => ({ OUT0: "Pump", DS1: "Bed", PWM0: "Heater" })[label] ?? "";
  context.overview.isInverted = () => false;
});
beforeEach(() => words.chooseLanguage("en"));

const entry = (...changes) => ({
  number: 1,
  time: 0,
  cause: "command",
  detail: "",
  account: "admin",
  source: "10.0.0.2",
  changes: changes.map(([path, old, now]) => ({ path, old, new: now })),
  not_listed: 0,
});

async function linesOf(...changes) {
  const entries = [entry(...changes)];
  await auditWords(entries);
  return asEntries(context, entries)[0].lines;
}
const lineOf = async (...change) => (await linesOf(change))[0];

test("a setting is shown by its thing, its label and values as people write them", async () => {
  assert.equal(await lineOf("outputs.0.name", "", "Pump"), "Pump · Name: “” → “Pump”");
  assert.match(await lineOf("outputs.0.return_time", 0, 600), /^Pump · .*: 0 s → 10 min$/);
  assert.match(await lineOf("schedule.0.time", 64_800, 50_460), /: 18:00 → 14:01$/);
  assert.match(await lineOf("schedule.0.value", 1, 0), /: on → off$/);
  assert.match(await lineOf("pid.source", "VCC", "DS1"), /^PID regulator · .*: .* → Bed$/);
  assert.match(await lineOf("mqtt.tls", false, true), /^MQTT · .*: off → on$/);
  assert.match(await lineOf("rules.0.compare", ">=", "<"), /: ≥ → <$/);
  assert.match(await lineOf("rules.0.operator", "-", "AND"), /: – → AND$/);
  assert.match(await lineOf("analog_inputs.1.sensor", "off", "4..20mA"), /: off → /);
  assert.match(await lineOf("modbus_writes.0.type", "coil", "int16"), /: coil → int16$/);
  assert.match(await lineOf("schedule.0.days", ["Mon"], ["Sat", "Sun"]), /: Mon → Sat, Sun$/);
  assert.equal(await lineOf("modbus_mapping.1.slot", 0, 1), "Modbus reading 2 · Slot: 0 → 1");
  assert.equal(
    await lineOf("modbus_mapping.1.reading", 0, 1),
    "Modbus reading 2 · Number of the reading: 0 → 1",
  );
  assert.match(await lineOf("modbus_writes.0.on_value", 0, 1), /^Modbus write 1 · /);
  // A name that looks like a number or a sign stays a text.
  assert.match(await lineOf("outputs.0.name", "-", "<"), /“-” → “<”$/);
  assert.match(await lineOf("outputs.0.name", "12", "13"), /“12” → “13”$/);
});

test("a text is shown as the thing that it is, also where its list changed as one", async () => {
  const texts = ["variables.strings", ["a", "b"], ["a", "12"]];
  assert.deepEqual(await linesOf(texts), ["Text 1 · Value: “b” → “12”"]);
  words.chooseLanguage("pl");
  assert.deepEqual(await linesOf(texts), ["Tekst 1 · Wartość: “b” → “12”"]);
});

test("a rule that came or went is one line, with its settings in a fold", async () => {
  const leaves = ["action", "enabled", "name"].map((field) => [`rules.1.${field}`, null, "Frost"]);
  const changes = [...leaves, ["rules.1.depends", null, null], ["outputs.0.name", "", "Pump"]];
  await auditWords([entry(...changes)]);
  const [added] = asEntries(context, [entry(...changes)]);
  assert.deepEqual(added.lines, ["Rule Frost added", "Pump · Name: “” → “Pump”"]);
  assert.equal(added.details.length, 3);
  const gone = leaves.map(([path, , value]) => [path, value, null]);
  assert.deepEqual(await linesOf(...gone), ["Rule Frost removed"]);
  // A field that an entry may lack is no entry.
  assert.match((await linesOf(["schedule.0.date", null, "2026-03-29"]))[0], /^Schedule 1 · /);
});

test("what is new and has no value is left out", async () => {
  const lines = await linesOf(["schedule.0.date", null, null], ["schedule.0.time", null, 3600]);
  assert.equal(lines.length, 1);
  assert.match(lines[0], /: 01:00$/);
});

test("secrets are not shown, nor is a change between two of them", async () => {
  assert.match(await lineOf("mqtt.password", "***", "***"), /^MQTT · .*: changed$/);
  assert.match(await lineOf("mqtt.password", null, "***"), /: •••$/);
});

test("what was switched or done is shown in words", async () => {
  assert.equal(await lineOf("OUT0", 0, 1), "Pump: off → on");
  assert.equal(await lineOf("OUT0", 0, "on for 10 s"), "Pump: off → on for 10 s");
  assert.equal(await lineOf("PWM0.duty", 30, "as set"), "Duty of Heater: 30 % → as set");
  assert.equal(await lineOf("restart flag", null, "done"), "Restart flag set");
  assert.equal(await lineOf("modem command", null, "***"), "Modem command: •••");
  assert.equal(await lineOf("picture", null, "900 bytes"), "Picture: 900 bytes");
  const followed = await lineOf("AutoSwitch OUT0", "overridden", "as set");
  assert.match(followed, /^periodic .*Pump: .* → as set/);
  assert.equal(await lineOf("Modbus slot 1 coil 5", null, 1), "Modbus slot 1, coil 5: 1");
  assert.match(await lineOf("clock", 0, 86_400), /^Clock: .*1970.* → .*1970/);
});

test("no line shows a path or an English word in another language", async () => {
  words.chooseLanguage("pl");
  const lines = await linesOf(
    ["outputs.0.return_time", 0, 5],
    ["counters and remembered states", null, "done"],
    ["OUT0", 1, 0],
    ["Modbus slot 2 register 40001", null, 3],
    ["restore-report", null, "90 bytes"],
    ["PWM0.duty", 3, "as set"],
  );
  const english = /outputs\.|done|register|bytes|as set|report/;
  for (const line of lines) assert.doesNotMatch(line, english);
});
