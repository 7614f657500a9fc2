// Cards of settings: what they send of what was typed, and what they refuse to send.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { drawField } from "../../../src/leverframe/web/lib/forms/fields.js";
import { Form } from "../../../src/leverframe/web/lib/forms/form.js";
import { requestsOf } from "../../../src/leverframe/web/lib/forms/bound_field.js";
import { caseOf, toTyped } from "../../../src/leverframe/web/lib/forms/schema.js";
import * as words from "../../../src/leverframe/web/lib/format/words.js";
import { controller, facts } from "./browser.mjs";
import { VERSIONS, commandsOf, markup, openContext, targets, textOf } from "./helpers.js";

let context;
beforeEach(async () => {
  controller.reset();
  context = await openContext();
});

const card = (fields, more = {}) => new Form(context, { heading: "card", fields, ...more });
const letters = (command, text) => [...text].map((letter) => ({ command, letter }));

function type(form, values) {
  for (const [letter, typed] of Object.entries(values)) {
    form.type(form.fields.find((field) => field.letter === letter), typed);
  }
}

test("only what was changed is sent, and nothing of an untouched card", async () => {
  const form = card([
    { command: "oname", at: { A: 0 } },
    { command: "oname", at: { A: 1 } },
  ]);
  assert.equal(form.isChanged, false);
  assert.equal(await form.save(), true);
  assert.deepEqual(targets(), []);
  form.type(form.fields[1], "Pump");
  assert.equal(form.isChanged, true);
  assert.equal(await form.save(), true);
  assert.deepEqual(targets(), ["/stm.cgi?oname=1Pump"]);
});

test("limits stand behind a hint, and start again behind a sentence", () => {
  const schema = { type: "integer", minimum: 1, maximum: 60, "x-quantity": "duration" };
  const drawn = { schema, problem: null, change() {} };
  const hintOf = (hint) =>
    textOf(drawField({ id: "field", typed: "5", spec: { plainLabel: "", hint } }, drawn));
  assert.match(hintOf("simulated"), /simulated · 1 s to 1 min$/);
  assert.match(hintOf("lost_advice"), /\. 1 s to 1 min$/);
  words.chooseLanguage("fr");
  assert.match(hintOf("lost_advice"), /\. De 1 s à 1 min$/);
  words.chooseLanguage("en");
});

test("what is typed back to the setting is no change", () => {
  const form = card([{ command: "oname", at: { A: 0 } }]);
  form.type(form.fields[0], "Lamp");
  form.type(form.fields[0], "");
  assert.equal(form.isChanged, false);
});

test("a number stands in its field as the language writes it, and is taken anyhow", async () => {
  controller.settings.pid.target = 21.5;
  await context.load();
  words.chooseLanguage("pl");
  const form = card(letters("pidvalue", "ABCDEFG"));
  const target = form.field("pidvalue", "C");
  assert.equal(target.typed, "21,5");
  form.type(target, "21.5");
  assert.equal(form.isChanged, false);
  // Another language is no change by another user.
  form.type(target, "22,5");
  words.chooseLanguage("en");
  assert.equal(target.foreign, null);
  words.chooseLanguage("cs");
  context.settings.pid.target = 23.5;
  assert.deepEqual(target.foreign, { was: "21,5", now: "23,5" });
  assert.equal(await form.save(), true);
  assert.match(targets()[0], /pidvalue=0\*\d+\*225\*/);
  words.chooseLanguage("en");
});

test("a field whose command the version does not have is left out", () => {
  const form = card([{ command: "nonsense" }, { command: "mqtt", letter: "Z" }]);
  assert.deepEqual(form.fields, []);
});

test("a secret that a changed command carries is asked for again", async () => {
  controller.settings.mqtt.password = "***";
  await context.load();
  const form = card(letters("mqtt", "ABCDEFG"));
  const password = form.field("mqtt", "E");
  assert.deepEqual([password.isSecret, password.isSet, password.typed], [true, true, ""]);
  type(form, { B: "other.example" });
  assert.equal(await form.save(), false);
  assert.match(textOf(form.view()), /Enter this value again/);
  type(form, { E: "other secret" });
  assert.equal(await form.save(), true);
  assert.match(targets()[0], /^\/stm\.cgi\?mqtt=0\*other\.example\*1883\*\*other%20secret\*/);
});

test("a secret that keeps itself when it is empty is not asked for", () => {
  controller.settings.mqtt.password = "***";
  const form = card([{ command: "mqtt", letter: "E", keepsSecret: true }]);
  assert.equal(form.fields[0].problem({}, true), null);
});

test("a secret that another server would get is asked for, and comes along", async () => {
  controller.settings.email.password = "***";
  await context.load();
  let other = false;
  const form = card([
    { command: "em1=<A>" },
    { command: "em4=<A>", forgottenBy: (fields) => other && fields[0].isChanged },
  ]);
  form.type(form.fields[0], "same.example");
  assert.equal(await form.save(), true);
  assert.deepEqual(targets(), ["/stm.cgi?em1=same.example"]);
  other = true;
  form.type(form.fields[0], "other.example");
  assert.equal(await form.save(), false);
  assert.match(textOf(form.view()), /Enter this value again/);
  form.type(form.fields[1], "new");
  assert.equal(await form.save(), true);
  assert.equal(targets().at(-1), "/stm.cgi?em1=other.example&em4=new");
});

