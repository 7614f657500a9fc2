// What a search finds, and what it finds first.

import assert from "node:assert/strict";
import { test } from "node:test";

import { folded } from "../../../src/leverframe/web/lib/folded.js";
import { bestOf } from "../../../src/leverframe/web/pages/search/entries.js";

const entry = (kind, name, beside = "") => ({
  kind,
  name,
  beside,
  address: "",
  text: folded(`${name} ${beside}`),
});
const ENTRIES = [
  entry("command", "pulse<A>", "Switch the pump on for some seconds"),
  entry("setting", "Pump protection", "Rules"),
  entry("thing", "Water pump", "off"),
  entry("page", "Pumps"),
  entry("thing", "Žárovka", "on"),
];
const names = (typed) => bestOf(ENTRIES, typed, 3).map(({ name }) => name);

test("things come before pages, and names before descriptions", () => {
  assert.deepEqual(names("pump"), ["Water pump", "Pumps", "Pump protection"]);
  assert.deepEqual(names("pump switch"), ["pulse<A>"]);
});

test("accents and case are no hindrance, and nothing typed finds nothing", () => {
  assert.deepEqual(names("ZAROVKA"), ["Žárovka"]);
  assert.deepEqual(names("  "), []);
  assert.deepEqual(names("pump tomatoes"), []);
});
