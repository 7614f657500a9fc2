// What the fields of commands are called.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { fieldName } from "../../../src/leverframe/web/pages/console/field_names.js";
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
  const named = (name, letter) => fieldName(commands.get(name), letter);
  assert.equal(named("oname", "A"), "output");
  assert.equal(named("oname", "B"), "name");
  assert.equal(named("event", "G"), "action");
  assert.equal(named("passwd", "username"), "username");
});
