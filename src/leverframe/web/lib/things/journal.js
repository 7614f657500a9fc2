// The journal for people: what happened, to what, and why, as sentences in the reader's language.
//
//   const reader = new JournalReader({ which: "OUT0" });     of one thing; {} for all
//   await reader.read();                                     again whenever the state has moved on
//   journalList(context, reader.entries)                     newest first, by day
//
// A name leads to its drawer, a time to that moment on the timeline, and the sign behind a thing
// that has a chart to that moment there.

import { html, nothing } from "../../vendor/lit-html.js";
import { fullMoment, isoDay, isoMoment } from "../format/moments.js";
import { durationText, numberText } from "../format/numbers.js";
import {
  changesOfThings,
  parseChange,
  settingWords,
  thingOfSetting,
} from "../format/setting_words.js";
import {
  clock,
  currentLanguage,
  fetchWords,
  wordIn,
  PLACES,
  rich,
  serverText,
  speaking,
  t,
} from "../format/words.js";
import { dayOf } from "../format/zone.js";
import { refusalView, whyNot } from "../forms/task.js";
import { address } from "../frame/router.js";
import * as api from "../live/api.js";
import { observe } from "../live/drawing.js";
import { findingSaid } from "./findings.js";
import { isState, levelWord, stateWord } from "./labels.js";
import {
  changeLine,
  isOfPlaces,
  linkOf,
  linkTo,
  ruleName,
  statementsOf,
  statementView,
} from "./journal/settings.js";
import { causeOf, icon } from "./signs.js";
import { kindOf, codeName, thingOf } from "./things.js";

/** @import { SettingChange } from "../format/setting_words.js" */
/** @import { IconName } from "./signs.js" */

/** @typedef {Api.EntryReport} JournalEntry */
/**
 * An entry, or several of one work: the newest, and when they began.
 * @typedef {object} EntryGroup
 * @property {JournalEntry} entry
 * @property {SettingChange[]} changes
 * @property {number} leftOut
 * @property {number} began
 */

// The place of the thing in a sentence, left open for its link.
const { which: WHICH } = /** @type {Record<string, string>} */ (PLACES);
const USUAL = 300;
const MAX_KEPT = 5000;
// Settings that one account changes in a row are shown together.
const TOGETHER_S = 120;
const CHARTED_S = 3600;

// ---- reading ---------------------------------------------------------------------------------

export class JournalReader {
  // Oldest first.
  /** @type {JournalEntry[]} */
  entries = [];
  hasOlder = true;
  // Until the first answer nothing is known: that nothing happened may be said only after it.
  hasAnswered = false;
  /** @type {string | null} */
  refusal = null;
  #query;
  #limit;

  /** @param {{ which?: string }} [query] @param {number} [limit] */
  constructor(query = {}, limit = USUAL) {
    observe(this, "entries", "hasOlder", "hasAnswered", "refusal");
    this.#query = query;
    this.#limit = limit;
  }

  // The newest entries, and later only what came since.
  async read() {
    const newest = this.entries.at(-1)?.number;
    const came = await this.#ask(newest === undefined ? {} : { after: newest });
    [this.hasAnswered, this.refusal] = [true, null];
    if (newest === undefined) this.hasOlder = came.length === this.#limit;
    // Another request may have brought them since then.
    const last = this.entries.at(-1)?.number ?? -1;
    const fresh = came.filter(({ number }) => number > last);
    this.entries = [...this.entries, ...fresh].slice(-MAX_KEPT);
    return this.entries;
  }

  async readOlder() {
    const [oldest] = this.entries;
    if (!oldest) return;
    const known = new Set(this.entries.map(({ number }) => number));
    const came = await this.#ask({ to: oldest.time });
    const older = came.filter(({ number }) => !known.has(number));
    this.hasOlder = older.length > 0;
    this.entries = [...older, ...this.entries];
  }

