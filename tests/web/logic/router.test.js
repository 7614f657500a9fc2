// Routes are addresses; leaving can be held back.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Router, address, here, note } from "../../../src/leverframe/web/lib/router.js";
import { findPage, mayOpen, offeredGroups } from "../../../src/leverframe/web/lib/navigation.js";
import { commandsOf, openContext } from "./helpers.js";

beforeEach(() => (location.hash = ""));

const moveTo = (hash) => {
  location.hash = hash;
  dispatchEvent(new Event("hashchange"));
};

test("an address names the page and its parameters", () => {
  location.hash = "#/charts?labels=DS1%2CT1&range=7d";
  const { name, params } = here();
  assert.equal(name, "charts");
  assert.equal(params.get("labels"), "DS1,T1");
  assert.equal(address("charts", { labels: "DS1,T1", from: 5 }), "#/charts?labels=DS1%2CT1&from=5");
  assert.equal(address("status"), "#/status");
});

test("no address is no page", () => {
  assert.equal(here().name, "");
  assert.equal([...here().params].length, 0);
});

test("what a page notes opens nothing", () => {
  const opened = [];
  new Router((route) => opened.push(route.name), { mayLeave: () => true }).start();
  note("rules", { edit: 2 });
  assert.equal(location.hash, "#/rules?edit=2");
  assert.deepEqual(opened, [""]);
});

test("a new address opens its page, unless leaving is held back until somebody goes on", () => {
  const opened = [];
  let isHeld = false;
  let proceed;
  const guard = { mayLeave: () => !isHeld, held: (go) => (proceed = go) };
  new Router(({ name }) => opened.push(name), guard).start();
  moveTo("#/rules");
  isHeld = true;
  moveTo("#/outputs");
  assert.equal(location.hash, "#/rules");
  proceed();
  assert.equal(location.hash, "#/outputs");
  assert.deepEqual(opened, ["", "rules", "outputs"]);
});

test("pages are offered by role, version and board", async () => {
  const context = await openContext();
  const names = () => offeredGroups(context).flatMap(([, pages]) => pages.map(({ name }) => name));
  assert.ok(names().includes("modbus_devices") && names().includes("simulation"));
  context.commands = commandsOf("3.0 1.58a");
  assert.ok(!names().includes("modbus_devices"));
  context.board = "linux";
  assert.ok(!names().includes("simulation"));
  context.role = "control";
  assert.deepEqual(names(), ["status", "panel", "charts", "accounts"]);
  assert.equal(mayOpen(context, findPage("rules")), false);
  assert.equal(findPage("cellar"), null);
});
