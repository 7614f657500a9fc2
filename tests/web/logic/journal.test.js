// The journal as people read it: sentences from structure, in every language, by day, folded.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, beforeEach, test } from "node:test";

import {
  JournalReader,
  emptyJournal,
  fold,
  groupOf,
  journalList,
  journalWords,
  plainText,
  thingsOf,
} from "../../../src/leverframe/web/lib/things/journal.js";
import {
  settingName,
  settingWords,
  thingOfSetting,
} from "../../../src/leverframe/web/lib/format/setting_words.js";
import * as words from "../../../src/leverframe/web/lib/format/words.js";
import { controller } from "./browser.mjs";
import { markup, openContext, textOf } from "./helpers.js";

const NOON = new Date(2024, 4, 15, 12).getTime() / 1000;
const DAY_S = 86_400;
const LANGUAGES = ["en", "pl", "fr", "hu", "cs"];
const WORDS = JSON.parse(
  readFileSync(
    new URL("../../../src/leverframe/web/words/journal.json", import.meta.url),
    "utf8",
  ),
);

let context;
let count = 0;
before(async () => {
  context = await openContext();
  await journalWords();
  context.live.state.time = NOON;
  const { settings } = context;
  settings.rules = [{ name: "Greenhouse heating", action: "OUT1" }];
  settings.watchdog[0].host = "router";
  context.overview.name = (label) => ({ OUT0: "Pump", OUT1: "Heating", DS1: "Bed" })[label] ?? "";
  context.overview.unit = (label) => (label === "DS1" ? "°C" : "");
});
beforeEach(() => words.chooseLanguage("en"));

const entry = (what, more = {}) => ({
  number: ++count,
  time: NOON,
  cause: "command",
  detail: "admin 127.0.0.1",
  text: "",
  what,
  which: null,
  from: null,
  to: null,
  figures: {},
  after: null,
  ...more,
  by: { kind: more.cause ?? "command", ...more.by },
});
// Signs of comparisons are no markup.
const say = (...entries) =>
  textOf(markup(journalList(context, entries)).replaceAll("\u00a0<\u00a0", " &lt; "))
    .replaceAll("&lt;", "<")
    .replaceAll("\u00a0", " ");
const heating = (what, decided) =>
  entry(what, {
    which: "OUT1",
    cause: "rule",
    by: { number: 1, conditions: [{ label: "DS1", compare: "<", ...decided }] },
  });
const change = (path, more = {}) =>
  entry("settings", {
    figures: { changes: [{ path, old: 0, new: 5 }], left_out: 0, uploads: {} },
    by: { account: "admin" },
    ...more,
  });

