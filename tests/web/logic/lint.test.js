// The rules of eslint for the pages can fail.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { ESLint } from "../../../tools/pages/node_modules/eslint/lib/api.js";

let eslint;
before(() => (eslint = new ESLint({ overrideConfigFile: "tools/pages/eslint.config.js" })));

const HEADER = "// A module.\n\n";

async function rulesBrokenBy(code, place = "pages/new.js") {
  const filePath = `src/leverframe/web/${place}`;
  const [{ messages }] = await eslint.lintText(code, { filePath });
  return messages.map(({ ruleId }) => ruleId);
}

test("a plain module breaks no rule", async () => {
  assert.deepEqual(await rulesBrokenBy(`${HEADER}export const label = "OUT1";\n`), []);
});

test("a module says what it is in its first line", async () => {
  assert.deepEqual(await rulesBrokenBy("export const one = 1;\n"), ["pages/header"]);
});

for (const [code, rule] of [
  ['document.body.innerHTML = "";', "no-restricted-syntax"],
  ['document.write("");', "no-restricted-syntax"],
  ['export const drawn = `<p style="color: red">`;', "no-restricted-syntax"],
  ['eval("1");', "no-eval"],
  ['export const made = new Function("1");', "no-new-func"],
  ['confirm("Really?");', "no-alert"],
  ['alert("Oh.");', "no-alert"],
  ['prompt("Who?");', "no-alert"],
  ['export const path = "/stm.cgi?oname=1";', "no-restricted-syntax"],
  ["export const path = (name) => `/api/${name}`;", "no-restricted-syntax"],
  ["export const hour = () => new Date().getHours();", "no-restricted-syntax"],
  ["export const text = (date) => date.toLocaleTimeString();", "no-restricted-syntax"],
  ['export const format = new Intl.DateTimeFormat("en");', "no-restricted-syntax"],
  [`export const long = "${"x".repeat(100)}";`, "max-len"],
]) {
  test(`${rule}: ${code.slice(0, 50)}`, async () => {
    assert.deepEqual(await rulesBrokenBy(`${HEADER}${code}\n`), [rule]);
  });
}

test("the modules of time may know the reader's own", async () => {
  const code = `${HEADER}export const here = () => new Date().getHours();\n`;
  for (const place of ["lib/format/zone.js", "lib/format/moments.js"]) {
    assert.deepEqual(await rulesBrokenBy(code, place), []);
  }
  for (const place of ["lib/live/api.js", "fleet/app.js", "units/app.js"]) {
    assert.deepEqual(await rulesBrokenBy(code, place), ["no-restricted-syntax"], place);
  }
});

test("the module of addresses may know them", async () => {
  const code = `${HEADER}export const path = "/api/state";\n`;
  assert.deepEqual(await rulesBrokenBy(code, "lib/live/api.js"), []);
});