test("a connection that goes after saving leaves the card as it was typed", async () => {
  const form = card([{ command: "oname", at: { A: 0 } }]);
  form.type(form.fields[0], "Pump");
  controller.answers["/api/start"] = () => {
    throw new TypeError("Failed to fetch");
  };
  assert.equal(await form.save(), true);
  assert.deepEqual(targets(), ["/stm.cgi?oname=0Pump"]);
  assert.equal(form.fields[0].typed, "Pump");
  assert.doesNotMatch(markup(form.view()), /role="alert"/);
});

test("codes go by their words, numbers in real units and steps", async () => {
  const form = card(letters("pidvalue", "ABCG"));
  type(form, { A: true, B: "DS1", C: "21,55" });
  assert.equal(await form.save(), false);
  assert.match(textOf(form.view()), /Allowed in steps of 0\.1\./);
  type(form, { C: "21,5" });
  assert.equal(await form.save(), true);
  const [target] = targets();
  assert.match(target, /^\/stm\.cgi\?pidvalue=1/);
  assert.match(target, /215/);
});

test("a part of a command leaves its other parts alone", async () => {
  controller.settings.impulse_time = [false, true];
  await context.load();
  const form = card([{ command: "imptimen", part: 0 }]);
  form.type(form.fields[0], true);
  await form.save();
  assert.deepEqual(targets(), ["/stm.cgi?imptimen=3"]);
});

test("a member of a record is sent with all other entries as they are", async () => {
  const paths = Object.fromEntries([..."ABCDEF"].map((letter, at) => [letter, `watchdog.${at}`]));
  const member = (part) => ({ command: "wdog1", letter: "B", part });
  const form = card([member("host"), member("interval")], { paths: { wdog1: paths } });
  form.type(form.fields[0], "192.168.1.1");
  form.type(form.fields[1], "30");
  const untouched = context.commands.get("wdog1").request(
    Object.fromEntries([..."ABCDEF"].map((one, at) => [one, controller.settings.watchdog[at]])),
  );
  await form.save();
  const [sent, plain] = [controller.sent[0], untouched].map(({ target, body }) => body ?? target);
  assert.notEqual(sent, plain);
  assert.equal(sent.replace("192.168.1.1", "").replace("*30*", "*60*"), plain);
});

test("a list grows and shrinks within its limits", async () => {
  const form = card([{ command: "gsmnumber<A>", at: { A: 1 }, path: "gsm.sms.0.numbers" }]);
  const [field] = form.fields;
  form.type(field, ["+48123456789", "12"]);
  assert.equal(await form.save(), false);
  assert.match(textOf(form.view()), /Wrong format/);
  form.type(field, ["+48123456789"]);
  assert.equal(await form.save(), true);
  assert.equal(targets().length, 1);
  const { maxItems } = field.schema();
  form.type(field, Array(maxItems).fill("+48123456789"));
  assert.doesNotMatch(textOf(form.view()), /Add/);
});

test("a form body is sent as the command reads it", async () => {
  const form = card([
    { command: "oled_save", letter: "line11", path: "oled.screens.0.lines.0" },
    { command: "oled_save", letter: "enabled", path: "oled.enabled" },
  ]);
  type(form, { line11: "Żar & 5 %", enabled: true });
  await form.save();
  const [{ body }] = controller.sent;
  const sent = new URLSearchParams(body);
  assert.deepEqual([sent.get("line11"), sent.get("enabled")], ["Żar & 5 %", "1"]);
});

test("a refusal stands beside the field that it names", async () => {
  const form = card([{ command: "oname", at: { A: 0 } }]);
  form.type(form.fields[0], "Pump");
  controller.refusal = { status: 400, detail: "Taken.", command: "oname=0Pump", field: "B" };
  assert.equal(await form.save(), false);
  assert.equal(form.fields[0].refusal, "Taken.");
  form.type(form.fields[0], "Lamp");
  assert.equal(form.fields[0].refusal, null);
});

test("a refusal of nothing that is there stands below the card", async () => {
  const form = card([{ command: "oname", at: { A: 0 } }]);
  form.type(form.fields[0], "Pump");
  controller.refusal = { status: 400, detail: "Not now." };
  await form.save();
  assert.match(markup(form.view()), /<p class="refusal" role="alert">Not now\.<\/p>/);
});

for (const [count, length] of [
  [250, 1],
  [90, 150],
  [3, 8000],
]) {
  test(`${count} commands of ${length} letters go out as one request takes them`, () => {
    const { commands: most, query_bytes: bytes } = facts("limits");
    const command = { path: "/x.cgi", query: (values) => "a".repeat(values) };
    const rows = Array.from({ length: count }, () => ({ command, values: length }));
    const queries = requestsOf(rows).map(({ target }) => target.replace("/x.cgi?", ""));
    assert.ok(queries.every((query) => query.length <= bytes));
    assert.ok(queries.every((query) => query.split("&").length <= most));
    assert.equal(queries.join("&"), rows.map(() => "a".repeat(length)).join("&"));
  });
}

for (const version of VERSIONS) {
  test(`every schema of ${version} can be drawn`, () => {
    for (const command of commandsOf(version).all) {
      for (const { letter, schema } of command.body?.fields ?? command.fields) {
        const fitting = caseOf(schema, {});
        const field = {
          id: "field",
          typed: toTyped(fitting, undefined),
          spec: { plainLabel: letter },
          isChanged: false,
          isSecret: false,
        };
        const drawn = markup(drawField(field, { schema: fitting, problem: null, change() {} }));
        assert.match(drawn, /class="field"/, `${command.line} ${letter}`);
        assert.match(drawn, /<(input|select|fieldset)/, `${command.line} ${letter}`);
      }
    }
  });
}