test("a simulated fault is shown in words, with the thing that it is of", async () => {
  await words.fetchWords("simulation");
  const fault = (text) => entry("fault_begins", { cause: "fault", figures: { text } });
  const read = (text) => say(fault(text));
  assert.match(read("sensor_85*label:DS1"), /Bed.*thermometer shows 85 °C/);
  for (const language of LANGUAGES) {
    words.chooseLanguage(language);
    assert.doesNotMatch(read("sensor_85*label:DS1"), /sensor_85|label|DS1/, language);
    assert.match(read("sensor_85*label:DS1"), /Bed/, language);
    assert.doesNotMatch(read("half_open*path:/json/"), /_|\*|\{/, language);
  }
});

test("what a fault reads stands with its unit, or as the state that it is", () => {
  const read = (which, shown, value) =>
    say(entry("fault_reads", { which, cause: "fault", figures: { shown, value } }));
  assert.match(read("DS1", "85", 1), /Bed reads 85 °C instead of 1 °C/);
  assert.match(read("DS1", "85", null), /85 °C instead of no value/);
  assert.match(read("DS1", "absent", 20.5), /no value instead of 20\.5 °C/);
  assert.match(read("INPA1", "0.1", 2.5), /0\.1 V instead of 2\.5 V/);
  assert.match(read("INPD1", "1", 0), /reads open instead of closed/);
});

test("a switching names the thing, its state and who or what did it, with the numbers", () => {
  const off = entry("off", {
    which: "OUT0",
    cause: "timer",
    by: { detail: "return time", seconds: 600 },
  });
  assert.match(say(off), /Pump off return time of 10 min$/);
  const on = heating("on", { value: 17.7, threshold: 18, is_met: true });
  assert.match(say(on), /Heating on rule Greenhouse heating \(17\.7 °C < 18 °C\)$/);
  const ended = heating("off", { value: 20.2, threshold: 20, is_met: false });
  assert.match(say(ended), /Heating off rule Greenhouse heating \(20\.2 °C ≥ 20 °C\)$/);
  words.chooseLanguage("pl");
  assert.match(say(on), /Heating: wł\. reguła Greenhouse heating \(17,7 °C < 18 °C\)$/);
});

test("the name leads to the drawer, the time to the timeline at that moment", () => {
  const html = markup(journalList(context, [entry("on", { which: "OUT0" })]));
  assert.match(html, /thing=OUT0/);
  assert.match(html, new RegExp(`timeline\\?at=${NOON}`));
});

test("a search finds what is read, and no address", () => {
  const on = entry("on", { which: "OUT0" });
  const text = plainText(context, on, [on]);
  assert.match(text, /Pump/);
  assert.doesNotMatch(text, /thing=|#/);
});

test("of two conditions each has its name, and contacts are open or closed", () => {
  const both = heating("on", { value: 17, threshold: 18, is_met: true });
  both.by.conditions.push({ label: "INPD1", value: 1, compare: "=", threshold: 1, is_met: true });
  both.by.conditions.push({ label: "DS2", value: null, compare: "<", threshold: 1 });
  assert.match(say(both), /\(Bed 17 °C < 18 °C, .* (open|closed), .*no value\)$/);
});

test("who asked is named by account, address or the way that it came", () => {
  const requesterOf = (by, detail = "") =>
    say(entry("on", { which: "OUT0", detail, by: { ...by, detail } })).replace(/.*Pump on ?/, "");
  assert.equal(requesterOf({ account: "admin", source: "10.0.0.9" }), "by admin");
  assert.equal(requesterOf({ source: "10.0.0.9" }), "from 10.0.0.9");
  assert.equal(requesterOf({ source: "MQTT" }, "MQTT"), "via MQTT");
  assert.equal(requesterOf({ source: "+420" }, "SMS from +420"), "via SMS, from +420");
});

test("settings of one thing are folded, those of others are not", () => {
  const three = ["return_time", "name", "remember"].map((field) => change(`outputs.0.${field}`));
  assert.equal(fold(three).length, 1);
  assert.match(say(...three), /3 settings of Pump changed by admin · show/);
  assert.match(say(change("outputs.0.name")), /1 setting of Pump changed/);
  words.chooseLanguage("cs");
  assert.match(say(...three), /Pump: 3 nastavení změněna/);
  words.chooseLanguage("en");
  assert.equal(fold([change("outputs.0.name"), change("outputs.1.name")]).length, 2);
  const later = change("outputs.0.name", { time: NOON + 600 });
  assert.equal(fold([change("outputs.0.name"), later]).length, 2);
  const figures = { changes: [{ path: "mqtt.host" }], left_out: 2 };
  const others = change("mqtt.host", { figures });
  assert.match(say(others), /3 settings of MQTT changed by admin · show .* changedand 2 more/);
  assert.equal(fold([change("mqtt.host"), change("mqtt.port")]).length, 1);
  assert.equal(fold([change("mqtt.host"), change("snmp.enabled")]).length, 2);
  const both = { changes: [{ path: "mqtt.host" }, { path: "snmp.enabled" }], left_out: 0 };
  assert.match(say(change("", { figures: both })), /2 settings changed by admin/);
});

test("a contact is shown by its name, and a flood of changes by their number", () => {
  const input = (what, figures = {}) => entry(what, { which: "INPD1", cause: "input", figures });
  assert.match(say(input("opened")), /Input 1 opened$/);
  const often = input("closed_often", { count: 40, seconds: 59 });
  assert.match(say(often), /40 more times within 59 s and is closed$/);
  assert.equal(groupOf(input("opened")), "inputs");
  assert.deepEqual(thingsOf(input("closed")), ["INPD1"]);
  words.chooseLanguage("cs");
  assert.match(say(input("opened")), /Vstup 1: rozepnuto$/);
});

test("a regulated output names the regulator", () => {
  const by = { detail: "PID regulator" };
  const one = entry("pid_regulates", { which: "PWM0", cause: "timer", by });
  assert.match(say(one), /PWM output 0 is being regulated PID regulator$/);
});

test("a setting of a list is named by its place, one that is not known by its path", async () => {
  const readings = "modbus_devices.0.readings.3.unit";
  await settingWords(["http.1.url", "gsm.code", readings, "schedule.2.time"]);
  assert.match(settingName(context, "http.1.url"), /^HTTP requests 2 · \p{Lu}/u);
  assert.match(settingName(context, readings), /^Modbus devices 1 · .* 4$/);
  assert.match(settingName(context, "gsm.sms.1.on_text"), / · SMS2: /);
  assert.equal(settingName(context, "modbus_mapping"), "Modbus");
  assert.equal(settingName(context, "rules.0"), "Greenhouse heating");
  assert.equal(settingName(context, "strange.thing"), "strange.thing");
});

test("what was set is shown by its thing, its field and values as people write them", async () => {
  const set = (path, old, now) =>
    change(path, { figures: { changes: [{ path, old, new: now }] } });
  const time = set("outputs.0.return_time", 0, 600);
  // Words that no other test has fetched.
  assert.match(say(set("watchdog.0.delay", 0, 60)), /show watchdog\.0\.delay:/);
  const paths = ["outputs.0.return_time", "mqtt.host", "pid.kp", "layout.top", "rules.0.enabled"];
  await settingWords(paths);
  assert.match(say(time), /show Pump · Switch off automatically after: .* → 10 min/);
  assert.match(say(set("outputs.0.remember", false, true)), /: off → on/);
  assert.match(say(set("mqtt.host", '""', '"hub"')), /MQTT · .*: “” → “hub”/);
  assert.match(say(set("pid.kp", 0, 150)), /PID regulator · .* → 1\.5/);
  assert.match(say(set("pid.source", '"VCC"', '"DS1"')), / → Bed/);
  assert.match(say(set("rules.0.enabled", false, true)), /Enabled: off → on/);
  assert.match(say(set("outputs.0.strange", 1, 2)), /outputs\.0\.strange: 1 → 2/);
  assert.match(say(set("layout.top", "[1,2", "[1,3")), /Arrange: “\[1,2” → “\[1,3”/);
});

test("texts are shown as the things that they are, in the language of the page", async () => {
  const path = "variables.strings";
  const set = (old, now) => change(path, { figures: { changes: [{ path, old, new: now }] } });
  await settingWords([path]);
  const one = set('["",""]', '["","12"]');
  assert.match(say(one), /1 setting of Text 1 changed by admin · show Text 1 · Value: “” → “12”$/);
  assert.deepEqual(thingsOf(one), ["STRING1"]);
  assert.match(markup(journalList(context, [one])), /thing=STRING1/);
  const both = set('["a","b"]', '["c","d"]');
  assert.match(say(both), /2 settings changed .*Text 0 · Value: .*Text 1 · Value: “b” → “d”$/);
  words.chooseLanguage("hu");
  assert.match(say(one), /1\. szöveg.*1\. szöveg · Érték: “” → “12”$/);
});

test("a setting that came or went, an upload and a version are shown as such", () => {
  const figures = (changes, uploads = {}) => ({ figures: { changes, left_out: 0, uploads } });
  assert.match(say(entry("settings", figures([{ path: "rules.0.name", new: '"a"' }]))), /“a”/);
  assert.match(say(entry("settings", figures([{ path: "rules.0.name", old: 1 }]))), /removed/);
  const added = ["name", "source"].map((field) => ({ path: `rules.0.${field}`, new: '"a"' }));
  assert.match(say(entry("settings", figures(added))), /^(?!.*2 settings).* added/);
  assert.match(say(entry("settings", figures([], { site: true }))), /Web site uploaded/);
  assert.match(say(entry("settings", figures([], { site: false }))), /Web site removed/);
  const version = figures([{ path: "profile.sw", old: '"1.7"', new: '"1.8"' }]);
  assert.match(say(entry("settings", version)), /Software version 1\.8, was 1\.7/);
});

test("a sensor is silent and back, with the time between", () => {
  const lost = { which: "DS1", cause: "finding", detail: "sensor_lost.DS1" };
  const figures = { finding: "sensor_lost", figures: {}, text: "" };
  const silent = entry("finding", { ...lost, figures });
  const back = entry("finding_over", { ...lost, figures, time: NOON + 180 });
  const both = /Bed answers again was silent for 3 min .*Bed no longer answers$/;
  assert.match(say(silent, back), both);
  const weak = { finding: "clock_not_set", figures: {}, text: "x" };
  assert.match(say(entry("finding_over", { cause: "finding", figures: weak })), /Resolved: /);
});

test("a trouble begins with the name of its part in the reader's language", async () => {
  const trouble = (part) =>
    say(
      entry("finding", {
        cause: "finding",
        figures: { finding: "trouble", figures: { part, sentence: "It refuses." }, text: "" },
      }),
    );
  assert.match(trouble("HTTP request 2"), /HTTP request 2: It refuses\.$/);
  await Promise.all([words.fetchWords("parts"), words.fetchWords("server")]);
  words.chooseLanguage("pl");
  assert.match(trouble("HTTP request 2"), /Żądanie HTTP 2: It refuses\.$/);
  assert.match(trouble("Modbus slot 1, coil 5"), /Gniazdo Modbus 1, cewka 5: It refuses\.$/);
  assert.match(trouble("E-mail"), /E-mail: It refuses\.$/);
  assert.match(trouble("OUT0"), /Pump: It refuses\.$/);
  assert.match(trouble("OUT3"), /Wyjście 3: It refuses\.$/);
});

test("messages name their channel, their target and the rule that asked", () => {
  const sent = entry("message_sent", {
    cause: "outbox",
    detail: "email",
    figures: { channel: "email", target: "anna@example.org", reason: "rule 1", problem: "" },
    by: { number: 1, conditions: [] },
  });
  assert.match(say(sent), /Mail to anna@example\.org sent rule Greenhouse heating$/);
  const reasons = { "schedule Day": /schedule Day/, "watchdog 1": /watchdog router/, test: /test/ };
  for (const [reason, pattern] of Object.entries(reasons)) {
    const figures = { channel: "http2", target: "x", reason, problem: "" };
    assert.match(say(entry("message_sent", { cause: "outbox", figures })), pattern);
  }
});

test("a pulse names who asked for it", () => {
  const on = entry("pulse", { which: "OUT0", figures: { seconds: 10 }, by: { account: "eva" } });
  const by = { detail: "pulse", seconds: 10, after: on.number };
  const off = entry("off", { which: "OUT0", cause: "timer", by });
  assert.match(say(on, off), /off after 10 s, as requested by eva .*Pump on for 10 s by eva$/);
  assert.match(say(off), /after 10 s, as requested$/);
});

test("every cause has its words in every language", () => {
  const causes = {
    timer: ["start delay", "periodic switching", "PID regulator"],
    schedule: ["Daylight"],
    watchdog: ["1"],
    start: [""],
    snapshot: [""],
    "command line": [""],
    firmware: ["10.0.0.1"],
    scenario: ["line 3"],
    fault: ["1"],
    modbus: ["rule 1", "command 10.0.0.1"],
  };
  for (const language of LANGUAGES) {
    words.chooseLanguage(language);
    for (const [cause, details] of Object.entries(causes)) {
      for (const detail of details) {
        const by = { detail, number: 1 };
        const line = say(entry("on", { which: "OUT0", cause, detail, by }));
        assert.doesNotMatch(line, /undefined|NaN|\{/, `${language} ${cause}`);
        assert.match(line, /Pump.{4,}/);
      }
    }
  }
});

test("every kind of entry has its sentence in every language, with its figures", () => {
  const kinds = Object.keys(WORDS).filter((key) => key.startsWith("what_"));
  assert.ok(kinds.length > 50);
  for (const language of LANGUAGES) {
    words.chooseLanguage(language);
    for (const kind of kinds) {
      const what = kind.replace("what_", "");
      const names = [...WORDS[kind].en.matchAll(/\{(\w+)/g)].map(([, name]) => name);
      const numbers = ["seconds", "count", "rule", "value", "failures", "restarts"];
      const figures = Object.fromEntries(
        names.map((name) => [name, numbers.includes(name) ? 5 : `<${name}>`]),
      );
      // A fault is shown by its text.
      const one = entry(what, { which: "OUT0", figures: { ...figures, text: "slow*delay:5s" } });
      assert.doesNotMatch(plainText(context, one, [one]), /undefined|NaN|\{|\uE000/, kind);
    }
  }
});

test("entries stand by day, the newest first", () => {
  const days = [NOON - 9 * DAY_S, NOON - DAY_S, NOON].map((time) =>
    entry("on", { which: "OUT0", time }),
  );
  const html = markup(journalList(context, days));
  const headings = [...html.matchAll(/<h3>(.*?)<\/h3>/g)].map(([, text]) => text);
  assert.deepEqual(headings, ["Today", "Yesterday, Tuesday 14 May", "Monday 6 May"]);
  const past = entry("on", { which: "OUT0", time: NOON - 400 * DAY_S });
  assert.match(say(past), /2023/);
  assert.equal(markup(journalList(context, days, 1)).match(/<li/g)?.length, 1);
});

test("entries are grouped and belong to things", () => {
  assert.equal(groupOf(change("outputs.0.name")), "settings");
  assert.equal(groupOf(entry("on", { cause: "rule" })), "rule");
  assert.equal(groupOf(entry("bench", { cause: "scenario" })), "bench");
  assert.equal(groupOf(entry("signed_in", { cause: "sign-in" })), "sign_ins");
  assert.deepEqual(thingsOf(entry("energy_set", { which: "ENERGY1" })), ["POWER1"]);
  assert.deepEqual(thingsOf(change("onewire.2.name")), ["DS3"]);
  assert.equal(thingOfSetting("weather.t1_name"), "T1");
  assert.equal(thingOfSetting("mqtt.host"), "");
});

test("a reader asks for what came since, and for what was before", async () => {
  const all = Array.from({ length: 5 }, (_, at) => entry("on", { which: "OUT0", time: NOON + at }));
  const asked = [];
  controller.answers["/api/journal"] = (target) => {
    const query = new URL(target, "http://x").searchParams;
    asked.push(Object.fromEntries(query));
    const after = Number(query.get("after") ?? 0);
    const to = Number(query.get("to") ?? Infinity);
    const found = all.filter(({ number, time }) => number > after && time <= to);
    return found.slice(-Number(query.get("limit")));
  };
  const reader = new JournalReader({ which: "OUT0" }, 3);
  // Two readings at a time bring everything once.
  await Promise.all([reader.read(), reader.read()]);
  assert.equal(reader.entries.length, 3);
  await reader.readOlder();
  assert.equal(reader.entries.length, 5);
  await reader.readOlder();
  assert.equal(reader.hasOlder, false);
  all.push(entry("off", { which: "OUT0", time: NOON + 9 }));
  await reader.read();
  assert.deepEqual(reader.entries.map(({ number }) => number), all.map(({ number }) => number));
  assert.equal(asked[0].which, "OUT0");
});

test("an empty journal says what is known of it", async () => {
  const reader = new JournalReader();
  const shown = () => textOf(emptyJournal(reader, "Nothing yet."));
  assert.equal(shown(), "Opening…");
  controller.answers["/api/journal"] = () => {
    throw new TypeError("fetch failed");
  };
  await assert.rejects(reader.read());
  assert.equal(shown(), "The data could not be read: the controller does not answer.");
  controller.answers["/api/journal"] = () => [];
  await reader.read();
  assert.equal(shown(), "Nothing yet.");
});
