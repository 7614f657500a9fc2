// The page of a fleet: what a stream changes, what the address keeps, what rows and results say.

import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";

import { addressWith, readAddress } from "../../../src/leverframe/web/fleet/view.js";
import { Bulk } from "../../../src/leverframe/web/fleet/bulk.js";
import { Changes, together } from "../../../src/leverframe/web/fleet/changes.js";
import { Confirmed } from "../../../src/leverframe/web/fleet/confirmed.js";
import { GroupTime } from "../../../src/leverframe/web/fleet/group_time.js";
import { lastHour, levers, list } from "../../../src/leverframe/web/fleet/list.js";
import * as node from "../../../src/leverframe/web/fleet/node_api.js";
import { Nodes, stateOf, troublesOf } from "../../../src/leverframe/web/fleet/nodes.js";
import { paging } from "../../../src/leverframe/web/fleet/view.js";
import { PlaceChoice } from "../../../src/leverframe/web/fleet/choices.js";
import { comparison, effectWords, results } from "../../../src/leverframe/web/fleet/results.js";
import { Rollouts, underWay } from "../../../src/leverframe/web/fleet/rollouts.js";
import { withChange } from "../../../src/leverframe/web/fleet/view.js";
import { Refused } from "../../../src/leverframe/web/lib/live/api.js";
import { whyNot } from "../../../src/leverframe/web/lib/forms/task.js";
import * as words from "../../../src/leverframe/web/lib/format/words.js";
import { effect as follow } from "../../../src/leverframe/web/vendor/signals-core.js";
import { markup, openContext, textOf, whenDrawn } from "./helpers.js";

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
  const makeChange = withChange(view, { rows: [row("b", { sw: "1.49" })], matching: 5 });
  assert.deepEqual(makeChange.rows.map(({ sw }) => sw), ["1.75", "1.49"]);
  assert.equal(makeChange.matching, 5);
  const moved = withChange(makeChange, { order: ["c", "b"], rows: [row("c")] });
  assert.deepEqual(moved.rows.map(({ name }) => name), ["c", "b"]);
});

test("the address keeps what is looked for, and only that", () => {
  location.hash = "#/?search=pump&page=3";
  assert.deepEqual(readAddress(), {
    wanted: { search: "pump", health: "", tag: "", owner: "", version: "", order: "" },
    looked: { by: "", text: "" },
    page: 3,
    view: "",
  });
  assert.equal(addressWith({ view: "nodes", page: 1 }), "#/?search=pump&view=nodes");
  assert.equal(addressWith({ health: "fault", page: 1 }), "#/?search=pump&health=fault");
  location.hash = "";
  assert.equal(addressWith({}), "#/?");
});

test("a row shows its worst finding in words, with since and how many more", () => {
  const worst = {
    ...{ id: "", kind: "sensor_lost", severity: "attention", since: 0, text: "", label: "DS1" },
    ...{ figures: {}, page: "onewire" },
  };
  const rows = [
    row("a", { health: "attention", findings: 3, worst, about: "Flow", port: 81, tags: ["x"] }),
    row("b", { health: "off" }),
  ];
  const about = { tenant: null };
  const shown = textOf(list({ node: about, rows }, 2, (name) => name === "a", () => {}, 10));
  assert.match(shown, /Flow no longer responds\. since [\d:]+, and 2 more/);
  assert.match(shown, /3 findings/);
  assert.match(shown, /without power/);
  assert.match(shown, /:81/);
});

