// The page of a fleet: what a stream changes, what the address keeps, what rows and results say.

import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";

import { addressWith, readAddress } from "../../../src/leverframe/web/fleet/address.js";
import { lastHour, levers, list } from "../../../src/leverframe/web/fleet/list.js";
import * as node from "../../../src/leverframe/web/fleet/node_api.js";
import { paging } from "../../../src/leverframe/web/fleet/paging.js";
import { results } from "../../../src/leverframe/web/fleet/results.js";
import { withChange } from "../../../src/leverframe/web/fleet/view.js";
import * as words from "../../../src/leverframe/web/lib/words.js";
import { markup, openContext, textOf } from "./helpers.js";

const row = (name, more = {}) => ({
  name,
  url: `http://${name}.localhost/`,
  address: null,
  port: null,
  hw: "3.9",
  sw: "1.75",
  tags: [],
  tenant: "",
  health: "fine",
  findings: 0,
  worst: null,
  about: null,
  levers: [0, 1],
  happened: [0, 2],
  ...more,
});

before(async () => {
  await openContext();
  await words.usePageWords("fleet");
});
beforeEach(() => words.chooseLanguage("en"));

test("a change replaces rows, and the order says which are in view", () => {
  const view = { order: ["a", "b"], rows: [row("a"), row("b")], matching: 2 };
  const changed = withChange(view, { rows: [row("b", { sw: "1.49" })], matching: 5 });
  assert.deepEqual(changed.rows.map(({ sw }) => sw), ["1.75", "1.49"]);
  assert.equal(changed.matching, 5);
  const moved = withChange(changed, { order: ["c", "b"], rows: [row("c")] });
  assert.deepEqual(moved.rows.map(({ name }) => name), ["c", "b"]);
});

test("the address keeps what is looked for, and only that", () => {
  location.hash = "#/?search=pump&page=3";
  assert.deepEqual(readAddress(), {
    wanted: { search: "pump", health: "", tag: "", order: "" },
    page: 3,
  });
  assert.equal(addressWith({ health: "fault", page: 1 }), "#/?search=pump&health=fault");
  location.hash = "";
  assert.equal(addressWith({}), "#/?");
});

test("a row tells its worst finding in words, with since and how many more", () => {
  const worst = {
    ...{ id: "", kind: "sensor_lost", severity: "attention", since: 0, text: "", label: "DS1" },
    ...{ figures: {}, page: "onewire" },
  };
  const rows = [
    row("a", { health: "attention", findings: 3, worst, about: "Flow", port: 81, tags: ["x"] }),
    row("b", { health: "off" }),
  ];
  const about = { tenant: null };
  const shown = textOf(list({ node: about, rows }, (name) => name === "a", () => {}, 10));
  assert.match(shown, /Flow has fallen silent\. since [\d:]+, more: 2/);
  assert.match(shown, /findings: 3/);
  assert.match(shown, /without power/);
  assert.match(shown, /:81/);
});

test("levers lean by their state, and the last hour is drawn by its busiest minutes", () => {
  assert.match(markup(levers([1, 0, null])), /on: 1 of 3/);
  assert.match(markup(levers([1, 0, null])), /M7 19l3\.5 -15/);
  assert.match(markup(lastHour([0, 1, 4])), /M3 19v-4M5 19v-16/);
});

test("pages of the list lead on as far as there are some", () => {
  assert.equal(textOf(paging(12, 1)), "");
  assert.equal(textOf(paging(120, 3)), "Previous 101 to 120 of 120 Next");
});

test("refusals come first, and effects are said in words", () => {
  const effect = { what: "Pump", old: 0, new: 1, is_state: true };
  const report = {
    ...{ done: 4, refused: 1, dry_run: true },
    results: [
      { name: "a", status: 200, effects: [effect, { ...effect, old: 1 }] },
      { name: "b", status: 200, effects: [{ ...effect, what: "x.y", old: "", is_state: false }] },
      { name: "c", status: 200, effects: [{ ...effect, what: "secret", old: null, new: null }] },
      { name: "d", status: 200 },
      { name: "e", status: 404, detail: "There is none." },
    ],
  };
  const shown = textOf(results(report));
  assert.match(shown, /Would do it: 4\. Would refuse: 1\. e refuses: There is none\./);
  assert.match(shown, /a Pump: off → on; Pump stays on b x\.y: "" → 1 c secret d would do it/);
  const many = Array.from({ length: 40 }, (_, at) => ({ name: `n${at}`, status: 200 }));
  assert.match(textOf(results({ ...report, dry_run: false, results: many })), /not shown: 10/);
});

test("what is chosen goes as a form, however many there are, and a template as it is", async () => {
  const sent = [];
  const asIs = globalThis.fetch;
  globalThis.fetch = async (target, { body, headers }) => {
    sent.push([target, String(body), headers["Content-Type"]]);
    return new Response("{}");
  };
  const names = Array.from({ length: 3000 }, (_, at) => `gh-${at}`);
  const form = "application/x-www-form-urlencoded";
  await node.sendCommand({ names }, "outs.cgi?out0=1", { dryRun: true, allOrNone: false });
  await node.make("add", { name: "gh-{n}", count: 2 }, null);
  await node.make("add", { name: "a" }, new File(["x"], "x.toml"));
  globalThis.fetch = asIs;
  const [target, body, type] = sent[0];
  assert.deepEqual([target, type], ["/api/fleet/send", form]);
  const given = Object.fromEntries(new URLSearchParams(body));
  assert.deepEqual(given, { command: "outs.cgi?out0=1", name: names.join(","), dry_run: "1" });
  assert.deepEqual(sent[1], ["/api/fleet/add", "name=gh-%7Bn%7D&count=2", form]);
  assert.deepEqual([sent[2][0], sent[2][2]], ["/api/fleet/add?name=a", "text/plain"]);
});

test("the operator is told whose a controller is, and a tenant knows", () => {
  const rows = [row("a", { tenant: "acme" }), row("b")];
  const shown = (tenant) => textOf(list({ node: { tenant }, rows }, () => false, () => {}, 10));
  assert.match(shown(null), /of acme/);
  assert.doesNotMatch(shown("acme"), /of acme/);
});
