// Texts in five languages, numbers and times as they are written, labels and names.

import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";

import * as api from "../../../src/leverframe/web/lib/live/api.js";
import {
  READINGS,
  SHOWN_PLACES,
  indexOf,
  isState,
} from "../../../src/leverframe/web/lib/things/labels.js";
import { moment, shortMoment } from "../../../src/leverframe/web/lib/format/moments.js";
import { formatValue } from "../../../src/leverframe/web/lib/format/numbers.js";
import { PLACES, rich } from "../../../src/leverframe/web/lib/format/words.js";
import { withNames } from "../../../src/leverframe/web/lib/things/things.js";
import { isSame, valueAt } from "../../../src/leverframe/web/lib/live/tree.js";
import * as words from "../../../src/leverframe/web/lib/format/words.js";
import { controller } from "./browser.mjs";
import { openContext } from "./helpers.js";

const { t } = words;
before(openContext);
beforeEach(() => words.chooseLanguage("en"));

test("places of a text are filled in, in the order of its language", () => {
  assert.equal(t("out_of_range", { min: 1, max: 5 }), "Out of range. Allowed: 1 to 5.");
  const parts = rich(t("out_of_range", PLACES), { min: "[1]", max: "[5]" });
  assert.equal(parts.join(""), "Out of range. Allowed: [1] to [5].");
  const values = { min: 1, max: 2 };
  assert.equal(words.text(["out_of_range", values]), t("out_of_range", values));
});

test("a text that does not exist is reported and shown by its key", (context) => {
  const errors = context.mock.method(console, "error", () => {});
  assert.equal(t("no such text"), "no such text");
  assert.equal(errors.mock.callCount(), 1);
});

test("the words of a page come before those of the frame, and go with it", async () => {
  await words.usePageWords("outputs");
  assert.notEqual(t("on_time"), "on_time");
  await words.usePageWords(null);
});

test("of pages that are opened one after the other the last one has its words", async () => {
  const slow = words.usePageWords("pwm");
  const last = words.usePageWords(null);
  await Promise.all([last, slow]);
  await words.usePageWords("outputs");
  const left = words.usePageWords("schedule");
  await Promise.all([words.usePageWords("outputs"), left]);
  assert.notEqual(t("on_time"), "on_time");
  await words.usePageWords(null);
});

test("a chosen language is kept and holds against the setting", () => {
  words.chooseLanguage("cs");
  assert.equal(localStorage.getItem("leverframe.language"), "cs");
  words.followSetting("HU");
  assert.equal(words.currentLanguage(), "cs");
  assert.equal(document.documentElement.lang, "cs");
});

test("the setting holds where no one chose, unless it is the factory's", () => {
  localStorage.clear();
  words.followSetting("HU");
  assert.equal(words.currentLanguage(), "hu");
  words.followSetting("EN");
  assert.equal(words.currentLanguage(), "hu");
});

test("words of a code list are translated, also before a label", () => {
  words.chooseLanguage("pl");
  assert.notEqual(words.code("off"), "off");
  assert.ok(words.code("RESET ENERGY1").endsWith(" ENERGY1"));
  assert.equal(words.code("OUT2"), "OUT2");
  assert.equal(words.code("offs"), "offs");
});

test("what rounds to zero has no sign", () => {
  assert.equal(words.decimal(-0.04, 1), "0.0");
  assert.equal(words.decimal(-0, 0), "0");
  assert.equal(words.decimal(-0.06, 1), "-0.1");
});

test("all languages but English have a decimal comma", () => {
  assert.equal(words.decimal(21.55, 1), "21.6");
  words.chooseLanguage("fr");
  assert.equal(words.decimal(21.5, 2), "21,50");
});

test("a moment of the last day is shown by its time alone, in 24 hours", () => {
  const evening = new Date(2026, 0, 5, 21, 5, 9).getTime() / 1000;
  assert.equal(words.clock(evening), "21:05:09");
  assert.equal(moment(evening, evening + 3600), "21:05:09");
  assert.match(moment(evening, evening + 86_400), /Jan.*21:05/);
});

test("the day has 24 hours in every language", () => {
  for (const language of Object.keys(words.LANGUAGES)) {
    words.chooseLanguage(language);
    const evening = 21 * 3600;
    const later = evening + 3 * 86_400;
    const texts = [words.clock(evening), moment(evening, later), shortMoment(evening, later)];
    for (const text of texts) assert.match(text, /\b21:00/, `${language}: ${text}`);
    assert.equal(texts.some((text) => /\b[AP]M\b/i.test(text)), false, `${language}: ${texts}`);
  }
});

test("values have the unit and decimals of their label; absent ones a dash", () => {
  assert.deepEqual(formatValue("DS1", 21.55), { text: "21.6", unit: "°C", absent: false });
  assert.deepEqual(formatValue("VCC", null), { text: "–", unit: "", absent: true });
  assert.equal(formatValue("OUT1", 1).text, "1");
});

test("labels know their kind and their place", () => {
  assert.deepEqual(["OUT3", "PWM0", "EVENT1", "INPD4"].map(indexOf), [3, 0, 0, 3]);
  assert.deepEqual(["OUT3", "MQTT", "DS1"].map(isState), [true, true, false]);
  assert.equal(new Set(READINGS).size, READINGS.length);
  assert.equal(new Set(SHOWN_PLACES).size, SHOWN_PLACES.length);
});

test("a setting is found by its path", () => {
  assert.equal(valueAt({ outputs: [{ name: "a" }] }, "outputs.0.name"), "a");
  assert.equal(valueAt({}, "outputs.0.name"), undefined);
  assert.ok(isSame([1, { a: 2 }], [1, { a: 2 }]) && !isSame([1], ["1"]));
});

