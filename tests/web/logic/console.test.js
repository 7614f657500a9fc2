// What the fields of commands are called.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";

import { describe, useDescriptions } from "../../../src/leverframe/web/lib/live/commands.js";
import { chooseLanguage, usePageWords } from "../../../src/leverframe/web/lib/format/words.js";
import { versions } from "../../../src/leverframe/web/pages/console/cards.js";
import { fieldName } from "../../../src/leverframe/web/pages/console/fields.js";
import { VERSIONS, commandsOf, openContext } from "./helpers.js";

before(openContext);

test("every field of every command of every version has a name besides its letter", () => {
  for (const version of VERSIONS) {
    for (const command of commandsOf(version).all) {
      for (const letter of command.letters) {
        const name = fieldName(command, letter);
        assert.ok(name.length > 1, `${command.line}: ${letter}`);
      }
    }
  }
});

test("a field is called after the setting, or after the place in the settings, that it is", () => {
  const commands = commandsOf(VERSIONS.at(-1));
  const nameOf = (name, letter) => fieldName(commands.get(name), letter);
  assert.equal(nameOf("oname", "A"), "output");
  assert.equal(nameOf("oname", "B"), "name");
  assert.equal(nameOf("event", "G"), "action");
  assert.equal(nameOf("passwd", "username"), "username");
});

const WORDS = new URL("../../../src/leverframe/web/words/commands.json", import.meta.url);
const fieldNames = () =>
  new Set(
    VERSIONS.flatMap((version) =>
      commandsOf(version).all.flatMap((command) =>
        command.letters.map((letter) => fieldName(command, letter).replace(/ \d+$/, "")),
      ),
    ),
  );

test("every name of a field has its word in every language, and none is kept without use", () => {
  const known = Object.values(JSON.parse(readFileSync(WORDS, "utf8"))).map(({ en }) => en);
  const names = fieldNames();
  assert.deepEqual([...names].filter((name) => !known.includes(name)), []);
  const words = known.filter((text) => !text.endsWith(".") && /^[a-z]/.test(text));
  const left = words.filter((text) => !names.has(text) && !text.startsWith("a s"));
  assert.deepEqual(left, []);
});

test("commands, fields and versions are shown in the language of the pages", async () => {
  await Promise.all([useDescriptions(), usePageWords("console")]);
  chooseLanguage("pl");
  try {
    assert.equal(describe("Name an output."), "Nadaje nazwę wyjściu.");
    assert.equal(describe("return time"), "czas powrotu");
    assert.equal(describe("Newer than these pages."), "Newer than these pages.");
    assert.equal(versions("HW 3.5+ before SW 1.57 or HW 3.9"), "HW 3.5+ przed SW 1.57 lub HW 3.9");
    assert.equal(versions("all versions"), "wszystkie wersje");
  } finally {
    chooseLanguage("en");
  }
});
