// What a backup file says about its secrets, before anything is sent.

import assert from "node:assert/strict";
import { test } from "node:test";

import { secretsIn } from "../../../src/leverframe/web/settings/backup.js";
import { groupChanges } from "../../../src/leverframe/web/settings/backup/trial.js";

const HEAD = `LEVERFRAME\0\u0001${"x".repeat(32)}`;
const fileOf = (content) => new Blob([HEAD, JSON.stringify(content)]);

test("a sealed file names what is sealed in it", async () => {
  const sealed = { salt: "", nonce: "", data: "" };
  const named = fileOf({ settings: {}, sealed, sealed_settings: ["email.password"] });
  assert.deepEqual(await secretsIn(named), { isSealed: true, paths: ["email.password"] });
  // Files of earlier versions do not name it.
  assert.deepEqual(await secretsIn(fileOf({ sealed })), { isSealed: true, paths: [] });
});

test("a file without secrets names those that were left out", async () => {
  const file = fileOf({ settings: {}, left_out: ["email.password", 7] });
  assert.deepEqual(await secretsIn(file), { isSealed: false, paths: ["email.password"] });
  assert.deepEqual(await secretsIn(fileOf({})), { isSealed: false, paths: [] });
});

test("what is no backup says nothing", async () => {
  assert.equal(await secretsIn(new Blob(["no backup"])), null);
  assert.equal(await secretsIn(new Blob([HEAD, "{"])), null);
  assert.equal(await secretsIn(new Blob([HEAD, "null"])), null);
  assert.equal(await secretsIn(new Blob([HEAD, " ".repeat(5 << 20)])), null);
});

test("changes of a restore are grouped by thing, rule and group of settings", () => {
  const paths = ["outputs.1.name", "rules.0.name", "outputs.1.return_time", "email.host"];
  const groups = groupChanges(paths.map((path) => ({ path, old: null, new: 1 })));
  const found = groups.map(({ owner, changes }) => [owner, changes.length]);
  assert.deepEqual(found, [["OUT1", 2], ["rules.0", 1], ["email", 1]]);
});