test("the trouble of a part is shown in the reader's language", async () => {
  words.chooseLanguage("fr");
  await Promise.all([words.fetchWords("server"), words.fetchWords("parts")]);
  const figures = { part: "Storage", sentence: "The store is closed: the program is stopping." };
  const worst = { kind: "trouble", severity: "fault", since: 0, text: "", label: null, figures };
  const rows = [row("a", { health: "fault", findings: 1, worst: { ...worst, page: "system" } })];
  const shown = textOf(list({ node: { tenant: null }, rows }, 1, () => false, () => {}, 10));
  assert.match(shown, /Stockage : Le stockage est fermé/);
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

test("refusals come first, and effects are said in words", async () => {
  const effect = { what: "Pump", old: 0, new: 1, is_state: true };
  const time = { ...effect, what: "outputs.1.return_time", is_state: false };
  const report = {
    ...{ done: 4, refused: 1, dry_run: true },
    results: [
      { name: "a", status: 200, effects: [effect, { ...effect, what: "OUT0", old: 1 }] },
      { name: "b", status: 200, effects: [time] },
      { name: "c", status: 200, effects: [{ ...effect, what: "secret", old: null, new: null }] },
      { name: "d", status: 200 },
      { name: "e", status: 404, detail: "There is none." },
    ],
  };
  await effectWords(report.results.flatMap(({ effects = [] }) => effects));
  const shown = textOf(results(report));
  assert.match(shown, /Would succeed: 4\. Would be rejected: 1\. e rejects: There is none\./);
  assert.match(shown, /Output 0 stays on b Output 1 · Switch off automatically after: 0 s/);
  assert.match(shown, /c secret d would succeed/);
  // What is the same for several is said once; what is not, for so many.
  const many = Array.from({ length: 40 }, (_, at) => ({ name: `n${at}`, status: 200 }));
  const alike = textOf(results({ ...report, dry_run: false, results: many }));
  assert.match(alike, /n0, n1, .* n11 and 28 more done$/);
  const each = many.map((one) => ({ ...one, effects: [{ ...effect, what: one.name }] }));
  assert.match(textOf(results({ ...report, dry_run: false, results: each })), /not shown: 10/);
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

test("in what controllers differ from a template is shown in words, the worst first", async () => {
  const settings = Array.from({ length: 9 }, (_, at) => ({
    ...{ what: `outputs.${at}.name`, old: "Pump", new: "Fan", is_state: false },
  }));
  await effectWords(settings);
  const shown = textOf(
    comparison([
      { name: "a", status: 200 },
      { name: "b", status: 200, differs: 1, settings: settings.slice(0, 1) },
      { name: "c", status: 200, differs: 60, settings },
      { name: "d", status: 400, detail: "It is too old." },
    ]),
  );
  assert.match(shown, /Same as the template: 1\. Different: 2\. Not comparable: 1\. d rejects/);
  assert.match(shown, /d rejects: It is too old\. b Output 0 · Name: “Pump”, template: “Fan”/);
  assert.match(shown, /template: “Fan”; and 52 more a same as the template$/);
});

test("a controller whose settings are the template is read first", async () => {
  const sent = [];
  const asIs = globalThis.fetch;
  globalThis.fetch = async (target, { body } = {}) => {
    sent.push(`${target} ${body ?? ""}`.trim());
    return Response.json([{ settings: { hw: "3.9" } }]);
  };
  await node.drift({ names: ["a", "b"] }, "model", null);
  globalThis.fetch = asIs;
  assert.deepEqual(sent, [
    "/api/fleet/export?name=model",
    '/api/fleet/drift?name=a%2Cb {"hw":"3.9"}',
  ]);
});

test("all that match are named one by one where something is removed or given away", async () => {
  const sent = [];
  const asIs = globalThis.fetch;
  globalThis.fetch = async (target, { body } = {}) => {
    sent.push(`${target} ${body ?? ""}`.trim());
    return new Response(JSON.stringify([{ name: "a" }, { name: "b" }]));
  };
  location.hash = "";
  const wanted = { ...readAddress().wanted, tag: "north" };
  await node.remove({ wanted });
  await node.give({ wanted }, "acme");
  await node.give({ names: ["c"] }, "");
  globalThis.fetch = asIs;
  assert.deepEqual(sent, [
    "/api/fleet/list?tag=north",
    "/api/fleet/remove name=a%2Cb",
    "/api/fleet/list?tag=north",
    "/api/fleet/tenant/give name=a%2Cb&tenant=acme",
    "/api/fleet/tenant/give name=c",
  ]);
});

test("only the operator gives controllers to tenants, where there are some", () => {
  const bulk = (more) => {
    const about = { snapshots: [], role: "administrator", tenant: null, tenants: {}, ...more };
    const choice = { names: [] };
    const shown = new Bulk({ ...page, node: about, cluster: null, count: 2, choice });
    shown.what = "give";
    return textOf(shown.view());
  };
  const tenants = { acme: 1, zulu: 0 };
  assert.doesNotMatch(bulk({}), /tenant/);
  assert.doesNotMatch(bulk({ tenants, tenant: "acme" }), /tenant/);
  assert.match(bulk({ tenants }), /acmezuluOperator only Assign 2/);
  assert.match(bulk({ tenants }), /The users of acme can then view and control them\./);
});

test("the operator gives one controller a place, and no one else does", () => {
  const bulk = (more, count = 1) => {
    const about = { snapshots: [], role: "administrator", tenant: null, tenants: {}, ...more };
    const [choice, rows] = [{ names: ["a"] }, [row("a", { address: "127.0.0.7", port: 9007 })]];
    const shown = new Bulk({ ...page, node: about, cluster: null, count, choice, rows });
    shown.what = "place";
    return shown.view();
  };
  assert.doesNotMatch(textOf(bulk({ tenant: "acme" })), /port/);
  assert.doesNotMatch(textOf(bulk({}, 2)), /port/);
  const advice = /Set address and port.*an empty field removes the address or port/;
  assert.match(textOf(bulk({})), advice);
  assert.match(markup(bulk({})), /127\.0\.0\.7.*9007.*data-do=place\s+\?disabled=true/s);
});

test("of a place only what the user has typed is set, and nothing takes it away", async () => {
  const sent = [];
  const asIs = globalThis.fetch;
  globalThis.fetch = async (target, { body }) => {
    sent.push(`${target} ${body}`);
    return Response.json({});
  };
  const place = new PlaceChoice(() => {});
  const type = (at, value) => {
    const field = place.view(row("a", { address: "127.0.0.7", port: 9007 })).values[at];
    field.values.find((one) => typeof one === "function")({ target: { value } });
  };
  assert.equal(place.isMade, false);
  type(0, " ");
  await node.place("a", place.params);
  type(1, "9008");
  await node.place("a", place.params);
  place.forget();
  // What a place that is not in view has is unknown.
  assert.equal(place.isMade, false);
  assert.doesNotMatch(markup(place.view(undefined)), /undefined|null/);
  type(1, "");
  await node.place("a", place.params);
  globalThis.fetch = asIs;
  assert.deepEqual(sent, [
    "/api/fleet/place name=a&address=none",
    "/api/fleet/place name=a&address=none&port=9008",
    "/api/fleet/place name=a&port=0",
  ]);
});

const changed = (name, time, more = {}) => ({
  name,
  url: `http://${name}.localhost/`,
  entry: {
    ...{ number: 1, time, cause: "command", detail: "", account: "ann", source: "10.0.0.9" },
    changes: [{ path: "outputs.0.name", old: "", new: "Pump" }],
    not_listed: 0,
    ...more,
  },
});

test("what one did to several is shown once, and other changes alone", async () => {
  await Promise.all([words.fetchWords("log"), words.fetchWords("outputs")]);
  const changes = [
    changed("c", 900, { account: "", detail: "fleet file" }),
    changed("a", 800),
    changed("d", 800, { cause: "rule" }),
    changed("b", 799),
    changed("a", 798),
    changed("b", 100),
  ];
  const groups = words.speaking("log", () => together(changes));
  const names = groups.map((one) => one.changes.map(({ name }) => name).join());
  assert.deepEqual(names, ["c", "a,b", "d", "a", "b"]);
  assert.deepEqual(groups[1].lines, ["Output 0 · Name: “” → “Pump”"]);
});

const NOON = Date.UTC(2020, 1, 1, 12) / 1000;

test("changes are read for what is looked for, and searched in the reader's words", async () => {
  const asked = [];
  const asIs = globalThis.fetch;
  globalThis.fetch = async (target, ...more) => {
    if (!String(target).startsWith("/api/")) return asIs(target, ...more);
    asked.push(target);
    const many = Array.from({ length: 7 }, (_, at) => ({ path: "OUT1", old: at, new: at + 1 }));
    return Response.json([changed("a", 800), changed("b", 80, { account: "bo", changes: many })]);
  };
  location.hash = "";
  const { wanted, looked } = readAddress();
  const shown = new Changes({ time: NOON });
  const view = (more = {}) =>
    shown.view({ ...wanted, tag: "north", health: "fault" }, { ...looked, ...more }, "", 900, "");
  await whenDrawn(view, /Output 0/);
  assert.match(textOf(view()), /a Output 0 · Name: “” → “Pump”/);
  assert.match(textOf(view()), /command · ann · 10\.0\.0\.9/);
  assert.match(textOf(view()), /and 2 more command · bo/);
  assert.match(textOf(view()), /All accountsannbo/);
  // By the node's clock, whatever the reader's shows.
  assert.match(textOf(view()), new RegExp(`As of ${words.clock(NOON).slice(0, 5)}`));
  assert.doesNotMatch(textOf(view({ text: "pUMP" })), / bo /);
  assert.match(textOf(view({ text: "nothing such" })), /No changes match\./);
  const ofBo = () => view({ by: "bo" });
  await whenDrawn(ofBo, /aria-busy=false/);
  globalThis.fetch = asIs;
  assert.deepEqual(asked, [
    "/api/fleet/changes?tag=north&count=200",
    "/api/fleet/changes?tag=north&by=bo&count=200",
  ]);
});

test("what is new is read automatically, and nodes that do not answer are named", async () => {
  const asIs = globalThis.fetch;
  const answers = [
    [[changed("a", 800)], { "Leverframe-Silent-Nodes": "south, west" }],
    [[changed("b", 850, { account: "bo" }), changed("a", 800)], {}],
  ];
  globalThis.fetch = async (target, ...more) => {
    if (!String(target).startsWith("/api/")) return asIs(target, ...more);
    const [found, headers] = answers.shift();
    return Response.json(found, { headers });
  };
  location.hash = "";
  const { wanted, looked } = readAddress();
  let news = "1";
  const shown = new Changes({ time: NOON });
  const view = () => shown.view(wanted, looked, "", 900, news);
  await whenDrawn(view, /No answer/);
  const missing = /No answer from south, west: changes made there are missing here\./;
  assert.match(textOf(view()), missing);
  news = "2";
  await whenDrawn(view, /· bo/);
  globalThis.fetch = asIs;
  assert.match(textOf(view()), /b Output 0 .* bo /);
  assert.doesNotMatch(textOf(view()), /No answer/);
  // Nothing new, nothing read: there is no answer left for it.
  assert.equal(answers.length, 0);
});

test("the operator sees whose a controller is, and a tenant knows", () => {
  const rows = [row("a", { tenant: "acme" }), row("b")];
  const rowsOf = (tenant) => textOf(list({ node: { tenant }, rows }, 2, () => false, () => {}, 10));
  assert.match(rowsOf(null), /of acme/);
  assert.doesNotMatch(rowsOf("acme"), /of acme/);
});

const peer = (name, more = {}) => ({
  name,
  is_alive: true,
  inner: "10.0.0.5:8070",
  capacity: 1,
  controllers: 10,
  is_this: name === "north",
  is_drained: false,
  silent_s: 0,
  batch: 417,
  version: "0.2.0",
  has_resigned: false,
  ...more,
});
const cluster = (nodes, more = {}) => ({
  nodes,
  free: 0,
  is_in_doubt: false,
  database: {
    ...{ is_reachable: true, server: "15.8", schema: 6, standby: "", standbys: 0 },
    ...{ batches_s: 12.5, last_doubt: null },
  },
  ...more,
});
const page = {};

test("a node is shown by what it does, and what is wrong is counted", () => {
  const nodes = [
    peer("north"),
    peer("south", { capacity: 0 }),
    peer("east", { capacity: 0, controllers: 0 }),
    peer("west", { silent_s: 4 }),
    peer("old", { is_alive: false, silent_s: 9 }),
    peer("off", { is_alive: false, has_resigned: true }),
  ];
  const all = cluster(nodes);
  const states = nodes.map((one) => stateOf(one, all));
  assert.deepEqual(states, ["runs", "emptied", "empty", "silent", "dead", "stopped"]);
  assert.equal(troublesOf(all), 2);
  assert.equal(stateOf(nodes[0], { ...all, is_in_doubt: true }), "doubt");
  const away = { ...all.database, is_reachable: false, standby: "db2" };
  assert.equal(troublesOf({ ...all, is_in_doubt: true, database: away }), 5);
});

test("nodes and the database are shown in words", () => {
  const all = cluster([peer("north"), peer("west", { silent_s: 4, version: "" })], { free: 3 });
  const shown = textOf(new Nodes(page).view(all, 10));
  assert.match(shown, /Controllers waiting for a node: 3/);
  assert.match(shown, /running north this one 10\.0\.0\.5:8070 10 1 now 417 0\.2\.0 Drain/);
  assert.match(shown, /no heartbeat west 10\.0\.0\.5:8070 10 1 4 s ago 417 – Drain/);
  assert.match(shown, /Server PostgreSQL 15\.8 Schema version 6 Synchronous standby none/);
  assert.match(shown, /Batches a second 12\.5 Last connection loss never since startup/);
  const standby = (more) => {
    const database = { ...all.database, standby: "db2", ...more };
    return textOf(new Nodes(page).view({ ...all, is_in_doubt: true, database }, 10));
  };
  assert.match(standby({ standbys: 1 }), /confirms writes: 1/);
  assert.match(standby({ standbys: 0 }), /db2 required but not connected; changes wait/);
  assert.match(standby({ standbys: null, is_reachable: false }), /unreachable/);
  assert.match(standby({ standbys: null, last_doubt: 5 }), /the database user cannot see/);
  assert.match(standby({}), /rejects commands\. Controllers keep running\./);
  assert.match(standby({}), /Last connection loss now/);
  const drained = cluster([peer("north"), peer("south", { capacity: 0, is_drained: true })]);
  assert.match(textOf(new Nodes(page).view(drained, 10)), /0\.2\.0 Return to service/);
  const alone = cluster([peer("north"), peer("old", { is_alive: false })]);
  assert.doesNotMatch(textOf(new Nodes(page).view(alone, 10)), /Empty/);
  assert.match(textOf(new Nodes(page).view(alone, 10)), /Forget/);
});

const rollout = (more = {}) => ({
  ...{ id: "names", title: "oname=0Pump", status: "stopped", why: "Failures: 2; the limit is 2." },
  ...{ by: "ann", at: 0, group: 1, controllers: 5, done: 2, failed: 2, undone: 1 },
  groups: [
    { size: 1, done: 1, failed: 0, undone: 1 },
    { size: 4, done: 1, failed: 2, undone: 0 },
  ],
  ...{ go_on_at: null, can: ["resume", "retry", "undo"], success: 90, max_errors: 2, pause_s: 600 },
  results: [],
  ...more,
});

test("a roll-out shows its groups, thresholds and what can be done now", () => {
  const shown = textOf(new Rollouts(page).view([rollout()], 10));
  assert.match(shown, /stopped 2 of 5 done, failed: 2, rolled back: 1 ann · [\d:]+ · names/);
  assert.match(shown, /Failures: 2; the limit is 2\./);
  assert.match(shown, /Group 2 1 of 4 done, failed: 2/);
  assert.match(shown, /starts when 90 % of a group succeeded · stops after 2 failures · .*10 min/);
  assert.match(shown, /Resume Retry failed controllers Roll back Forget Failures: 2/);
  const bars = markup(new Rollouts(page).view([rollout()], 10));
  assert.match(bars, /class=back x=0 width=1/);
  assert.match(bars, /class=failed x=1 width=2/);
  words.chooseLanguage("pl");
  assert.match(textOf(new Rollouts(page).view([rollout({ why: null })], 10)), /zatrzymane/);
  words.chooseLanguage("en");
  const later = Date.now() / 1000 + 59.5;
  const can = ["stop", "resume"];
  const waiting = rollout({ status: "waiting", go_on_at: later, can, failed: 0 });
  const text = textOf(new Rollouts(page).view([waiting, rollout({ status: "running" })], 40));
  assert.match(text, /Continues in 1 min\./);
  assert.doesNotMatch(text.split("running")[0], /Forget/);
  assert.equal(underWay([waiting, rollout()]), 1);
  assert.match(textOf(new Rollouts(page).view([], 0)), /No roll-outs yet/);
});

test("roll-outs and dry runs are shown by the time of the node, which may be virtual", async () => {
  const noon = 12 * 3600;
  const planned = rollout({ at: noon, made: noon + 5000 });
  assert.match(textOf(new Rollouts(page).view([planned], noon + 60)), /ann · 12:00:00 · names/);

  const asIs = globalThis.fetch;
  globalThis.fetch = async () =>
    Response.json({ dry_run: true, done: 1, refused: 0, results: [{ name: "a", status: 200 }] });
  const about = { snapshots: [], role: "administrator", tenant: null, tenants: {} };
  const chosen = { node: about, cluster: null, count: 1, choice: { names: ["a"] }, time: noon };
  const bulk = new Bulk(chosen);
  const submit = bulk.view().values.find((value) => typeof value === "function");
  submit({ preventDefault() {} });
  await whenDrawn(() => bulk.view(), /class="quiet"/);
  globalThis.fetch = asIs;
  assert.match(textOf(bulk.view()), /12:00:00/);
});

test("a step shows whether something was due, and other moves of time do not", async () => {
  const about = { virtual: true, role: "administrator", tenant: null, rate: 0, time: 0 };
  const step = async (due, control) => {
    const asIs = globalThis.fetch;
    globalThis.fetch = async () => Response.json({ moved: 3, moved_s: due ? 90 : 0, due });
    const time = new GroupTime({ node: about });
    // Opens the tools, continues, goes there, steps.
    const presses = functionsOf(time.view());
    presses[control]({ preventDefault() {} });
    await whenDrawn(() => time.view(), /data-do="step"\s+\?disabled=false/);
    globalThis.fetch = asIs;
    return textOf(time.view());
  };
  const [ADVANCE, STEP] = [1, 5];
  assert.match(await step(0, STEP), /Nothing is due; time has not moved\./);
  assert.match(await step(2, STEP), /by 1 min 30 s to the next due event\. .* affected: 2 of 3/);
  assert.doesNotMatch(await step(null, ADVANCE), /due after|Nothing was due/);
});

const functionsOf = (template) =>
  template.values.flatMap((one) => {
    if (typeof one === "function") return [one];
    return one?.strings ? functionsOf(one) : [];
  });

test("a snapshot that another user has removed is no longer the one to go back to", () => {
  const sent = [];
  const asIs = globalThis.fetch;
  globalThis.fetch = async (target, { body }) => {
    sent.push(`${target} ${body}`);
    return Response.json({ dry_run: false, done: 1, refused: 0, results: [] });
  };
  const about = { snapshots: ["dawn", "noon"], role: "administrator", tenant: null, tenants: {} };
  const bulk = new Bulk({
    ...page,
    node: about,
    cluster: null,
    count: 1,
    choice: { names: ["a"] },
  });
  bulk.what = "restore";
  const submit = () =>
    bulk.view().values.find((value) => typeof value === "function")({ preventDefault() {} });
  assert.match(textOf(bulk.view()), /dawnnoon Remove Restore 1/);
  submit();
  about.snapshots = ["noon"];
  submit();
  globalThis.fetch = asIs;
  assert.deepEqual(sent, [
    "/api/fleet/restore name=a&label=dawn",
    "/api/fleet/restore name=a&label=noon",
  ]);
});

test("what cannot be taken back is asked for once more, and a refusal stands there", async () => {
  let count = 0;
  const confirmed = new Confirmed();
  const asked = [];
  const viewText = () =>
    confirmed.button("south", "drain", { word: "Drain", question: "Sure?" }, async () => {
      asked.push("drain");
      throw new Refused({ status: 409, detail: "It is the last one." });
    });
  const click = (template, at) => template.values.filter((one) => typeof one === "function")[at]();
  const end = follow(() => (count += viewText().values.length && 1));
  click(viewText(), 0);
  assert.deepEqual([asked.length, confirmed.isAsking("south")], [0, true]);
  assert.match(textOf(viewText()), /Sure\? Drain Cancel/);
  click(viewText(), 1);
  assert.match(textOf(viewText()), /^Drain$/);
  click(viewText(), 0);
  await click(viewText(), 0);
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual(asked, ["drain"]);
  assert.match(textOf(confirmed.refusal("south")), /It is the last one\./);
  assert.equal(textOf(confirmed.refusal("north")), "");
  end();
  assert.ok(count > 3);
});

test("a connection that is lost is shown in words of the page, not of the browser", async () => {
  const losses = ["Failed to fetch", "NetworkError when attempting to fetch resource."];
  const texts = new Set();
  for (const language of ["en", "pl", "fr", "hu", "cs"]) {
    words.chooseLanguage(language);
    for (const loss of losses) {
      const confirmed = new Confirmed(() => {});
      const button = confirmed.button("south", "drain", { word: "Drain" }, async () => {
        throw new TypeError(loss);
      });
      button.values.find((one) => typeof one === "function")();
      await new Promise((resolve) => setTimeout(resolve));
      texts.add(textOf(confirmed.refusal("south")));
    }
  }
  words.chooseLanguage("en");
  assert.equal(texts.size, 5);
  assert.ok([...texts].every((text) => text && !/fetch|_/i.test(text)));
});

test("a mistake of the page is not shown as a lost connection", () => {
  assert.throws(() => whyNot(new TypeError("x is undefined")), /x is undefined/);
});
