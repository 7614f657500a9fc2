// What unit files say, in the language of the page.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { contextOf } from "../../../src/leverframe/web/lib/format/setting_words.js";
import * as words from "../../../src/leverframe/web/lib/format/words.js";
import { fileText } from "../../../src/leverframe/web/units/plan.js";
import { sharedByUnits } from "../../../src/leverframe/web/units/shared.js";
import { openContext, textOf } from "./helpers.js";

const CONTEXT = contextOf({ DS1: "Cellar" });

before(async () => {
  await openContext();
  await words.usePageWords("units");
  await Promise.all([words.fetchWords("findings"), words.fetchWords("server")]);
});
after(() => words.chooseLanguage("en"));

// Every word that `units/rule_sentences.py` and `units/unit_text.py` have.
const SENTENCES = [
  ["rules.0", "when DS1 >= 30 (hysteresis 0.5), then OUT0 on"],
  [
    "rules.1",
    "disabled: Too warm: when DS1 < 18 and OUT0 = 1, unless rule 3 is met, then OUT1 off, " +
      "on delay 5s, off delay 1m, only when it begins, permanent",
  ],
  ["rules.2", "when DS1 < 1 xor DS2 < 3, if rule 1 is met, then OUT1 reverse, only when it ceases"],
  ["rules.3", "when INPD1 = 1 nand INPD2 = 1, then eMail 1"],
  ["rules.3", "when INPD1 = 1 nor INPD2 = 1, then eMail 1"],
  ["rules.3", "when INPD1 = 1 or INPD2 = 1, then eMail 1"],
  ["schedule.0", "OUT1 on at 06:30 Mon-Fri 2026-03-29 (Fan)"],
  ["schedule.1", "off: OUT2 reverse every 10m daily"],
  ["schedule.1", "OUT2 off at 06:30 Tue Sat"],
  ["outputs.0.name", "nothing"],
  ["email.password", "(secret)"],
];
const ENGLISH = new RegExp(
  "\\b(when|then|hysteresis|and|or|xor|nand|nor|unless|rule|met|delay|only|begins|permanent|on|" +
    "off|reverse|at|every|daily|disabled|Mon|Fri|Tue|Sat|nothing|secret|ceases|if)\\b",
);

for (const language of ["pl", "fr", "hu", "cs"]) {
  test(`nothing of a unit file is left in English in ${language}`, () => {
    words.chooseLanguage(language);
    const left = SENTENCES.map(([path, text]) => fileText(CONTEXT, path, text))
      // What people named stays, and French has words that look the same.
      .map((text) => text.replace("Too warm", "").replace("(secret, non montré)", ""))
      .filter((text) => ENGLISH.test(text) || text.includes("file_"));
    assert.deepEqual(left, []);
  });
}

test("things are called what the unit calls them, and times are shown as people write them", () => {
  words.chooseLanguage("en");
  const texts = SENTENCES.map(([path, text]) => fileText(CONTEXT, path, text));
  assert.equal(texts[0], "when Cellar >= 30 (hysteresis 0.5), then Output 0 on");
  assert.equal(
    texts[1],
    "disabled: Too warm: when Cellar < 18 and Output 0 = 1, unless rule 3 is met, then Output 1 " +
      "off, on delay 5 s, off delay 1 min, only when it begins, permanent",
  );
  assert.equal(texts[6], "Output 1 on at 06:30 Mon-Fri 2026-03-29 (Fan)");
  assert.equal(texts[7], "disabled: Output 2 reverse every 10 min daily");
  assert.equal(fileText(CONTEXT, "outputs.1.return_time", "10m"), "10 min");
  assert.equal(fileText(CONTEXT, "pid.kp", "250"), "2.5");
});

test("findings of several units are one line, whatever a unit calls the thing", () => {
  words.chooseLanguage("en");
  const id = "sensor_silent.DS1";
  const silent = { id, kind: "sensor_silent", label: "DS1", figures: {}, text: "", page: "things" };
  const unit = (name, thermometer) => ({
    name,
    names: thermometer ? { DS1: thermometer } : {},
    troubles: { [`finding ${id}`]: "", drift: "It differs." },
    findings: [silent],
  });
  const lost = { findings: [], names: {}, troubles: { "sign-in": "The unit requires a login." } };
  const said = (...units) =>
    sharedByUnits(units).map(({ count, text }) => `${count}: ${textOf(text)}`);
  assert.deepEqual(said(unit("a", "Bed"), unit("b", "Bed")), [
    "2 units: Bed is set up but has not answered yet.",
  ]);
  assert.match(said(unit("a", "Bed"), unit("b"))[0], /^2 units: Thermometer 1 is set up/);
  const all = said(...["a", "b", "c"].map((name) => unit(name)), lost, lost);
  assert.match(all[0], /^3 units: Thermometer 1/);
  assert.match(all[1], /^2 units: The unit requires a login\./);
  assert.deepEqual(said(unit("a"), lost), []);
  assert.equal(sharedByUnits([unit("a"), unit("b")])[0].href, "#unit-a");
});

test("what is no such sentence, or a value of its own, stays as it is", () => {
  words.chooseLanguage("cs");
  assert.equal(fileText(CONTEXT, "outputs.0.name", '"nothing"'), "“nothing”");
  assert.equal(fileText(CONTEXT, "rules.0", "of a newer version"), "of a newer version");
  assert.equal(fileText(CONTEXT, "schedule.0", "of a newer version"), "of a newer version");
  assert.match(fileText(CONTEXT, "rules.0", "when DS1 < 1, then OUT0 on, slowly"), /, slowly$/);
});
