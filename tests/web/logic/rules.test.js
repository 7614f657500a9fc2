// Rules and schedule entries being written: what is typed, what is wrong with it, what is sent.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { usePageWords } from "../../../src/leverframe/web/lib/words.js";
import { reason } from "../../../src/leverframe/web/pages/rules/advice.js";
import { Draft, EMPTY_RULE } from "../../../src/leverframe/web/pages/rules/draft.js";
import {
  dependence,
  dependsOn,
  sentence,
  shortTitle,
} from "../../../src/leverframe/web/pages/rules/sentence.js";
import { ruleFrom } from "../../../src/leverframe/web/pages/rules/templates.js";
import { EntryDraft, clockText, wireOf } from "../../../src/leverframe/web/pages/schedule/entry.js";
import { commandsOf, openContext, textOf } from "./helpers.js";

const [NEWEST, MIDDLE, OLDEST] = ["3.9 1.75", "3.5 1.36", "3.0 1.58a"];
let context;
before(async () => {
  context = await openContext();
  await usePageWords("rules");
});

// When DS1 is at least 21.5 °C (hysteresis 0.5), after 3 s OUT2 on; when no longer, after 5 s off.
const HEATING = {
  ...EMPTY_RULE,
  ...{ source: "DS1", reference: 21.5, hysteresis: 0.5, action: "OUT2" },
  ...{ off_delay: 5, on_delay: 3 },
};
const edited = (version, rule = HEATING) => new Draft(commandsOf(version), 0, rule);

test("an untouched rule is not changed, one typed back neither", () => {
  const draft = edited(NEWEST);
  assert.deepEqual([draft.isNew, draft.isChanged], [false, false]);
  draft.type("reference", "22");
  assert.equal(draft.isChanged, true);
  draft.restore();
  assert.deepEqual([draft.isChanged, draft.items(false)], [false, []]);
});

const SWITCH = {
  ...EMPTY_RULE,
  ...{ source: "INPD1", reference: 1, action: "OUT2", value: 0, off_delay: 7 },
};
for (const [version, sent] of [
  [NEWEST, "event=0*100*0*1*0*0*2*0*0*0*0*8*1*0*0*0"],
  [MIDDLE, "event=0*100*0*1*0*0*5*0*0*0*0*8"],
  [OLDEST, "event=0*50*0*1*0*0*5*0*0*0*0*8"],
]) {
  test(`a rule of the dialect of ${version} goes round`, () => {
    const draft = edited(version, SWITCH);
    const isNewest = version === NEWEST;
    assert.equal(draft.values.length, isNewest ? 3 : 2);
    assert.equal(draft.has("O"), isNewest);
    draft.type("value", "1");
    draft.type("off_delay", "8");
    assert.deepEqual(draft.problems, []);
    assert.equal(draft.request(false).target, `/inpa.cgi?${sent}`);
  });
}

test("what other commands set goes along in the same request", () => {
  const draft = new Draft(commandsOf(NEWEST), 4, null, HEATING);
  draft.type("permanent", true);
  const items = draft.items(true);
  assert.match(items[0], /^event=4\*/);
  assert.deepEqual(items.slice(1), ["eventper=4*1", "eventon=4*1"]);
});

test("a value that cannot be sent is told by its letter", () => {
  const draft = edited(NEWEST);
  draft.type("reference", "warm");
  draft.type("on_delay", "-1");
  assert.deepEqual(draft.problems, ["D", "N"]);
  assert.match(draft.problem("D"), /^Not a number/);
  assert.match(draft.problem("N"), /^At least 0/);
});

test("a blank that is gone keeps nobody from saving and stays as it was stored", () => {
  const draft = edited(NEWEST);
  draft.type("on_delay", "soon");
  draft.type("hysteresis", "much");
  draft.type("action", "SMS1");
  draft.type("source", "INPD1");
  assert.deepEqual(draft.problems, []);
  const fields = draft.eventItem().split("*");
  assert.deepEqual([fields[3], fields[4], fields[13]], ["1", "50", "3"]);
});

test("a state is 0 or 1, and a value one that the action can have", () => {
  const draft = edited(NEWEST);
  draft.type("source", "OUT1");
  assert.equal(draft.typed.reference, "1");
  const old = edited(OLDEST, { ...SWITCH, value: 2 });
  old.type("action", "OUT3");
  assert.ok(old.values.includes(old.typed.value));
});