test("a number chooses the form of a word", async () => {
  await words.usePageWords("journal");
  const countText = (count) => t("what_settings", { count });
  assert.deepEqual([countText(1), countText(5)], ["1 setting changed", "5 settings changed"]);
  words.chooseLanguage("pl");
  assert.match(countText(3), /^3 ustawienia/);
  assert.match(countText(5), /^5 ustawień/);
  await words.usePageWords(null);
});

test("what the server says is shown in the language of the pages", async () => {
  const said = "Field A: 300 is outside 0 to 255. Allowed: 0 to 255.";
  assert.equal(words.serverText(said), said);
  words.chooseLanguage("fr");
  await words.fetchWords("server");
  assert.equal(
    words.serverText(said),
    "Champ A : 300 est hors de 0 à 255. Permis : 0 – 255.",
  );
  const module =
    "lamp with slave ID 3 does not answer; check its unit ID, and the gateway if there is one.";
  assert.match(words.serverText(`M1: ${module}`), /^M1: lamp d’adresse 3 ne répond pas ;/);
  // Of a node: what stands before a sentence is kept around it.
  const start = "/etc/fleet.toml, line 6: b: b.tags must be a list of strings, not 'north'.";
  assert.equal(
    words.serverText(start),
    "/etc/fleet.toml, ligne 6 : b: b.tags doit être une liste de chaînes, et non 'north'.",
  );
  assert.equal(
    words.serverText("north: gh-1 failed to start: This tenant no longer exists."),
    "north: gh-1 n’a pas pu démarrer : Ce locataire n’existe plus.",
  );
  // Parts and findings, as a stopped roll-out shows them.
  await words.fetchWords("parts");
  assert.equal(
    words.serverText(
      "The controller has a new finding: HTTP request 1: There was no answer within 5 s.",
    ),
    "Il a un nouveau constat : Requête HTTP 1: Pas de réponse en 5 s.",
  );
  assert.equal(
    words.serverText("The controller has a new finding: Pump no longer responds."),
    `Il a un nouveau constat : ${words.findingSentence("sensor_lost", { name: "Pump" })}`,
  );
  const held = { name: "Pump", rule: "Frost", state: "off" };
  assert.equal(
    words.serverText(
      "The controller has a new finding: Pump is off by hand although rule Frost is met.",
    ),
    `Il a un nouveau constat : ${words.findingSentence("rule_held", held)}`,
  );
  assert.match(words.findingSentence("rule_held", held) ?? "", /Pump est sur arrêt/);
  const overruled = { ...held, mover: "return time" };
  assert.match(
    words.findingSentence("rule_overruled", overruled) ?? "",
    /Cause : temps de retour\.$/,
  );
  overruled.mover = "schedule entry Night";
  assert.match(words.findingSentence("rule_overruled", overruled) ?? "", /: planning Night\.$/);
  // Journals of earlier versions do not name the state.
  assert.equal(words.findingSentence("rule_held", { name: "Pump", rule: "Frost" }), null);
  assert.equal(
    words.serverText("south: The certificate of this node expires soon. Days left: 5."),
    "south: Le certificat de ce nœud expire bientôt. Jours restants : 5.",
  );
  const unknown = "Something without a translation.";
  assert.equal(words.serverText(unknown), unknown);
  assert.equal(words.serverText(""), "");
});

test("what is said to programs about commands and fields is not said on a page", async () => {
  const { serverText } = words;
  assert.equal(serverText("No mail server is set; set one with em1=..."), "No mail server is set.");
  assert.equal(
    serverText("MQTT is switched off; set it up with mqtt=1*HOST*..."),
    "MQTT is switched off.",
  );
  const locked = "Heater cannot be switched from outside while the outputs are locked; only ";
  assert.equal(
    serverText(`${locked}rules can. Unlock with /stm.cgi?outblock=0.`),
    `${locked}rules can.`,
  );
  assert.equal(serverText("Set that first: /inpa.cgi?sensor=01."), "Set that first.");
  controller.refusal = { status: 400, detail: "Field A: 300 is outside 0 to 255." };
  await assert.rejects(api.send("/outs.cgi?out0=1"), { message: "300 is outside 0 to 255." });
  controller.refusal = null;
});

test("a refusal calls things as people do", async () => {
  const context = await openContext();
  context.overview.name = (label) => (label === "PWM1" ? "Heater" : "");
  words.nameThings((text) => withNames(context, text));
  controller.refusal = { status: 409, detail: "PWM1 is locked, and so are OUT2 and PWM0-PWM3." };
  await assert.rejects(api.send("/outs.cgi?out0=1"), {
    message: "Heater is locked, and so are Output 2 and PWM0-PWM3.",
  });
  await words.completeWords();
  words.chooseLanguage("pl");
  const detail =
    "INPA2 has the sensor 'off'; the gain can be set only with the sensor 'vin=3.3V/5V'. Set " +
    "that first: /inpa.cgi?sensor=11.";
  controller.refusal = { status: 409, detail };
  await assert.rejects(api.send("/inpa.cgi?igain=11"), {
    message:
      "Wejście analogowe 2 ma czujnik „wyłączone”; wzmocnienie można ustawić tylko z czujnikiem " +
      "„napięcie do 3,3 V lub 5 V”. Ustaw go najpierw.",
  });
  controller.refusal = null;
  words.nameThings((text) => text);
});

test("a refusal is shown in the language of the pages", async () => {
  words.chooseLanguage("cs");
  controller.refusal = { status: 403, detail: "Only the administrator may do this." };
  await assert.rejects(api.send("/outs.cgi?out0=1"), { message: "To smí jen správce." });
  controller.refusal = null;
});
