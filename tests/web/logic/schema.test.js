// What the schema of a field says: typed, value, wire text, and what is allowed.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import {
  limitsText,
  caseOf,
  choices,
  problemOf,
  range,
  toTyped,
  valueFrom,
  wireText,
} from "../../../src/leverframe/web/lib/forms/schema.js";
import { limitText } from "../../../src/leverframe/web/lib/format/numbers.js";
import * as words from "../../../src/leverframe/web/lib/format/words.js";
import { toTypedFromWire } from "../../../src/leverframe/web/pages/console/fields.js";
import { VERSIONS, commandsOf, openContext } from "./helpers.js";

before(openContext);

const TENTHS = { type: "integer", minimum: -550, maximum: 1250, "x-factor": 10 };
const NAME = { type: "string", maxLength: 5 };
const HOST = { type: "string", maxLength: 20, pattern: "^[a-z.]*$", description: "a host name" };
const FLAG = { type: "integer", enum: [0, 1], "x-flag": true };
const MODE = { type: "integer", enum: [0, 1], "x-words": { 0: "off", 1: "PT100" } };
const BITS = { type: "integer", "x-bits": 4 };
const NUMBERS = {
  type: "array",
  items: { type: "string", pattern: "^\\d+$" },
  minItems: 1,
  maxItems: 3,
  "x-separator": "*",
};
const RECORD = { type: "object", properties: { on: FLAG, name: NAME }, "x-separator": ":" };

test("a number is typed in real units, with point or comma", () => {
  assert.equal(valueFrom(TENTHS, "21,5"), 21.5);
  assert.equal(valueFrom(TENTHS, " 21.5 "), 21.5);
  assert.equal(wireText(TENTHS, 21.5), "215");
  assert.deepEqual(range(TENTHS), { min: -55, max: 125, step: 0.1 });
});

test("limits of many digits stand in groups, and can be typed so in every language", () => {
  const frequency = { type: "integer", minimum: 1, maximum: 1_000_000 };
  const fine = { type: "integer", minimum: -12_345_678, maximum: 99_999, "x-factor": 100 };
  const hint = (schema) => limitsText(schema).replaceAll("\u00a0", "_");
  assert.equal(hint(frequency), "1 to 1_000_000");
  assert.equal(hint({ ...frequency, maximum: 9999 }), "1 to 9999");
  assert.equal(hint(fine), "-123_456.78 to 999.99");
  for (const language of ["en", "pl", "fr", "hu", "cs"]) {
    words.chooseLanguage(language);
    for (const schema of [frequency, fine]) {
      const { min, max } = range(schema);
      for (const number of [min, max]) {
        assert.ok(limitsText(schema).includes(limitText(number)), language);
        assert.equal(problemOf(schema, limitText(number)), null, language);
        assert.equal(valueFrom(schema, limitText(number)), number, language);
        assert.equal(valueFrom(schema, String(number)), number, language);
      }
    }
  }
  words.chooseLanguage("pl");
  assert.equal(hint(fine), "od -123_456,78 do 999,99");
  // Only whole groups: what else has a space was no number.
  for (const typed of ["10 00", "1 0000", "1 2"]) assert.ok(problemOf(frequency, typed), typed);
  assert.equal(valueFrom(frequency, "20 000"), 20_000);
  words.chooseLanguage("en");
});

test("tens of seconds are typed as seconds", () => {
  const schema = { type: "integer", minimum: 0, maximum: 6, "x-unit": "10 s" };
  assert.deepEqual(range(schema), { min: 0, max: 60, step: 10 });
  assert.equal(wireText(schema, 30), "3");
});

test("a number that cannot be sent is refused in words", () => {
  assert.equal(problemOf(TENTHS, "21,55"), "Allowed in steps of 0.1.");
  assert.equal(problemOf(TENTHS, "125.1"), "Out of range. Allowed: -55 to 125.");
  assert.match(problemOf(TENTHS, "warm"), /^Not a number/);
  assert.match(problemOf(TENTHS, ""), /^Not a number/);
  assert.equal(problemOf(TENTHS, "-0,1"), null);
});

test("what a machine cannot count is shown without its limits", () => {
  const gain = { type: "integer", minimum: -(2 ** 31), maximum: 2 ** 31 - 1, "x-per": 100 };
  assert.equal(problemOf(gain, "1e12"), "Above the largest value of the controller.");
  assert.equal(problemOf(gain, "-1e12"), "Below the smallest value of the controller.");
  assert.equal(problemOf({ ...gain, minimum: 0 }, "-1"), "At least 0.");
});

