// What a search finds, and what it finds first.

import assert from "node:assert/strict";
import { test } from "node:test";

import { chooseLanguage } from "../../../src/leverframe/web/lib/format/words.js";
import { fold } from "../../../src/leverframe/web/lib/format/words.js";
import { allEntries, bestOf } from "../../../src/leverframe/web/pages/search/entries.js";
import { openContext } from "./helpers.js";

const entry = (kind, name, beside = "") => ({
  kind,
  name,
  beside,
  address: "",
  text: fold(`${name} ${beside}`),
  names: fold(name),
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

const PLACES = [
  "#/messages?open=email",
  "#/system?open=interface",
  "#/system?open=accounts",
  "#/system?open=interface&find=",
  "#/system?open=backup",
];
const EVERYDAY = {
  en: ["email", "timezone", "password", "wifi", "reboot"],
  pl: ["mail", "strefa", "hasło", "wifi", "kopia zapasowa"],
  fr: ["email", "fuseau", "mot de passe", "wifi", "redémarrer"],
  hu: ["email", "időzóna", "jelszó", "wifi", "újraindítás"],
  cs: ["email", "časové pásmo", "heslo", "wifi", "restart"],
};

test("everyday words find settings in every language", async () => {
  const context = await openContext();
  for (const [language, wanted] of Object.entries(EVERYDAY)) {
    chooseLanguage(language);
    const entries = await allEntries(context);
    wanted.forEach((typed, index) => {
      const [first] = bestOf(entries, typed, 1);
      assert.ok(first?.address.startsWith(PLACES[index]), `${typed}: ${first?.address}`);
    });
  }
  chooseLanguage("en");
});

test("what is looked for by other words is found where it is", async () => {
  const context = await openContext();
  context.overview.isPresent = (label) => label === "OUT0";
  const findAddresses = (entries, typed) => bestOf(entries, typed, 3).map(({ address }) => address);
  const entries = await allEntries(context);
  const [host, time] = ["#/messages?open=email&find=Server", "#/things?thing=OUT0&find="];
  for (const [typed, address] of [
    ...[["theme", "#/more?find=Colours"], ["colour", "#/more?find=Colours"]],
    ...[["language", "#/more?find=Language"], ["certificate", "#/system"]],
    ...[["smtp", "#/messages?open=email"], ["mail host", host], ["return time", time]],
  ]) {
    const addresses = findAddresses(entries, typed);
    assert.ok(addresses.some((one) => one.startsWith(address)), `${typed}: ${addresses}`);
  }
  chooseLanguage("hu");
  assert.ok(findAddresses(await allEntries(context), "tanusitvany").includes("#/system"));
  chooseLanguage("en");
});
