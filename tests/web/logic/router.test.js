// Routes are addresses; leaving can be held back.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import {
  Router,
  address,
  here,
  leave,
  note,
  step,
} from "../../../src/leverframe/web/lib/frame/router.js";
import { thingAddress } from "../../../src/leverframe/web/lib/things/things.js";
import { findPage, mayOpen, listGroups } from "../../../src/leverframe/web/lib/frame/frame.js";
import { findMoved } from "../../../src/leverframe/web/pages/index.js";
import { openContext } from "./helpers.js";

let stop = () => {};
beforeEach(() => {
  stop();
  history.reset();
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

const settle = () => new Promise((done) => setTimeout(done));
const moveTo = (hash) => {
  location.hash = hash;
  return settle();
};
const goBack = () => {
  history.back();
  return settle();
};

test("an address names the page and its parameters", () => {
  history.reset("#/charts?labels=DS1%2CT1&range=7d");
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

// Holds all navigation back while `isHeld`; `proceed` resumes the last one.
const holding = () => ({
  isHeld: false,
  proceed: () => {},
  asked: [],
  mayLeave(isPage) {
    this.asked.push(isPage);
    return !this.isHeld;
  },
  held(proceed) {
    this.proceed = proceed;
  },
});

test("a new address opens its page, unless leaving is held until the user continues", async () => {
  const guard = holding();
  const { opened } = routing(guard);
  await moveTo("#/rules");
  guard.isHeld = true;
  await moveTo("#/outputs");
  await settle();
  assert.equal(location.hash, "#/rules");
  guard.proceed();
  await settle();
  await settle();
  assert.equal(location.hash, "#/outputs");
  assert.deepEqual(opened, ["", "rules", "outputs"]);
  // The user who continued was sure for this once.
  await moveTo("#/status");
  await settle();
  assert.equal(location.hash, "#/outputs");
});

test("who is held back on the way back finds the history as it was", async () => {
  const guard = holding();
  const { opened } = routing(guard);
  for (const hash of ["#/status", "#/rules", "#/system"]) await moveTo(hash);
  guard.isHeld = true;
  await goBack();
  await settle();
  assert.deepEqual([location.hash, history.place], ["#/system", 3]);
  guard.proceed();
  await settle();
  await settle();
  assert.deepEqual([location.hash, history.place], ["#/rules", 2]);
  guard.isHeld = false;
  await goBack();
  assert.deepEqual(opened, ["", "status", "rules", "system", "rules", "status"]);
});

test("a drawer opens over its page, outlasts what the page notes, and goes with Back", async () => {
  const { router, opened, turned } = routing();
  await moveTo("#/charts?labels=DS1");
  const link = thingAddress("ENERGY2");
  assert.equal(link, "#/charts?labels=DS1&thing=POWER2");
  await moveTo(link);
  await moveTo(thingAddress("OUT0"));
  assert.equal(here().thing, "OUT0");
  note("charts", { labels: "T1" });
  assert.equal(location.hash, "#/charts?labels=T1&thing=OUT0");
  router.closeDrawer();
  await settle();
  assert.equal(history.place, 1);
  assert.deepEqual(turned.slice(0, 2), ["POWER2", "OUT0"]);
  assert.equal(here().thing, null);
  assert.equal(opened[1], "charts");
});

test("a drawer that was opened by its address leaves the page, and the next no entry", async () => {
  history.reset("#/status?thing=DS1");
  const { router, turned } = routing();
  router.closeDrawer();
  assert.equal(location.hash, "#/status");
  await moveTo(thingAddress("DS2"));
  router.closeDrawer();
  await settle();
  assert.deepEqual([location.hash, history.place], ["#/status", 0]);
  assert.deepEqual(turned, [null, "DS2", null]);
});

test("a drawer with changes is held, the page below is not left", async () => {
  const guard = { ...holding(), isHeld: true };
  history.reset("#/rules?thing=DS1");
  const { router } = routing(guard);
  router.closeDrawer();
  for (const hash of ["#/rules", "#/status"]) {
    await moveTo(hash);
    await settle();
  }
  assert.deepEqual(guard.asked, [false, false, true]);
  assert.equal(location.hash, "#/rules?thing=DS1");
});

test("an editor that is left leaves no entry behind, nor do those before it", async () => {
  const { opened } = routing();
  await moveTo("#/status");
  await moveTo("#/rules");
  await moveTo("#/rules?edit=1");
  await moveTo("#/rules?edit=2");
  step("rules", { copy: 2 });
  const before = opened.length;
  leave("rules", {});
  await settle();
  assert.deepEqual([location.hash, history.place], ["#/rules", 2]);
  // The page shows what it shows: it is not opened again.
  assert.equal(opened.length, before);
  await goBack();
  assert.equal(opened.at(-1), "status");
});

test("an editor that another page led to gives its entry to its page", async () => {
  routing();
  await moveTo("#/things");
  await moveTo("#/rules?source=DS1");
  leave("rules", {});
  assert.deepEqual([location.hash, history.place], ["#/rules", 2]);
  step("rules", { new: "empty" });
  leave("rules", {});
  await settle();
  assert.deepEqual([location.hash, history.place], ["#/rules", 2]);
});

test("an editor is left for the page as it is shown now, past a drawer", async () => {
  const { opened } = routing();
  await moveTo("#/schedule");
  await moveTo("#/schedule?thing=OUT0");
  await moveTo("#/schedule?new=1");
  const before = opened.length;
  leave("schedule", { view: "list" });
  await settle();
  assert.deepEqual([location.hash, history.place], ["#/schedule?view=list", 1]);
  assert.equal(opened.length, before);
});

test("what was saved on the way back leads there once", async () => {
  const guard = holding();
  const { opened } = routing(guard);
  await moveTo("#/rules");
  await moveTo("#/rules?edit=1");
  guard.isHeld = true;
  await goBack();
  await settle();
  guard.isHeld = false;
  leave("rules", {});
  guard.proceed();
  await settle();
  await settle();
  assert.deepEqual([location.hash, history.place], ["#/rules", 1]);
  assert.deepEqual(opened, ["", "rules", "rules"]);
});

test("a page that has moved takes the place of its old address", async () => {
  const { router } = routing();
  await moveTo("#/onewire");
  router.redirect("#/things?thing=all-sensors");
  router.closeDrawer();
  assert.deepEqual([location.hash, history.place], ["#/things", 1]);
  await moveTo("#/status");
  await goBack();
  assert.equal(location.hash, "#/things");
});

test("pages are offered by role and board", async () => {
  const context = await openContext();
  const names = () => listGroups(context).flatMap(([, pages]) => pages.map(({ name }) => name));
  assert.ok(names().includes("simulation"));
  context.board = "linux";
  assert.ok(!names().includes("simulation"));
  context.role = "control";
  assert.deepEqual(names(), ["status", "timeline", "charts", "things", "panel", "system"]);
  assert.equal(mayOpen(context, findPage("rules")), false);
  assert.equal(findPage("cellar"), null);
});

test("noted addresses of pages that are gone lead to where their settings are", () => {
  assert.deepEqual(findMoved("outputs"), { page: "things", params: { thing: "all-outputs" } });
  assert.deepEqual(findMoved("mqtt"), { page: "messages", params: { open: "mqtt" } });
  assert.equal(findMoved("rules"), null);
});