test("a text is measured in letters and compared with its form", () => {
  assert.equal(problemOf(NAME, "Żółw🐢"), null);
  assert.match(problemOf(NAME, "Żółwie"), /^At most 5 characters; this has 6\.$/);
  assert.equal(problemOf(HOST, "A"), "Wrong format. Allowed: a host name.");
  assert.equal(problemOf({ ...HOST, contentEncoding: "base64" }, "A"), null);
});

test("a code is chosen by its word and sent by its number", () => {
  assert.deepEqual(choices(MODE)[1], ["PT100", "PT100"]);
  assert.equal(wireText(MODE, "PT100"), "1");
  assert.equal(problemOf(MODE, "PT1000"), "Choose an entry from the list.");
  assert.equal(problemOf(MODE, "off"), null);
});

test("bits, lists and records are sent part by part", () => {
  assert.equal(wireText(BITS, [true, false, false, true]), "9");
  assert.equal(wireText(NUMBERS, ["12", "34"]), "12*34");
  assert.equal(wireText(RECORD, { on: true, name: "a b" }), "1:a%20b");
  assert.deepEqual(valueFrom(RECORD, { on: true, name: "x" }), { on: true, name: "x" });
  assert.deepEqual(valueFrom(BITS, [true, false, true, true]), [true, false, true, true]);
});

test("a list is refused when it is too short or one of its parts is wrong", () => {
  assert.equal(problemOf(NUMBERS, []), limitsText(NUMBERS));
  assert.match(problemOf(NUMBERS, ["12", "x"]), /^Wrong format/);
  assert.equal(problemOf(NUMBERS, ["12"]), null);
});

test("what is not there yet is typed as nothing, in the right form", () => {
  assert.equal(toTyped(TENTHS, undefined), "");
  assert.equal(toTyped(FLAG, undefined), false);
  assert.deepEqual(toTyped(BITS, undefined), [false, false, false, false]);
  assert.deepEqual(toTyped(NUMBERS, undefined), [""]);
  assert.deepEqual(toTyped(RECORD, undefined), { on: false, name: "" });
});

test("nothing in a text can be taken for a separator", () => {
  assert.equal(wireText(NAME, "a*b&c='!()"), "a%2Ab%26c%3D%27%21%28%29");
  assert.equal(wireText({ type: "string", contentEncoding: "base64" }, "Żar"), "xbthcg%3D%3D");
});

test("a field that depends on another has the case of its value", () => {
  const [one, other] = [
    { ...NAME, "x-when": ["DS1"] },
    { ...TENTHS, "x-when": ["T1", "H1"] },
  ];
  const schema = { oneOf: [one, other], "x-depends": "B" };
  assert.equal(caseOf(schema, { B: "H1" }), other);
  assert.equal(caseOf(schema, { B: "VCC" }), one);
});

test("what is allowed is shown in a few words, but not the limits of a machine", () => {
  assert.equal(limitsText(TENTHS), "-55 to 125");
  const numbers = { type: "array", items: TENTHS, minItems: 0, maxItems: 8 };
  assert.equal(limitsText(numbers), "up to 8 entries");
  assert.equal(limitsText({ ...numbers, minItems: 2 }), "2 to 8 entries");
  const text = { type: "string", minLength: 12, maxLength: 128 };
  assert.equal(limitsText(text), "12 to 128 characters");
  assert.equal(limitsText({ type: "integer", minimum: 1, maximum: 2 ** 32 }), "");
  assert.equal(limitsText({ type: "integer", minimum: -(2 ** 32), maximum: 2 ** 32 }), "");
  assert.equal(limitsText({ type: "integer", minimum: -(2 ** 15), maximum: 2 ** 15 - 1 }), "");
  assert.equal(limitsText({ type: "string", maxLength: 128 }), "");
  assert.match(limitsText(HOST), /^a host name/);
  assert.equal(limitsText(MODE), "");
});

for (const version of VERSIONS) {
  test(`every example of ${version} goes through what is typed and back`, () => {
    let count = 0;
    for (const command of commandsOf(version).all) {
      const seen = {};
      for (const { letter, schema, example } of command.body?.fields ?? command.fields) {
        const fitting = caseOf(schema, seen);
        const wire = command.body?.kind === "form" ? example.replaceAll("+", "%20") : example;
        const typed = toTypedFromWire(fitting, wire);
        seen[letter] = valueFrom(fitting, typed);
        assert.equal(problemOf(fitting, typed), null, `${command.line} ${letter}`);
        const again = wireText(fitting, seen[letter]);
        const place = `${command.line} ${letter}`;
        assert.equal(decodeURIComponent(again), decodeURIComponent(wire), place);
        count++;
      }
    }
    assert.ok(count > 200, String(count));
  });
}
