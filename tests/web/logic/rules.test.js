// Rules and schedule entries being written: what is typed, what is wrong with it, what is sent.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { compareText } from "../../../src/leverframe/web/lib/things/lever_state.js";
import { setText } from "../../../src/leverframe/web/lib/format/numbers.js";
import { secondsOfDay, timeText } from "../../../src/leverframe/web/lib/format/moments.js";
import { numberRules } from "../../../src/leverframe/web/lib/live/tree.js";
import {
  LANGUAGES,
  chooseLanguage,
  usePageWords,
} from "../../../src/leverframe/web/lib/format/words.js";
import { adviceList, reason } from "../../../src/leverframe/web/pages/rules/list.js";
import { Draft } from "../../../src/leverframe/web/pages/rules/draft.js";
import { EMPTY_RULE } from "../../../src/leverframe/web/pages/rules/typed.js";
import {
  dependence,
  dependsOn,
  hoursText,
  shortSentence,
} from "../../../src/leverframe/web/pages/rules/sentence.js";
import { isUsed } from "../../../src/leverframe/web/lib/things/things.js";
import { deletion, restoration } from "../../../src/leverframe/web/pages/rules/what_if.js";
import { holdsNow } from "../../../src/leverframe/web/pages/rules/editor.js";
import { sourceGroups } from "../../../src/leverframe/web/pages/rules/blanks.js";
import { stateOf } from "../../../src/leverframe/web/pages/rules/list.js";
import { Trial } from "../../../src/leverframe/web/pages/rules/trial.js";
import {
  differences,
  pulsesOf,
  spansOf,
  without,
} from "../../../src/leverframe/web/pages/rules/trial.js";
import { thresholds } from "../../../src/leverframe/web/pages/rules/until.js";
import {
  dependentsOf,
  endDays,
  isWithin,
  watchers,
  windowOf,
} from "../../../src/leverframe/web/pages/rules/window.js";
import { ruleFrom } from "../../../src/leverframe/web/pages/rules/what_if.js";
import { EntryDraft, wireOf } from "../../../src/leverframe/web/pages/schedule/entry.js";
import { spanOf, spanText } from "../../../src/leverframe/web/pages/schedule/drawn_span.js";
import { missedOn, missedText } from "../../../src/leverframe/web/pages/schedule/missed.js";
import { daysText, entrySentence } from "../../../src/leverframe/web/pages/schedule/entry.js";
import {
  copyTo,
  dayCopied,
  entriesOf,
  groupsOf,
  move,
  partsOn,
  piecesOf,
  roomOf,
  toEntries,
  stretch,
} from "../../../src/leverframe/web/pages/schedule/week.js";
import { controller } from "./browser.mjs";
import { commandsOf, markup, openContext, textOf, whenDrawn } from "./helpers.js";

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
const editRule = (version, rule = HEATING) => new Draft(commandsOf(version), 0, rule);

test("the numbers of a rule stand in its blanks as the language writes them", () => {
  chooseLanguage("pl");
  const draft = editRule(NEWEST, { ...HEATING, source: "PM2.5" });
  assert.deepEqual([draft.typed.reference, draft.typed.source], ["21,5", "PM2.5"]);
  const stored = draft.eventItem();
  chooseLanguage("en");
  assert.equal(draft.isChanged, false);
  draft.type("reference", "21.5");
  assert.equal(draft.eventItem(), stored);
});

