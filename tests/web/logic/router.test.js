// Routes are addresses; leaving can be held back.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Router, address, here, note } from "../../../src/leverframe/web/lib/router.js";
import { thingAddress } from "../../../src/leverframe/web/lib/things.js";
import { findPage, mayOpen, offeredGroups } from "../../../src/leverframe/web/lib/navigation.js";
import { movedTo } from "../../../src/leverframe/web/pages/index.js";
import { commandsOf, openContext } from "./helpers.js";

let stop = () => {};
beforeEach(() => {
  stop();
  location.hash = "";
  history.state = null;
});

// A router that writes down what it opens.
function routing(guard = { mayLeave: () => true }) {
  const opened = [];
  const turned = [];
  const router = new Router(
    ({ name }) => opened.push(name),
    guard,
    (thing) => turned.push(thing),
  );
  stop = router.start();
  return { router, opened, turned };
}

const moveTo = (hash) => {
  location.hash = hash;
  history.state = null;
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
  const { opened } = routing();
  note("rules", { edit: 2 });
  assert.equal(location.hash, "#/rules?edit=2");
  assert.deepEqual(opened, [""]);
});

test("a new address opens its page, unless leaving is held back until somebody goes on", () => {
  let isHeld = false;
  let proceed;
  const guard = { mayLeave: () => !isHeld, held: (go) => (proceed = go) };
  const { opened } = routing(guard);
  moveTo("#/rules");
  isHeld = true;
  moveTo("#/outputs");
  assert.equal(location.hash, "#/rules");
  proceed();
  assert.equal(location.hash, "#/outputs");
  assert.deepEqual(opened, ["", "rules", "outputs"]);
});

test("a drawer opens over its page, outlasts what the page notes, and goes with Back", () => {
  const { router, opened, turned } = routing();
  moveTo("#/charts?labels=DS1");
  const link = thingAddress("ENERGY2");
  assert.equal(link, "#/charts?labels=DS1&thing=POWER2");
  moveTo(link);
  note("charts", { labels: "T1" });
  assert.equal(location.hash, "#/charts?labels=T1&thing=POWER2");
  moveTo(thingAddress("OUT0"));
  assert.equal(here().thing, "OUT0");
  let back = 0;
  history.go = (steps) => (back = steps);
  router.closeDrawer();
  assert.equal(back, -2);
  moveTo("#/charts?labels=T1");
  assert.deepEqual([opened, turned], [["", "charts"], ["POWER2", "OUT0", null]]);
});

test("a drawer that was opened by its address alone leaves the page", () => {
  location.hash = "#/status?thing=DS1";
  const { router, turned } = routing();
  router.closeDrawer();
  assert.equal(location.hash, "#/status");
  assert.deepEqual(turned, [null]);
});

test("a drawer with changes is held, the page below is not left", () => {
  const asked = [];
  const guard = {
    mayLeave: (isPage) => {
      asked.push(isPage);
      return false;
    },
    held: () => {},
  };
  location.hash = "#/rules?thing=DS1";
  const { router } = routing(guard);
  router.closeDrawer();
  moveTo("#/rules");
  moveTo("#/status");
  assert.deepEqual(asked, [false, false, true]);
  assert.equal(location.hash, "#/rules?thing=DS1");
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
  assert.deepEqual(names(), ["status", "timeline", "charts", "things", "panel", "system"]);
  assert.equal(mayOpen(context, findPage("rules")), false);
  assert.equal(findPage("cellar"), null);
});

test("noted addresses of pages that are gone lead to where their settings are", () => {
  assert.deepEqual(movedTo("outputs"), { page: "things", params: { thing: "all-outputs" } });
  assert.deepEqual(movedTo("mqtt"), { page: "messages", params: { open: "mqtt" } });
  assert.equal(movedTo("rules"), null);
});