test("only what the version has is offered", () => {
  const [newest, oldest] = [edited(NEWEST), edited(OLDEST)];
  assert.ok(newest.offered("B").includes("DIFF6") && !oldest.offered("B").includes("DIFF6"));
  const screen = "OLED ON/NEXT SCREEN";
  assert.ok(newest.actions.includes(screen) && !oldest.actions.includes(screen));
  assert.equal(oldest.has("P"), false);
});

test("a template takes what the version has, rather with a value", () => {
  const offer = (version, state) => {
    const draft = new Draft(commandsOf(version), 0, null, EMPTY_RULE);
    return { sources: draft.offered("B"), actions: draft.actions, state };
  };
  assert.equal(ruleFrom("thermostat", offer(NEWEST, { T1: 20 })).source, "T1");
  assert.equal(ruleFrom("thermostat", offer(NEWEST, {})).source, "DS1");
  assert.equal(ruleFrom("door_alarm", offer(OLDEST, {})).action, "eMail");
  assert.deepEqual(ruleFrom("empty", offer(NEWEST, {})), EMPTY_RULE);
  assert.equal(ruleFrom("thermostat", { ...offer(NEWEST, {}), source: "CO2" }).source, "CO2");
});

test("a rule reads as a sentence with what holds now", () => {
  const effect = (does, delay) => ({ action: "OUT2", does, delay_s: delay, text: "" });
  const report = {
    ...{ number: 1, settings: HEATING, units: { DS1: "°C" } },
    ...{ when_met: effect("on", 3), when_ceasing: effect("off", 5) },
  };
  const condition = { label: "DS1", value: 20.1, result: false };
  const explanation = { conditions: [condition], dependence_agrees: true };
  assert.equal(
    textOf(sentence(report, explanation, context.settings, {})),
    "When DS1 is at least 21.5 °C (hysteresis 0.5) 20.1 °C false, after 3 s set OUT2 on; " +
      "when no longer, after 5 s set OUT2 off.",
  );
  assert.equal(shortTitle(HEATING, { DS1: "°C" }), "DS1 ≥ 21.5 °C → OUT2");
});

test("a dependence is one number, there and back", () => {
  for (const [rule, mustBeMet] of [[1, true], [20, true], [1, false], [20, false]]) {
    const depends = dependsOn(rule, mustBeMet);
    assert.deepEqual(dependence({ depends }), [rule, mustBeMet]);
  }
});

test("why a rule does not act is told", () => {
  const explanation = { obstacle: null, combined: false, pending_action: null };
  assert.equal(reason(explanation, 0), "It does not act: its conditions do not hold.");
  const waiting = { ...explanation, pending_action: "activate" };
  assert.equal(reason(waiting, 2.2), "It begins in 3 s.");
  const absent = { ...explanation, obstacle: { kind: "absent", rule: null, label: "DS1" } };
  assert.equal(reason(absent, 0), "It does not act: DS1 is absent.");
  assert.equal(reason({ ...explanation, combined: true }, 0), "");
});

const entryDraft = (saved = null) => new EntryDraft(context.commands.get("sched_save"), 3, saved);

test("an entry of the schedule is stored as it was typed", () => {
  const draft = entryDraft();
  for (const [name, typed] of Object.entries({
    ...{ name: "Abend *&=", action: "EVENT2", value: "2", time: "19:30:05" },
    days: ["Sun", "Sat"],
  })) {
    draft.type(name, typed);
  }
  assert.deepEqual(draft.problems(), {});
  assert.deepEqual(draft.entry(), {
    ...{ name: "Abend *&=", action: "EVENT2", value: 2, time: 70_205, date: null },
    ...{ days: ["Sat", "Sun"], periodic: false, active: true },
  });
  assert.deepEqual(entryDraft(draft.entry()).typed, { ...draft.typed, days: ["Sat", "Sun"] });
});

test("an entry runs on a date, or again and again", () => {
  const draft = entryDraft();
  draft.type("kind", "date");
  assert.deepEqual(draft.problems(), { F: "missing_date" });
  draft.type("date", "1970-01-11");
  assert.deepEqual([wireOf(3, draft.entry()).F, wireOf(3, draft.entry()).G], [10, 0]);
  draft.type("kind", "period");
  draft.type("period", "0");
  assert.match(draft.problems().E, /Allowed: 1 to 86400/);
  draft.type("period", "90");
  assert.deepEqual([draft.entry().time, wireOf(3, draft.entry()).G], [90, 256 + 127]);
});

test("an entry without a day or with too long a name is not sent", () => {
  const draft = entryDraft();
  draft.type("days", []);
  draft.type("name", "A name of more than fifteen letters");
  assert.deepEqual(Object.keys(draft.problems()), ["B", "G"]);
  assert.equal(clockText(70_205), "19:30:05");
});
