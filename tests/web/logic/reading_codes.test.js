// Reading codes are put together and put in where a text was edited.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { ReadingCodes } from "../../../src/leverframe/web/lib/forms/reading_codes.js";
import { controller } from "./browser.mjs";
import { openContext, textOf } from "./helpers.js";

let context;
before(async () => {
  context = await openContext();
  controller.answers["/api/reading-codes"] = () => ({ 14: "T1", "02": "VCC" });
});

async function codes(spec) {
  const made = new ReadingCodes(context, { note: "code_title", ...spec });
  await made.open();
  return made;
}

test("a code has marker, number and decimals, on the display a width, too", async () => {
  assert.equal((await codes({ marker: "%" })).code, "%021");
  assert.equal((await codes({ marker: () => "%%" })).code, "%%021");
  assert.equal((await codes({ marker: "!", hasWidth: true })).code, "!0210");
});

test("labels are offered in the order of their numbers, with their names", async () => {
  context.overview.name = (label) => (label === "T1" ? "Cellar" : "");
  assert.match(textOf((await codes({ marker: "%" })).view()), /Supply voltage.*Cellar/);
});

test("a code stands where the text was last edited", async () => {
  const made = await codes({ marker: "%" });
  const typed = [];
  const form = { type: (_, text) => typed.push(text) };
  const field = { spec: { plainLabel: "Text" }, typed: "", id: "f" };
  const drawn = { form, schema: { type: "string" }, problem: null, change() {} };
  const [focused] = made.draw(field, drawn).values;
  focused({ target: { value: "It is  °C", selectionStart: 6, selectionEnd: 6 } });
  assert.match(textOf(made.view()), /Text/);
  lastListener(made.view())();
  assert.deepEqual(typed, ["It is %021 °C"]);
});

// The last listener of a template: the button below its fields.
function lastListener(template) {
  const found = [];
  const walk = (one) => {
    if (typeof one === "function") found.push(one);
    if (Array.isArray(one)) one.forEach(walk);
    one?.values?.forEach?.(walk);
  };
  walk(template);
  return found.at(-1);
}
