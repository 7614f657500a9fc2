// Why a password is easy to guess.

import assert from "node:assert/strict";
import { test } from "node:test";

import { weakness } from "../../../src/leverframe/web/lib/forms/passwords.js";

test("a password is refused for what makes it easy to guess, and only for that", () => {
  const names = ["admin", "Greenhouse", ""];
  assert.equal(weakness("Administrator", names), "common");
  assert.equal(weakness("123456789012", names), "common");
  assert.equal(weakness("aabbaabbaabb", names), "alike");
  assert.equal(weakness("greenhouse-1!", names), "name");
  assert.equal(weakness("three wet tomatoes", names), null);
  assert.equal(weakness("greenhouse of wet tomatoes", names), null);
});