  /** @param {{ after?: number, to?: number }} params */
  async #ask(params) {
    const query = /** @type {Params} */ ({ ...this.#query, ...params, limit: this.#limit });
    try {
      const [entries] = await Promise.all([api.journal(query), journalWords()]);
      return entries;
    } catch (error) {
      this.refusal = whyNot(error, "not_read");
      throw error;
    }
  }
}

// Where there are no entries: that it is being read, why it cannot be, or `text`.
/** @param {JournalReader} reader @param {string} text */
export function emptyJournal({ hasAnswered, refusal }, text) {
  if (refusal) return refusalView(refusal);
  return html`<p class="empty">${hasAnswered ? text : t("opening")}</p>`;
}

export const journalWords = () => Promise.all([fetchWords("journal"), fetchWords("findings")]);

// ---- what an entry is about ------------------------------------------------------------------

const GROUPS = {
  outbox: "messages",
  "sign-in": "sign_ins",
  finding: "findings",
  input: "inputs",
};
const BENCH = ["scenario", "fault", "snapshot"];

// The groups in which people look for entries: the five causes, and what has none of them.
/** @param {JournalEntry} entry */
export function groupOf({ what, cause, detail }) {
  if (what === "settings") return "settings";
  if (BENCH.includes(cause)) return "bench";
  return GROUPS[/** @type {keyof typeof GROUPS} */ (cause)] ?? causeOf(cause, detail).name;
}

/** @param {string} group */
export const groupName = (group) => speaking("journal", () => t(`group_of_${group}`));

/** @type {Record<string, IconName | undefined>} */
const ICONS = {
  messages: "message",
  settings: "pencil",
  findings: "attention",
  inputs: "reading",
  sign_ins: "hand",
  bench: "request",
};

/**
 * The figures of entries that have parts of their own.
 * @typedef {object} Figures
 * @property {SettingChange[]} [changes]
 * @property {number} [left_out]
 * @property {Record<string, boolean>} [uploads]
 * @property {string} [finding]
 * @property {Api.FindingReport["figures"]} [figures]
 */

/** @param {JournalEntry} entry */
const partsOf = ({ figures }) => /** @type {Figures} */ (figures);

/** @param {JournalEntry} entry */
const changesOf = (entry) =>
  (partsOf(entry).changes ?? []).flatMap((change) => changesOfThings(parseChange(change)));

// The labels of the things that an entry is about.
/** @param {JournalEntry} entry */
export function thingsOf(entry) {
  const changed = changesOf(entry).map(({ path }) => thingOfSetting(path));
  const which = entry.which && kindOf(entry.which).kind ? [thingOf(entry.which)] : [];
  return [...new Set([...which, ...changed])].filter((label) => label && kindOf(label).kind);
}

// ---- sentences -------------------------------------------------------------------------------

/** @param {string} channel */
function channelName(channel) {
  const [, kind, slot] = /^(\D+)(\d*)$/.exec(channel.toLowerCase()) ?? [];
  const isKnown = ["email", "http", "sms", "snmp", "mqtt"].includes(kind ?? "");
  return isKnown ? t(`channel_${kind}`, { slot }) : channel;
}

/** @type {Record<string, (context: Context, value: any, which: string) => string>} */
const FIGURES = {
  seconds: (_, value) => durationText(value),
  value: (context, value, which) => measuredText(context, which, value),
  shown: (context, value, which) => measuredText(context, which, value),
  labels: (context, value) => namesIn(context, value),
  source: (context, value) => linkOf(context, value).name,
  rule: (context, value) => ruleName(context, value),
  problem: (_, value) => serverText(value),
  action: (context, value) => codeName(context, value),
  told: (_, value) => stateWord(value === "on"),
  does: (_, value) => stateWord(value === "on"),
};

// What was read or set, as people write it. At the pin of an analog input there are volts, whatever
// its sensor makes of them.
/** @param {Context} context @param {string} label @param {number | string | null} value */
function measuredText(context, label, value) {
  if (value === null || value === "absent") return t("no_value");
  if (isState(label)) return levelWord(context, label, Number(value) === 1);
  const unit = label.startsWith("INPA") ? "V" : context.overview.unit(label);
  return `${numberText(value)} ${unit}`.trim();
}

/** @param {Context} context @param {string} labels */
const namesIn = (context, labels) =>
  labels
    .split(", ")
    .map((label) => linkOf(context, label).name)
    .join(", ");

/** @param {Context} context @param {JournalEntry} entry */
function figuresOf(context, { figures, detail, which }) {
  const shown = Object.entries(figures).map(([name, value]) => [
    name,
    FIGURES[name] ? FIGURES[name](context, value, which ?? "") : value,
  ]);
  const channel = channelName(String(figures.channel ?? detail));
  return { which, ...Object.fromEntries(shown), channel };
}

// What happened, with the thing as a link.
/** @param {Context} context @param {EntryGroup} group */
function sentence(context, group) {
  const { entry } = group;
  if (entry.what === "settings") return ofSettings(context, group);
  if (entry.cause === "finding") return ofFinding(context, entry);
  if (entry.what === "fault_begins") return ofFault(context, String(entry.figures.text));
  const values = { ...figuresOf(context, entry), which: WHICH };
  const which = linkTo(linkOf(context, entry.which ?? ""));
  return rich(t(`what_${entry.what}`, values), { which });
}

// "sensor_85*label:DS2": how it fails in the words of the test bench, and its thing if it has one.
/** @param {Context} context @param {string} text */
function ofFault(context, text) {
  const [kind, ...values] = text.split("*");
  const key = `fails_${kind}`;
  const fault = wordIn("simulation", key) ?? kind.replaceAll("_", " ");
  if (wordIn("simulation", key) === null) fetchWords("simulation").catch(() => {});
  const [, label] = values.map((one) => /^label:(.+)$/.exec(one)).find(Boolean) ?? [];
  if (!label) return t("what_fault_begins", { fault });
  return rich(t("fault_of_thing", { fault, which: WHICH }), {
    which: linkTo(linkOf(context, label)),
  });
}

// How many things or pages are named of those that were changed together.
const NAMED = 3;

/** @param {Context} context @param {EntryGroup} group */
function ofSettings(context, { entry, changes, leftOut }) {
  const [version] = changes.filter(({ path }) => path === "profile.sw");
  if (version) return t("settings_version", { new: String(version.new), old: String(version.old) });
  const uploads = Object.entries(partsOf(entry).uploads ?? {});
  if (changes.length === 0 && uploads.length > 0) {
    return uploads
      .map(([name, isThere]) =>
        t(isThere ? "settings_uploaded" : "settings_removed", { name: uploadName(name) }),
      )
      .join(", ");
  }
  const statements = statementsOf(context, changes, leftOut);
  const hidden = statements.length - NAMED;
  const texts = statements.slice(0, NAMED).map(statementView);
  if (hidden > 0) texts.push(t("settings_more", { count: hidden }));
  return texts.length === 1
    ? texts[0]
    : texts.map((text) => html`<span class="statement">${text}</span> `);
}

const UPLOADS = ["site", "picture", "restore-report"];
/** @param {string} name */
const uploadName = (name) =>
  UPLOADS.includes(name) ? t(`upload_${name.replace("-", "_")}`) : name;

/** @param {Context} context @param {JournalEntry} entry */
function ofFinding(context, entry) {
  const { what, which, text } = entry;
  const { finding: kind = "", figures = {} } = partsOf(entry);
  const isOver = what === "finding_over";
  if (kind === "sensor_lost" && which) {
    const sentenceText = t(isOver ? "sensor_back" : "sensor_lost", { which: WHICH });
    return rich(sentenceText, { which: linkTo(linkOf(context, which)) });
  }
  const found = findingSaid(context, { kind, label: which, figures, text });
  return isOver ? rich(t("what_finding_over", PLACES), { text: html`${found}` }) : found;
}

/** @param {Context} context @param {Api.Decided} decided @param {boolean} isNamed */
function conditionText(context, { label, value, compare, threshold, is_met: isMet }, isNamed) {
  const { overview } = context;
  const name = linkOf(context, label).name;
  if (value === null || value === undefined) return t("condition", { name, value: t("no_value") });
  if (isState(label)) {
    return t("condition", { name, value: levelWord(context, label, value === 1) });
  }
  const unit = overview.unit(label);
  const isBelow = (compare === "<") === (isMet !== false);
  const numbers = [value, threshold].map((one) => `${numberText(one)} ${unit}`.trim());
  // A comparison stays on one line.
  const text = numbers.join(isBelow ? " < " : " ≥ ").replaceAll(" ", "\u00a0");
  return isNamed ? t("condition", { name, value: text }) : text;
}

/** @param {Context} context @param {Api.Cause} by */
function byRule(context, { number = 0, name = "", conditions = [] }) {
  const rule = ruleName(context, number, name);
  const several = conditions.length > 1;
  const because = conditions.map((one) => conditionText(context, one, several)).join(", ");
  return because ? t("why_rule_because", { rule, conditions: because }) : t("why_rule", { rule });
}

const WAYS = /^(SMS|SNMP|Modbus TCP|UDP|MQTT)\b/;

/** @param {Api.Cause} by */
function byHand({ detail = "", account = "", source = "" }) {
  if (account) return t("why_by", { account });
  const [, way] = WAYS.exec(detail) ?? [];
  if (way && source && source !== way) return t("why_over_from", { way, source });
  if (way) return t("why_over", { way });
  return source || detail ? t("why_from", { source: source || detail }) : "";
}

/** @param {Api.Cause} by @param {JournalEntry[]} entries */
function byTimer({ detail = "", seconds = 0, after = 0 }, entries) {
  const values = { seconds: durationText(seconds) };
  switch (detail) {
    case "return time":
      return t("why_return_time", values);
    case "pulse": {
      const account = entries.find(({ number }) => number === after)?.by.account;
      return account ? t("why_pulse_by", { ...values, account }) : t("why_pulse", values);
    }
    case "start delay":
      return t("why_start_delay", values);
    case "PID regulator":
      return t("why_pid");
    default:
      return t("why_periodic");
  }
}

// Who asked for a message or a write: the kind stands first in the reason.
/** @param {Context} context @param {Api.Cause} by @param {string} reason */
function requesterText(context, by, reason) {
  const [kind, ...rest] = reason.split(" ");
  const detail = rest.join(" ");
  if (kind === "rule") return byRule(context, by.number ? by : { ...by, ...ruleIn(detail) });
  if (kind === "schedule") return t("why_schedule", { entry: detail });
  if (kind === "watchdog") return watchdogName(context, by.number ?? Number(detail));
  if (kind === "test") return t("why_test");
  return kind === "command" ? t("why_from", { source: detail }) : "";
}

// A rule is named by its number, or by its name where it has one.
/** @param {string} detail */
const ruleIn = (detail) => (/^\d+$/.test(detail) ? { number: Number(detail) } : { name: detail });

/** @param {Context} context @param {number} number */
const watchdogName = ({ settings }, number) =>
  t("why_watchdog", { entry: settings?.watchdog[number - 1]?.host || String(number) });

// Why it happened; "" where the sentence has said it all.
/** @param {Context} context @param {JournalEntry} entry @param {JournalEntry[]} entries */
function whyOf(context, entry, entries) {
  const { by, what, which, cause, detail, figures } = entry;
  switch (cause) {
    case "rule":
      return byRule(context, by);
    case "schedule":
      return t("why_schedule", { entry: by.name || detail });
    case "watchdog":
      return watchdogName(context, by.number ?? 0);
    case "timer":
      return byTimer(by, entries);
    case "start":
      return which || what === "settings" ? t("why_start") : "";
    case "snapshot":
      return t("why_snapshot");
    case "command line":
      return t("why_command_line");
    case "firmware":
      return t("why_firmware", { source: by.source ?? detail });
    case "scenario":
    case "fault":
      return t("why_bench");
    case "outbox":
      return requesterText(context, by, String(figures.reason ?? ""));
    case "modbus":
      return requesterText(context, by, detail);
    case "finding":
      return durationOf(entry, entries);
    case "sign-in":
      return by.account ? t("why_by", { account: by.account }) : t("why_from", { source: detail });
    case "rule loop":
    case "input":
      return "";
    default:
      return byHand(by);
  }
}

// How long a finding was there, where its beginning is among the entries.
/** @param {JournalEntry} entry @param {JournalEntry[]} entries */
function durationOf({ what, detail, number, time, figures }, entries) {
  if (what !== "finding_over") return "";
  const began = entries.findLast(
    (one) => one.what === "finding" && one.detail === detail && one.number < number,
  );
  if (!began) return "";
  const seconds = durationText(Math.max(1, Math.round(time - began.time)));
  return t(figures.finding === "sensor_lost" ? "was_silent" : "lasted", { seconds });
}

// ---- lists -----------------------------------------------------------------------------------

// Newest first. Settings that one person changed in a row are one line, whatever happened between;
// what was added or removed keeps its place among the events.
/** @param {JournalEntry[]} entries @returns {EntryGroup[]} */
export function fold(entries) {
  /** @type {EntryGroup[]} */
  const lines = [];
  for (const entry of [...entries].reverse()) {
    const changes = changesOf(entry);
    const { left_out: leftOut = 0 } = partsOf(entry);
    const work = changes.length > 0 && workOf(lines, entry, changes);
    if (work) {
      work.changes = [...changes, ...work.changes];
      work.leftOut += leftOut;
      work.began = entry.time;
    } else lines.push({ entry, changes, leftOut, began: entry.time });
  }
  return lines;
}

// The line of the same work, among those of the last two minutes.
/** @param {EntryGroup[]} lines @param {JournalEntry} entry @param {SettingChange[]} changes */
function workOf(lines, entry, changes) {
  if (entry.what !== "settings" || isOfPlaces(changes)) return undefined;
  const at = lines.findLastIndex(({ began }) => began - entry.time > TOGETHER_S);
  return lines
    .slice(at + 1)
    .find(
      ({ entry: newer, changes: others }) =>
        newer.what === "settings" &&
        newer.detail === entry.detail &&
        others.length > 0 &&
        !isOfPlaces(others),
    );
}

/** @param {number} seconds @param {number} now */
export function dayName(seconds, now) {
  if (dayOf(seconds) === dayOf(now)) return t("today");
  const [year, thisYear] = [seconds, now].map((one) => isoDay(dayOf(one)).slice(0, 4));
  const day = fullMoment(
    seconds,
    {
      ...{ weekday: "long", day: "numeric", month: "long" },
      ...(year === thisYear ? {} : { year: "numeric" }),
    },
    currentLanguage() === "en" ? "en-GB" : currentLanguage(),
  );
  return dayOf(seconds) === dayOf(now) - 1 ? t("yesterday", { day }) : day;
}

/** @param {Context} context @param {EntryGroup} part @param {JournalEntry[]} entries */
function line(context, part, entries) {
  const { entry, changes, leftOut } = part;
  const group = groupOf(entry);
  const isSensor = entry.figures.finding === "sensor_lost";
  const cause = causeOf(entry.cause, entry.detail);
  const own = isSensor ? "reading" : ICONS[group];
  const time = clock(entry.time);
  const why = whyOf(context, entry, entries);
  const rest = leftOut ? [t("settings_more", { count: leftOut })] : [];
  return html`<li data-what=${entry.what} data-number=${entry.number}>
    <a
      class="at"
      href=${address("timeline", { at: Math.round(entry.time) })}
      aria-label=${t("at_this_moment", { time })}
      ><time datetime=${isoMoment(entry.time)}>${time.slice(0, 5)}</time></a
    >
    <span class=${own ? "q" : cause.look}>${icon(own ?? cause.icon, "s")}</span>
    <div>
      <span class="what">${sentence(context, part)}</span> ${chartLink(context, entry, time)}
      ${changes.length === 0 || changes.some(({ path }) => path === "profile.sw")
        ? why
          ? html`<span class="why">${why}</span>`
          : nothing
        : html`<details class="why" @toggle=${() => settingWords(changes.map(({ path }) => path))}>
            <summary>${why ? `${why} · ` : ""}<u>${t("show")}</u></summary>
            ${[...changes.map((change) => changeLine(context, change)), ...rest].map(
              (text) => html`<span class="change">${text}</span>`,
            )}
          </details>`}
    </div>
  </li>`;
}

// What it was about, with an hour before and after.
/** @param {Context} context @param {JournalEntry} entry @param {string} time */
function chartLink({ live }, { which, time: at }, time) {
  if (!which || !kindOf(which).kind || !(which in live.state)) return nothing;
  const [from, to] = [at - CHARTED_S, at + CHARTED_S].map(Math.round);
  return html`<a
    class="charted"
    href=${address("charts", { labels: which, from, to, at: Math.round(at) })}
    aria-label=${t("charted_then", { time })}
    >${icon("chart", "s")}</a
  >`;
}

// Entries by day, newest first, with a limited number of lines.
/** @param {Context} context @param {JournalEntry[]} entries @param {number} [most] */
export function journalList(context, entries, most = Infinity) {
  return speaking("journal", () => {
    const now = context.live.state.time ?? Date.now() / 1000;
    /** @type {[number, EntryGroup[]][]} */
    const days = [];
    for (const group of fold(entries).slice(0, most)) {
      const day = dayOf(group.entry.time);
      const last = days.at(-1);
      if (last?.[0] === day) last[1].push(group);
      else days.push([day, [group]]);
    }
    return html`<div class="journal">
      ${days.map(
        ([, groups]) =>
          html`<h3>${dayName(groups[0].entry.time, now)}</h3>
            <ul role="list">
              ${groups.map((one) => line(context, one, entries))}
            </ul>`,
      )}
    </div>`;
  });
}

// A single entry: what happened, and why.
/** @param {Context} context @param {JournalEntry} entry */
export const entryView = (context, entry) =>
  speaking("journal", () => {
    const [group] = fold([entry]);
    return html`<span>${sentence(context, group)}</span>
      <small>${whyOf(context, entry, [])}</small>`;
  });

// Who asks for a message that is not sent yet.
/** @param {Context} context @param {string} reason */
export const reasonText = (context, reason) =>
  speaking("journal", () => requesterText(context, /** @type {Api.Cause} */ ({}), reason));

// The words of an entry alone, as a search finds them.
/** @param {Context} context @param {JournalEntry} entry @param {JournalEntry[]} entries */
export const plainText = (context, entry, entries) =>
  speaking("journal", () => {
    const [group] = fold([entry]);
    return `${textIn(sentence(context, group))} ${whyOf(context, entry, entries)}`;
  });

// Addresses of links hold what is typed into the search itself.
/** @param {any} template @returns {(value: unknown, at: number) => boolean} */
const isRead =
  ({ strings }) =>
  (_, at) =>
    !strings[at].endsWith("=");

/** @param {any} template @returns {string} */
function textIn(template) {
  if (Array.isArray(template)) return template.map(textIn).join("");
  if (template?.values) return template.values.filter(isRead(template)).map(textIn).join(" ");
  return typeof template === "string" ? template : "";
}
