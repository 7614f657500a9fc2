// When a page is drawn: once for what changes together, and only for what it has read.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, test } from "node:test";

import "./browser.mjs";
import {
  keepDrawn,
  observe,
  observeMembers,
  ShownMap,
} from "../../../src/leverframe/web/lib/live/drawing.js";
import { signal } from "../../../src/leverframe/web/vendor/signals-core.js";

const soon = () => new Promise((resolve) => setTimeout(resolve));

let drawn = [];
afterEach(() => (drawn = []));

test("what changes together is drawn once", async () => {
  const [one, other] = [signal(1), signal("a")];
  keepDrawn(() => drawn.push(`${one.value} ${other.value}`));
  one.value = 2;
  other.value = "b";
  one.value = 3;
  await soon();
  assert.deepEqual(drawn, ["1 a", "3 b"]);
});

test("what was not read draws nothing, and what is read since does", async () => {
  const [isOpen, inside] = [signal(false), signal(1)];
  keepDrawn(() => drawn.push(isOpen.value ? inside.value : null));
  inside.value = 2;
  await soon();
  isOpen.value = true;
  await soon();
  inside.value = 3;
  await soon();
  assert.deepEqual(drawn, [null, 2, 3]);
});

test("what may not be drawn yet is drawn when it may", async () => {
  const text = signal("begun");
  let mayDraw = false;
  const drawSoon = keepDrawn(() => drawn.push(text.value), () => mayDraw);
  text.value = "complete";
  await soon();
  assert.deepEqual(drawn, []);
  mayDraw = true;
  drawSoon();
  drawSoon();
  await soon();
  assert.deepEqual(drawn, ["complete"]);
});

test("a drawing that fails is reported, and drawn again with the next change", async () => {
  const errors = [];
  globalThis.reportError = (error) => errors.push(error.message);
  const number = signal(0);
  keepDrawn(() => {
    if (number.value === 1) throw new Error("one");
    drawn.push(number.value);
  });
  for (const next of [1, 2]) {
    number.value = next;
    await soon();
  }
  delete globalThis.reportError;
  assert.deepEqual([drawn, errors], [[0, 2], ["one"]]);
});

test("a drawing that changes what it reads holds nothing up", async () => {
  const number = signal(0);
  keepDrawn(() => {
    drawn.push(number.value);
    if (number.value < 20) number.value++;
  });
  await soon();
  assert.ok(drawn.length < 20);
  while (drawn.at(-1) < 20) await soon();
});

test("fields, named members and maps are seen to change", async () => {
  class Form {
    saving = false;

    constructor() {
      observe(this, "saving");
    }
  }
  const form = new Form();
  const typed = observeMembers({ name: "" });
  const failed = new ShownMap();
  keepDrawn(() => drawn.push([form.saving, JSON.stringify(typed), failed.get("a")].join(" ")));
  const changes = [
    () => (form.saving = true),
    () => (typed.name = "Pump"),
    () => (typed.tag = "cellar"),
    () => failed.set("a", 409),
    () => failed.delete("a"),
  ];
  for (const change of changes) {
    change();
    await soon();
  }
  assert.deepEqual(drawn, [
    'false {"name":""} ',
    'true {"name":""} ',
    'true {"name":"Pump"} ',
    'true {"name":"Pump","tag":"cellar"} ',
    'true {"name":"Pump","tag":"cellar"} 409',
    'true {"name":"Pump","tag":"cellar"} ',
  ]);
});

test("the signals are those that are locked", () => {
  const textIn = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
  const locked = "node_modules/@preact/signals-core/dist/signals-core.module.js";
  const ours = "../../../src/leverframe/web/vendor/signals-core.js";
  assert.equal(textIn(ours), textIn(`../../../tools/pages/${locked}`));
});