test("an untouched rule is not changed, one typed back neither", () => {
  const draft = editRule(NEWEST);
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
    const draft = editRule(version, SWITCH);
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

test("a value that cannot be sent is reported by its letter", () => {
  const draft = editRule(NEWEST);
  draft.type("reference", "warm");
  draft.type("on_delay", "-1");
  assert.deepEqual(draft.problems, ["D", "N"]);
  assert.match(draft.problem("D"), /^Not a number/);
  assert.match(draft.problem("N"), /^Not a duration\. Write 10 s, 5 min/);
});

test("a blank that is gone does not prevent saving and stays as it was stored", () => {
  const draft = editRule(NEWEST);
  draft.type("on_delay", "soon");
  draft.type("until", "much");
  draft.type("action", "SMS1");
  draft.type("source", "INPD1");
  assert.deepEqual(draft.problems, []);
  const fields = draft.eventItem().split("*");
  assert.deepEqual([fields[3], fields[4], fields[13]], ["1", "50", "3"]);
});

test("a pulse lasts as long as its delay says", () => {
  const draft = editRule(NEWEST);
  draft.type("action", "PULSE OUT1");
  draft.type("off_delay", "45");
  assert.equal(draft.eventItem().split("*")[11], "45");
});

test("waits are durations, and a wait of nothing is immediate", () => {
  const draft = editRule(NEWEST, { ...HEATING, on_delay: 180, off_delay: 0 });
  assert.deepEqual([draft.typed.on_delay, draft.typed.off_delay], ["3 min", "immediately"]);
  assert.equal(draft.isChanged, false);
  draft.type("on_delay", "immediately");
  draft.type("off_delay", "1 h 30 min");
  const fields = draft.eventItem().split("*");
  assert.deepEqual([fields[11], fields[13]], ["5400", "0"]);
  draft.type("action", "OUT1");
  assert.equal(draft.typed.off_delay, "1 h 30 min");
});

test("a pulse that begins as a wait of nothing gets a length", () => {
  const draft = editRule(NEWEST, { ...HEATING, off_delay: 0 });
  draft.type("action", "PULSE OUT1");
  assert.equal(draft.eventItem().split("*")[11], "10");
});

test("a state is 0 or 1, and a value one that the action can have", () => {
  const draft = editRule(NEWEST);
  draft.type("source", "OUT1");
  assert.equal(draft.typed.reference, "1");
  const old = editRule(OLDEST, { ...SWITCH, value: 2 });
  old.type("action", "OUT3");
  assert.ok(old.values.includes(old.typed.value));
});

test("only what the version has is offered", () => {
  const [newest, oldest] = [editRule(NEWEST), editRule(OLDEST)];
  assert.ok(newest.choicesOf("B").includes("DIFF6") && !oldest.choicesOf("B").includes("DIFF6"));
  const screen = "OLED ON/NEXT SCREEN";
  assert.ok(newest.actions.includes(screen) && !oldest.actions.includes(screen));
  assert.equal(oldest.has("P"), false);
});

test("a template takes what the version has, rather with a value", () => {
  const offer = (version, state) => {
    const draft = new Draft(commandsOf(version), 0, null, EMPTY_RULE);
    return { sources: draft.choicesOf("B"), actions: draft.actions, state };
  };
  assert.equal(ruleFrom("thermostat", offer(NEWEST, { T1: 20 })).source, "T1");
  assert.equal(ruleFrom("thermostat", offer(NEWEST, {})).source, "DS1");
  assert.equal(ruleFrom("door_alarm", offer(OLDEST, {})).action, "eMail");
  assert.deepEqual(ruleFrom("empty", offer(NEWEST, {})), EMPTY_RULE);
  assert.equal(ruleFrom("thermostat", { ...offer(NEWEST, {}), source: "CO2" }).source, "CO2");
});

test("a rule reads as a line with the names of things", () => {
  assert.equal(
    shortSentence(context, HEATING),
    "Thermometer 1 is at least 21.5 °C, until 21 °C → Output 2 on",
  );
  const both = { ...HEATING, operator: "OR", source2: "INPD1", reference2: 1, action: "SMS1" };
  assert.equal(
    shortSentence(context, both),
    "Thermometer 1 is at least 21.5 °C, until 21 °C or Input 1 is open → SMS without a text",
  );
  // What it is afterwards is said, not what is done to it.
  chooseLanguage("fr");
  assert.match(shortSentence(context, HEATING), / → Sortie 2 marche$/);
  chooseLanguage("en");
});

test("an action on a thing is named by the thing's name, in every language", async () => {
  const own = await openContext();
  own.overview.name = (label) => (label === "OUT0" ? "Pump $&" : "");
  const rule = (action) => ({ ...EMPTY_RULE, source: "INPD1", reference: 1, action });
  const actionText = (action) => shortSentence(own, rule(action)).split(" → ")[1];
  assert.equal(actionText("PULSE OUT0"), "on for a while: Pump $&");
  assert.equal(actionText("AutoSwitch OUT0"), "periodic switching Pump $&");
  assert.equal(actionText("RESET ENERGY1"), "reset Meter 1");
  for (const language of Object.keys(LANGUAGES)) {
    chooseLanguage(language);
    assert.match(actionText("PULSE OUT0"), / Pump \$&$/);
  }
  chooseLanguage("en");
  await usePageWords("schedule");
  const entry = { action: "AutoSwitch OUT0", value: 1, time: 0, days: WORK, periodic: true };
  assert.match(entrySentence(entry, own), /periodic switching Pump \$&/);
  await usePageWords("rules");
});

// --- time windows --------------------------------------------------------------------------------

const WORK = ["Mon", "Tue", "Wed", "Thu", "Fri"];
const NIGHT = { from: 79_200, to: 21_600, days: WORK };
const none = (count) => Array.from({ length: count }, () => null);
const uses = (rules = [], schedule = none(4)) => ({
  ...{ rules, schedule },
  event_variables: Array.from({ length: 8 }, () => ({ name: "" })),
});
const draftWithWindow = () => new Draft(commandsOf(NEWEST), 0, null, HEATING, uses());

test("a window over midnight ends on the days after, one of whole days behind the last", () => {
  assert.deepEqual(endDays(NIGHT), ["Tue", "Wed", "Thu", "Fri", "Sat"]);
  assert.deepEqual(endDays({ from: 0, to: 0, days: WORK }), ["Sat"]);
  assert.deepEqual(endDays({ from: 3600, to: 7200, days: WORK }), WORK);
  assert.deepEqual(
    [isWithin(NIGHT, 80_000, "Fri"), isWithin(NIGHT, 100, "Sat"), isWithin(NIGHT, 80_000, "Sat")],
    [true, true, false],
  );
});

test("a time window is made with its rule, in one request, and found again", () => {
  const draft = draftWithWindow();
  draft.type("window", "out");
  draft.type("days", WORK);
  draft.type("name", "Night & day");
  const [event, begins, ends, name, enabled] = draft.items(true);
  assert.match(event, /^event=0\*10\*0\*2150\*50\*1\*2\*111\*0\*0\*0\*/);
  assert.equal(begins, "schedset=0*22%3A00-06%3A00*17*1*79200*0*31*1");
  assert.equal(ends, "schedset=1*22%3A00-06%3A00*17*0*21600*0*62*1");
  assert.deepEqual([name, enabled], ["rulename=0*Night%20%26%20day", "eventon=0*1"]);
  assert.equal(draft.trialItem(), [event, begins, ends].join("&"));
  const entry = (value, time, days) => ({
    ...{ name: "22:00-06:00", action: "EVENT8", value, time, days },
    ...{ date: null, periodic: false, active: true },
  });
  const rule = { ...HEATING, operator: "AND", source2: "EVENT8", reference2: 0 };
  const stored = uses([rule], [entry(1, 79_200, WORK), entry(0, 21_600, endDays(NIGHT)), null]);
  const again = new Draft(commandsOf(NEWEST), 0, rule, rule, stored);
  const { window, from, to } = again.typed;
  assert.deepEqual([window, from, to], ["out", "22:00", "06:00"]);
  assert.deepEqual([again.isChanged, again.items(false)], [false, []]);
  // The sentence of a window says "and": joined otherwise, it is a condition like others.
  const either = { ...rule, operator: "OR" };
  assert.equal(new Draft(commandsOf(NEWEST), 0, either, either, stored).typed.window, "");
  const text = hoursText(windowOf(stored, "EVENT8"), false);
  assert.equal(text, "it is not between 22:00 and 06:00, on weekdays");
  again.type("to", "07:30");
  assert.deepEqual(again.items(false)[1], "schedset=1*22%3A00-07%3A30*17*0*27000*0*62*1");
  again.restore();
  again.type("window", "");
  assert.deepEqual(again.items(false).slice(1), ["scheddel=0", "scheddel=1"]);
  const shared = { ...stored, rules: [rule, rule] };
  assert.deepEqual(deletion({ commands: commandsOf(NEWEST) }, shared, 0), ["eventdel=0"]);
  assert.deepEqual(deletion({ commands: commandsOf(NEWEST) }, stored, 0), [
    ...["eventdel=0", "scheddel=0", "scheddel=1"],
  ]);
  const report = { number: 1, settings: rule, command: "event=0*10*0" };
  assert.deepEqual(
    restoration({ commands: commandsOf(NEWEST), settings: stored }, [report], 0).length,
    3,
  );
});

test("hours that are none, no day, or all of the week are shown", () => {
  const draft = draftWithWindow();
  draft.type("window", "in");
  assert.deepEqual(draft.problems, []);
  draft.type("from", "25:00");
  assert.equal(draft.problem("hours"), "window_hours");
  draft.type("from", "06:00");
  assert.equal(draft.problem("hours"), "window_always");
  draft.type("days", []);
  assert.deepEqual([draft.problem("hours"), draft.problems], ["window_days", ["hours"]]);
  const full = new Draft(commandsOf(NEWEST), 0, null, HEATING, uses([], []));
  full.type("window", "in");
  assert.equal(full.problem("hours"), "window_full");
});

test("what was deleted comes back at its place, with those that depended on it", () => {
  const first = { ...HEATING, name: "First", enabled: true, permanent: true };
  const second = { ...HEATING, depends: 21 };
  const settings = uses([first, second]);
  const reports = [
    { number: 1, settings: first, command: "event=0*10" },
    { number: 2, settings: second, command: "event=1*10" },
  ];
  assert.deepEqual(restoration({ commands: commandsOf(NEWEST), settings }, reports, 0), [
    ...["event=1*10", "rulename=1*First", "eventper=1*1", "rulemove=1*0", "event=1*10"],
    "eventon=0*1",
  ]);
  assert.deepEqual(dependentsOf(settings, 0), [1]);
  assert.deepEqual(dependentsOf(settings, 1), []);
});

test("a new rule has the first free place, and rules behind empty places are found", () => {
  const rule = { ...HEATING, source: "EVENT3", depends: 24, action: "EVENT5" };
  const settings = uses([HEATING, null, null, { ...rule, name: "Far" }]);
  const fresh = new Draft(commandsOf(NEWEST), 0, null, EMPTY_RULE, settings);
  fresh.keepPlace(settings);
  assert.equal(fresh.index, 1);
  fresh.keepPlace(uses([HEATING, HEATING]));
  assert.equal(fresh.index, 2);
  const stored = new Draft(commandsOf(NEWEST), 0, HEATING, HEATING, settings);
  stored.keepPlace(uses([null, rule]));
  assert.deepEqual([stored.isNew, stored.index], [true, 0]);
  assert.deepEqual(dependentsOf(settings, 3), []);
  assert.deepEqual(watchers(settings, "EVENT3"), [3]);
  assert.deepEqual(
    numberRules(settings.rules).map(({ number }) => number),
    [1, 4],
  );
  const reports = [
    { number: 1, settings: HEATING, command: "event=0*10" },
    { number: 4, settings: HEATING, command: "event=3*10" },
  ];
  const bare = uses([{ ...HEATING }, null, null, { ...HEATING }]);
  const own = { commands: commandsOf(NEWEST), settings: bare };
  assert.deepEqual(restoration(own, reports, 3), ["event=3*10"]);
  assert.deepEqual(restoration(own, reports, 0), ["event=3*10", "rulemove=3*0"]);
});

test("a condition on a state is shown and sent as the state that it asks for", () => {
  const below = { ...HEATING, source: "INPD1", compare: "<", reference: 1, hysteresis: 0 };
  const draft = editRule(NEWEST, below);
  assert.deepEqual([draft.typed.compare, draft.typed.reference], [">=", "0"]);
  assert.deepEqual([draft.isChanged, draft.items(false)], [false, []]);
  draft.type("name", "Door");
  assert.match(draft.items(false)[0], /^rulename=/);
  draft.type("reference", "1");
  assert.match(draft.eventItem(), /^event=0\*100\*0\*1\*/);
  const level = (compare, reference) =>
    shortSentence(context, { ...below, compare, reference }).split(" → ")[0];
  assert.equal(level("<", 1), level(">=", 0));
  assert.equal(level("<", 0), level(">=", 0));
  assert.notEqual(level("<", 1), level(">=", 1));
  // What was a comparison of a reading is none any more.
  const reading = editRule(NEWEST, { ...HEATING, compare: "<", reference: 1 });
  reading.type("source", "INPD1");
  assert.match(reading.eventItem(), /^event=0\*100\*0\*1\*/);
});

test("only entries that a rule was saved with are its time window", () => {
  const entry = (value, time, days, name = "22:00-06:00") => ({
    ...{ name, action: "EVENT8", value, time, days },
    ...{ date: null, periodic: false, active: true },
  });
  const ends = endDays(NIGHT);
  const window = (...schedule) => windowOf(uses([null, HEATING], schedule), "EVENT8");
  assert.ok(window(entry(1, 79_200, WORK), entry(0, 21_600, ends)));
  assert.equal(window(entry(1, 79_200, WORK), entry(0, 21_600, ends, "Morning")), null);
  assert.equal(window(entry(1, 79_200, WORK, ""), entry(0, 21_600, ends, "")), null);
});

// --- the list and the trial ----------------------------------------------------------------------

test("the state of a rule shows what keeps it from acting", () => {
  const rule = (enabled) => ({ number: 2, settings: { ...HEATING, enabled } });
  const now = { met: true, pending_action: null };
  const finding = (kind) => [{ kind, page: "rules?edit=2" }];
  assert.equal(stateOf(rule(false), now, []), "off");
  assert.equal(stateOf(rule(true), now, []), "met");
  assert.equal(stateOf(rule(true), now, finding("rule_held")), "held");
  assert.equal(stateOf(rule(true), now, finding("rule_waits")), "cannot");
  assert.equal(stateOf(rule(true), { met: false, pending_action: null }, []), "resting");
  assert.equal(stateOf(rule(true), { met: true, pending_action: "activate" }, []), "waiting");
  const kept = { met: false, combined: true, pending_action: null };
  assert.equal(stateOf(rule(true), kept, []), "idle", "its conditions are met, and say so");
});

test("a variable that the page made for a time window is hidden, another one is not", () => {
  const used = (name) =>
    isUsed(
      {
        overview: { isKnown: () => true, name: () => name },
        live: { state: { EVENT8: 1 } },
        settings: { rules: [] },
      },
      "EVENT8",
    );
  assert.deepEqual(["22:00-06:00", "Night", ""].map(used), [false, true, true]);
});

test("sources are grouped, with those that have a value first", () => {
  const groups = sourceGroups(
    { ...context, overview: context.overview, live: { state: { INPD2: 1, DS2: 20 } } },
    ["VCC", "DS1", "DS2", "INPD2", "OUT0"],
  );
  assert.deepEqual(
    groups.map(([name, options]) => [name, options.map(([label]) => label)]),
    [
      ["Sensors", ["DS2", "DS1"]],
      ["Inputs", ["INPD2"]],
      ["Outputs", ["OUT0"]],
      ["Controller", ["VCC"]],
    ],
  );
  assert.match(groups[0][1][0][1], /· 20\.0/);
});

test("the two readings of a meter are distinguished by words", () => {
  const [[, meters]] = sourceGroups(context, ["ENERGY1", "POWER1"]);
  assert.deepEqual(
    meters.map(([label, shown]) => [label, shown.split(" · ")[0]]),
    [["ENERGY1", "Meter 1, energy"], ["POWER1", "Meter 1, power"]],
  );
});

test("a condition ends where its blank says, for both ways to compare", () => {
  const [reference, hysteresis] = [18, 2];
  assert.deepEqual(thresholds({ compare: "<", reference, hysteresis }), { on: 18, off: 20 });
  assert.deepEqual(thresholds({ compare: ">=", reference, hysteresis }), { on: 18, off: 16 });
});

const hysteresisOf = (draft) => draft.eventItem().split("*")[4];

test("the end of a condition keeps its distance until it is typed", () => {
  const draft = editRule(NEWEST, { ...HEATING, compare: "<", reference: 21, hysteresis: 0.5 });
  assert.equal(draft.until("E"), "21.5");
  draft.type("reference", "18");
  assert.deepEqual([draft.until("E"), hysteresisOf(draft)], ["18.5", "50"]);
  draft.type("until", "20");
  assert.deepEqual([draft.until("E"), hysteresisOf(draft)], ["20", "200"]);
  draft.type("reference", "19.9");
  assert.deepEqual([draft.until("E"), hysteresisOf(draft)], ["20", "10"]);
  draft.type("compare", ">=");
  assert.equal(draft.isChanged, true);
  assert.deepEqual(draft.problems, []);
});

test("an end that is typed as it was stored is no change", () => {
  const draft = editRule(NEWEST);
  draft.type("until", "21,0");
  assert.equal(draft.isChanged, false);
  draft.type("until", "20");
  assert.deepEqual([draft.isChanged, draft.changes], [true, 1]);
});

test("an end on the wrong side or without a number is refused in words", () => {
  const draft = editRule(NEWEST);
  draft.type("until", "22");
  assert.equal(draft.problem("E"), "The condition must end at 21.5 or below.");
  draft.type("compare", "<");
  draft.type("until", "21");
  assert.equal(draft.problem("E"), "The condition must end at 21.5 or above.");
  draft.type("until", "");
  assert.deepEqual([draft.problem("E"), draft.problems], ["Not a number.", ["E"]]);
});

// The message of a rule.


function slots({ says = ["", "", "", ""], rules = [] } = {}) {
  const email = { on_texts: says, off_texts: ["", "", "", ""], recipient: "keeper@example.org" };
  const sms = Array.from({ length: 4 }, () => ({ on_text: "", off_text: "", numbers: [] }));
  return { ...uses(rules), watchdog: [], email, gsm: { sms } };
}
const MAIL = { ...EMPTY_RULE, source: "INPD1", reference: 1, action: "eMail 2" };

test("a mail is written in the sentence and saved with its rule", () => {
  const draft = new Draft(commandsOf(NEWEST), 0, null, MAIL, slots());
  assert.deepEqual(draft.typed.message, { says: "", after: "", to: "keeper@example.org" });
  draft.typeMessage("says", "Door open");
  assert.deepEqual(draft.items(true).slice(1), [
    "rulemail=2*Door%20open**keeper%40example.org",
    "eventon=0*1",
  ]);
  draft.type("action", "SMS3");
  draft.typeMessage("to", "+48 123 456, 0048-789-012");
  assert.equal(draft.items(false)[1], "rulesms=3*Door%20open**%2B48123456:0048789012");
  draft.typeMessage("to", "Anna");
  assert.deepEqual(draft.problems, ["to"]);
});

test("a message that is as it is stored is not sent", () => {
  const stored = slots({ says: ["", "Door open", "", ""], rules: [MAIL] });
  const draft = new Draft(commandsOf(NEWEST), 0, MAIL, MAIL, stored);
  assert.equal(draft.typed.message.says, "Door open");
  draft.type("off_delay", "9");
  assert.equal(draft.isChanged, true);
  assert.equal(draft.items(false).some((item) => item.startsWith("rulemail")), false);
  draft.typeMessage("says", "Open");
  const over = draft.over(slots({ says: ["", "Shut", "", ""], rules: [MAIL] }));
  assert.equal(over.items(false).includes("rulemail=2*Open**keeper%40example.org"), true);
});

test("of messages one of its own is offered, and those that say something", () => {
  const others = [{ ...MAIL, action: "eMail 1" }, null, { ...MAIL, action: "SMS1" }];
  const settings = slots({ says: ["Warm", "", "Cold", ""], rules: others });
  const draft = new Draft(commandsOf(NEWEST), 3, null, EMPTY_RULE, settings);
  const messages = draft.offeredActions.filter(({ action }) => /^(eMail|SMS)/.test(action));
  assert.deepEqual(
    messages.map(({ action, isOwn }) => [action, isOwn]).sort(),
    [["SMS2", true], ["eMail 1", false], ["eMail 2", true], ["eMail 3", false]],
  );
  draft.type("action", "eMail 1");
  assert.equal(draft.typed.message.says, "Warm");
});

test("a message whose slot is taken elsewhere gets another one", () => {
  const draft = new Draft(commandsOf(NEWEST), 0, null, MAIL, slots());
  draft.typeMessage("says", "Own");
  draft.keepPlace(slots({ says: ["", "Theirs", "", ""], rules: [MAIL] }));
  const { action, message } = draft.typed;
  assert.deepEqual([draft.index, action, message.says], [1, "eMail 1", "Own"]);
});

test("a condition between its thresholds holds as the controller holds it", () => {
  const stored = { label: "DS1", compare: "<", reference: 18, hysteresis: 2 };
  const held = (result) => {
    const rule = { number: 3, conditions: [{ ...stored, result }] };
    return { DS1: 19, rules: [rule] };
  };
  assert.equal(holdsNow(held(true), 3, stored), true);
  assert.equal(holdsNow(held(false), 3, stored), false);
  // What was changed was never judged.
  assert.equal(holdsNow(held(true), 3, { ...stored, reference: 18.5 }), false);
  assert.equal(holdsNow(held(false), 3, { ...stored, reference: 20 }), true);
  assert.equal(holdsNow(held(true), 4, stored), false);
});

test("a pulse is shown for its own length, however long its rule is met", () => {
  const pulse = { ...EMPTY_RULE, action: "PULSE OUT2", off_delay: 10 };
  assert.equal(editRule(NEWEST, pulse).pulse, 10);
  // One of no time would be none.
  assert.equal(editRule(NEWEST, { ...pulse, off_delay: 0 }).pulse, 1);
  assert.equal(editRule(NEWEST).pulse, null);
  const turns = [
    { time: 100, active: true },
    { time: 105, active: false },
    { time: 108, active: true },
    { time: 995, active: true },
  ];
  assert.deepEqual(pulsesOf(turns, 10, 1000), [[100, 118], [995, 1000]]);
});

test("the picture of a trial is drawn up to now, for a pulse with what was done", async () => {
  const trial = {
    ...{ first: 0, last: 86_400, since: 0, conditions: [[{ time: 0, active: true }]] },
    firings: [{ time: 3600, active: true }],
  };
  const history = {
    ...{ step: 0, from: 0, to: 86_400, now: 86_400, times: [] },
    series: { DS1: { times: [0], values: [22] } },
  };
  const bars = [{ begin: 3600, end: 3610, value: 1, cause: null }];
  controller.answers = {
    "/api/rules/try": () => trial,
    "/api/history": () => history,
    "/api/timeline": () => ({ lanes: [{ label: "OUT2", bars }] }),
  };
  const rule = { ...HEATING, action: "PULSE OUT2", off_delay: 10, on_delay: 0 };
  const own = await openContext();
  const picture = new Trial(own, editRule(NEWEST, rule));
  await whenDrawn(() => picture.view(), /M0/);
  controller.reset();
  assert.match(markup(picture.view()), /M0\.0,[\d.]+H1000\.0/);
  const same = /No difference from the recorded state\. The rule would have acted 1 time, 10 s in/;
  assert.match(textOf(picture.view()), same);
  assert.match(textOf(picture.view()), /recorded/);
});

test("a trial counts nothing from before the recording began", async () => {
  const trial = {
    ...{ first: 0, last: 86_400, since: 82_800, conditions: [[]] },
    firings: [{ time: 0, active: true }],
  };
  controller.answers = {
    ...controller.answers,
    "/api/rules/try": () => trial,
    "/api/history": () => ({ step: 0, from: 0, to: 86_400, now: 86_400, times: [], series: {} }),
  };
  const own = await openContext();
  const picture = new Trial(own, editRule(NEWEST, { ...HEATING, action: "SMS1" }));
  await whenDrawn(() => picture.view(), /would have acted/);
  controller.reset();
  assert.match(textOf(picture.view()), /The rule would have acted 1 time, 1 h in total\./);
});

test("differences between what would have been and what was are spans of more than moments", () => {
  const would = spansOf([{ time: 10, active: true }, { time: 100, active: false }], 1000);
  assert.deepEqual(spansOf([{ time: 900, active: true }], 1000), [[900, 1000]]);
  assert.deepEqual(without(would, 0, 1000), [[0, 10], [100, 1000]]);
  assert.deepEqual(differences(would, [[12, 50], [500, 600]], 0, 1000), [[50, 100], [500, 600]]);
  assert.deepEqual(differences(would, [[0, 110]], 0, 1000), []);
});

test("a dependence is one number, there and back", () => {
  for (const [rule, mustBeMet] of [[1, true], [20, true], [1, false], [20, false]]) {
    const depends = dependsOn(rule, mustBeMet);
    assert.deepEqual(dependence({ depends }), [rule, mustBeMet]);
  }
});

test("a state has the same word in a rule and in what the rule has met", () => {
  for (const [label, words] of Object.entries({
    OUT1: ["off", "on"],
    INPD1: ["closed", "open"],
    MQTT: ["not connected", "connected"],
  })) {
    for (const [value, word] of words.entries()) {
      const rule = { ...EMPTY_RULE, source: label, reference: value };
      assert.match(shortSentence(context, rule), new RegExp(`is ${word}`));
      const decided = { label, value, compare: ">=", threshold: value };
      assert.ok(compareText(context, decided).endsWith(` ${word}`));
    }
  }
});

test("a threshold is written as it was set, wherever it stands", () => {
  const rule = { ...EMPTY_RULE, source: "VCC", compare: ">=", reference: 0.9 };
  assert.match(shortSentence(context, rule), /Supply voltage is at least 0\.9 V/);
  const decided = { label: "VCC", value: 12, compare: ">=", threshold: 0.9 };
  assert.match(compareText(context, decided), /^Supply voltage 12\.00 .*≥ 0\.9 V$/);
  const figures = { reference: 0.9, low: 5.5, high: 24 };
  const advice = [{ kind: "out_of_range", rules: [1], labels: ["VCC"], figures }];
  assert.match(textOf(adviceList({ number: 1, advice }, context)), /5\.5 .* 24 .* 0\.9\.$/);
  assert.equal(setText(context, "VCC", 0.1 + 0.2), "0.3 V");
});

test("why a rule does not act is shown", () => {
  const explanation = { obstacle: null, combined: false, pending_action: null };
  assert.equal(reason(context, explanation, 0), "Not acting: the conditions are not met.");
  const waiting = { ...explanation, pending_action: "activate" };
  assert.equal(reason(context, waiting, 2.2), "Starts in 3 s.");
  const absent = { ...explanation, obstacle: { kind: "absent", rule: null, label: "DS1" } };
  assert.equal(reason(context, absent, 0), "Not acting: Thermometer 1 has no value.");
  assert.equal(reason(context, { ...explanation, combined: true }, 0), "");
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

test("a new entry or rule has nothing to save until something was chosen", () => {
  const entry = entryDraft();
  assert.equal(entry.isChanged, false);
  entry.type("time", "07:00");
  assert.equal(entry.isChanged, true);
  entry.type("time", "00:00");
  assert.equal(entry.isChanged, false);

  const draftOf = (rule) => new Draft(commandsOf(NEWEST), 0, null, rule);
  const empty = draftOf(EMPTY_RULE);
  assert.equal(empty.isChanged, false);
  empty.type("source", "DS1");
  assert.equal(empty.isChanged, true);
  assert.equal(draftOf(HEATING).isChanged, true, "a template or a copy is a choice");
  const deleted = editRule(NEWEST);
  deleted.keepPlace({ rules: [], schedule: [], event_variables: [] });
  assert.equal(deleted.isChanged, true, "what others deleted can be saved again");
});

test("an entry runs on a date, or again and again", () => {
  const draft = entryDraft();
  draft.type("kind", "date");
  assert.deepEqual(draft.problems(), { F: "missing_date" });
  draft.type("date", "1970-01-11");
  assert.deepEqual([wireOf(3, draft.entry()).F, wireOf(3, draft.entry()).G], [10, 0]);
  draft.type("kind", "period");
  draft.type("period", "0");
  assert.match(draft.problems().E, /Allowed: 1 s to 1 d/);
  draft.type("period", "1 min 30 s");
  assert.deepEqual([draft.entry().time, wireOf(3, draft.entry()).G], [90, 256 + 127]);
});

test("an entry without a day or with too long a name is not sent", () => {
  const draft = entryDraft();
  draft.type("days", []);
  draft.type("name", "A name of more than fifteen letters");
  assert.deepEqual(Object.keys(draft.problems()), ["B", "G"]);
});

test("what is switched on can be switched off again, by an entry of its own", () => {
  const draft = new EntryDraft(context.commands.get("sched_save"), 3, null, {
    ...{ place: 4, entry: null },
  });
  draft.type("time", "22:00");
  assert.deepEqual(toEntries(draft).map(([place]) => place), [3]);
  draft.type("until", "6:30");
  draft.type("days", ["Fri"]);
  const [, [place, end]] = toEntries(draft);
  assert.deepEqual([place, end.value, end.time, end.days], [4, 0, 23_400, ["Sat"]]);
  assert.deepEqual(groupsOf(toEntries(draft).map(([, entry]) => entry)), [[0, 1]]);
  draft.type("until", "10 pm");
  assert.deepEqual(draft.problems(), { U: "same_time" });
  draft.type("until", "");
  assert.deepEqual(draft.problems(), { U: "wrong_time" });
  draft.type("value", "0");
  assert.deepEqual([draft.problems(), toEntries(draft).length], [{}, 1]);
});

test("an end that is taken away is deleted, and one without a place is refused", () => {
  const command = context.commands.get("sched_save");
  const begin = weekly("Day", "OUT2", 1, 25_200, ["Mon"]);
  const ending = { place: 7, entry: weekly("Day", "OUT2", 0, 72_000, ["Mon"]) };
  const draft = new EntryDraft(command, 2, begin, ending);
  assert.deepEqual([draft.typed.until, draft.isChanged], ["20:00", false]);
  draft.type("until", null);
  assert.deepEqual(toEntries(draft)[1], [7, null]);
  const full = new EntryDraft(command, 2, begin, { place: null, entry: null });
  full.type("until", "20:00");
  assert.deepEqual(full.problems(), { U: "no_place_for_end" });
});

test("times of day are typed as people write them and written by 24 hours", () => {
  const said = ["6:30", "06:30", "6.30", "6h30", "6:30 am", " 06:30:00 "];
  assert.deepEqual(new Set(said.map(secondsOfDay)), new Set([23_400]));
  assert.deepEqual(["22:00", "10 pm", "12 am", "18", "0:05"].map(secondsOfDay), [
    ...[79_200, 79_200, 0, 64_800, 300],
  ]);
  const wrong = ["", "24:00", "6:60", "6:5", "25", "13 pm", "soon", "-1:00", "6:30:99"];
  assert.deepEqual(wrong.map(secondsOfDay).filter((one) => one !== null), []);
  for (const seconds of [0, 300, 23_400, 70_205, 86_399]) {
    assert.equal(secondsOfDay(timeText(seconds)), seconds);
  }
  assert.deepEqual([timeText(23_400), timeText(70_205)], ["06:30", "19:30:05"]);
});

// --- the week of the schedule --------------------------------------------------------------------

const weekly = (name, action, value, time, days) => ({
  ...{ name, action, value, time, days },
  ...{ date: null, periodic: false, active: true },
});
const ALL = [...WORK, "Sat", "Sun"];
const SCHEDULE = [
  weekly("Daylight", "OUT2", 1, 25_200, WORK),
  weekly("Night", "EVENT8", 1, 79_200, ALL),
  null,
  weekly("Daylight", "OUT2", 0, 72_000, WORK),
  weekly("Night", "EVENT8", 0, 21_600, ALL),
  weekly("Water", "OUT1", 1, 23_400, ALL),
  { ...weekly("Misting", "OUT3", 1, 7200, []), periodic: true },
];

test("two entries that belong together are a span, one alone a moment", () => {
  const pieces = piecesOf(SCHEDULE);
  assert.deepEqual(
    pieces.map(({ name, places, end }) => [name, places, end]),
    [
      ["Daylight", [0, 3], 72_000],
      ["Night", [1, 4], 21_600],
      ["Water", [5], null],
    ],
  );
  const [daylight, night] = pieces;
  assert.deepEqual(
    partsOn([night], "Mon").map(({ from, to, tail, nose }) => [from, to, tail, nose]),
    [
      [0, 21_600, true, false],
      [79_200, 86_400, false, true],
    ],
  );
  assert.deepEqual(partsOn([daylight], "Sat"), []);
  assert.notEqual(pieces[2].lane, daylight.lane, "a name needs room");
});

test("the name of a short piece stands behind it, late in the day before it", () => {
  const HOUR = 3600;
  const room = (from, to) => roomOf({ from: from * HOUR, to: to * HOUR }, 4 * HOUR);
  assert.deepEqual(room(6, 12), { from: 6 * HOUR, to: 12 * HOUR, side: "within" });
  assert.deepEqual(room(6, 6), { from: 6 * HOUR, to: 10 * HOUR, side: "behind" });
  assert.deepEqual(room(22, 23), { from: 19 * HOUR, to: 23 * HOUR, side: "before" });
  const at = (time, name) => ({ ...SCHEDULE[5], name, time });
  const lanes = (label) =>
    piecesOf([at(6 * HOUR, "One"), at(11 * HOUR, "Two")], label).map(({ lane }) => lane);
  assert.deepEqual([lanes(), lanes(8 * HOUR)], [[0, 0], [0, 1]]);
});

test("hours that were drawn become an entry with its end, also from its address", () => {
  const span = { day: "Tue", from: 79_200, to: 86_400 };
  assert.deepEqual(spanOf(spanText(span)), span);
  assert.equal(spanOf("1"), null);
  const draft = new EntryDraft(commandsOf(NEWEST).get("sched_save"), 0, null, {
    ...{ place: 1, entry: null },
  });
  draft.type("name", "Fan");
  draft.takeHours(span);
  assert.deepEqual(
    toEntries(draft).map(([place, { name, time, days }]) => [place, name, time, days]),
    [[0, "Fan", 79_200, ["Tue"]], [1, "Fan", 0, ["Wed"]]],
  );
});

test("what was missed is shown until it was caught up, or until its end", async () => {
  const DAY_S = 86_400;
  const pieces = piecesOf(SCHEDULE);
  const [begin, date] = [pieces[0].begin, 4];
  const missed = date * DAY_S + begin;
  const shown = (caughtUp, day = date) =>
    missedOn({ schedule: [{ index: 0, missed, caught_up: caughtUp }] }, pieces, "Mon", day);
  const { lane } = pieces[0];
  assert.deepEqual(shown(missed + 60), [{ lane, from: begin, to: begin + 60, isCaughtUp: true }]);
  assert.deepEqual(shown(null), [{ lane, from: begin, to: 72_000, isCaughtUp: false }]);
  assert.deepEqual(shown(null, date + 7), []);
  const state = { schedule: [{ index: 0, missed, caught_up: null }] };
  assert.equal(missedText(state, [1], () => "07:00"), "");
  await usePageWords("schedule");
  assert.equal(missedText(state, [0, 3], () => "07:00"), "Missed: 07:00");
  await usePageWords("rules");
});

test("a piece moves and stretches in steps of five minutes, over midnight too", () => {
  const [daylight, night] = piecesOf(SCHEDULE);
  const later = move(daylight, 3700);
  assert.deepEqual([later.begin, later.end], [28_800, 75_600]);
  assert.equal(move(daylight, -90_000).begin, 0);
  const stored = entriesOf(SCHEDULE, stretch(night, "end", 1800));
  assert.deepEqual(
    stored.map(([place, { time }]) => [place, time]),
    [
      [1, 79_200],
      [4, 23_400],
    ],
  );
  assert.equal(stretch(daylight, "end", 25_200 - 72_000), daylight, "a span keeps some length");
  const over = entriesOf(SCHEDULE, stretch(daylight, "end", 6 * 3600));
  assert.deepEqual([over[1][1].time, over[1][1].days.at(-1)], [7200, "Sat"]);
});

const copyDay = (schedule, from, to) => {
  const after = [...schedule];
  for (const [place, entry] of dayCopied(schedule, from, to)) after[place] = entry;
  return after;
};
const lookOf = (schedule, day) =>
  partsOn(piecesOf(schedule), day)
    .filter(({ tail }) => !tail)
    .map(({ piece, from, to }) => [piece.name, from, to])
    .sort();

test("a day that is copied looks like the other one and is changed apart from it", () => {
  const room = [...SCHEDULE, ...Array(8).fill(null)];
  const after = copyDay(room, "Mon", "Sat");
  assert.deepEqual(lookOf(after, "Sat"), lookOf(room, "Mon"));
  for (const day of ALL.filter((one) => one !== "Sat")) {
    assert.deepEqual(lookOf(after, day), lookOf(room, day), day);
  }
  const own = piecesOf(after).find(({ name, days }) => name === "Daylight" && days[0] === "Sat");
  assert.deepEqual(own.days, ["Sat"]);
  for (const [place, entry] of entriesOf(after, move(own, 3600))) after[place] = entry;
  assert.notDeepEqual(lookOf(after, "Sat"), lookOf(after, "Mon"));
  assert.deepEqual(lookOf(after, "Mon"), lookOf(room, "Mon"));
});

test("what the other day does not have goes, and a day that does not fit is not copied", () => {
  const room = [...Array(4).fill(null), weekly("Sunday", "OUT3", 1, 3600, ["Sun"])];
  room[0] = weekly("Water", "OUT1", 1, 23_400, ["Mon", "Sun"]);
  const after = copyDay(room, "Tue", "Sun");
  assert.deepEqual([lookOf(after, "Sun"), after[4], after[0].days], [[], null, ["Mon"]]);
  assert.equal(dayCopied(SCHEDULE, "Mon", "Sat"), null, "one free place, five entries");
});

test("whole days stay together, so that nothing ends between two of them", () => {
  const whole = [
    weekly("Away", "OUT1", 1, 0, ["Mon"]),
    weekly("Away", "OUT1", 0, 0, ["Tue"]),
    ...Array(4).fill(null),
  ];
  const after = copyDay(whole, "Mon", "Tue");
  assert.deepEqual([after[0].days, after[1].days, after[2]], [["Mon", "Tue"], ["Wed"], null]);
});

test("an entry is put on further days, and weekdays are never all days", () => {
  const [daylight] = piecesOf(SCHEDULE);
  const [[, begins], [, ends]] = entriesOf(SCHEDULE, copyTo(daylight, ["Sat"]));
  assert.deepEqual([begins.days.at(-1), ends.days.at(-1)], ["Sat", "Sat"]);
  assert.deepEqual(
    [ALL, WORK, ["Sat", "Sun"], ["Mon"]].map((days) => daysText({ days })),
    ["every day", "on weekdays", "at the weekend", "Mon"],
  );
});
