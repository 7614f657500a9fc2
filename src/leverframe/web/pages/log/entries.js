// Who changed what: when, why, by whom, and what, a line each; newest first. A rule or an entry of
// the schedule that came or went is one line, with its settings in a fold.

import { html, nothing } from "../../vendor/lit-html.js";
import { fullMoment } from "../../lib/format/moments.js";
import { durationText, numberText } from "../../lib/format/numbers.js";
import {
  changesOfThings,
  settingName,
  settingWords,
  valueText,
} from "../../lib/format/setting_words.js";
import { fetchWords, speaking, t } from "../../lib/format/words.js";
import { placesThatCameOrWent, statementText } from "../../lib/things/journal/settings.js";
import { isState, levelWord } from "../../lib/things/labels.js";
import { causeOf, icon } from "../../lib/things/signs.js";
import { kindOf, codeName, thingName, thingOf } from "../../lib/things/things.js";

/**
 * @typedef {object} Entry
 * @property {number} time
 * @property {string} cause
 * @property {string} who
 * @property {string[]} lines
 * @property {string[]} details what the lines sum up
 * @property {number} more the number of changes that are not listed
 */
/** @typedef {AuditEntries[number]["changes"][number]} Change */

// The words of the forms that set what was changed.
/** @param {AuditEntries} entries */
export const auditWords = (entries) =>
  Promise.all([
    fetchWords("journal"),
    settingWords(entries.flatMap(({ changes }) => changes.map(({ path }) => path))),
  ]);

/** @param {Context} context @param {AuditEntries} entries @returns {Entry[]} */
export function asEntries(context, entries) {
  return entries
    .map((entry) => ({
      time: entry.time,
      cause: entry.cause,
      who: actorOf(entry),
      ...linesOf(context, entry),
      more: entry.not_listed,
    }))
    .reverse();
}

/** @param {AuditEntries[number]} audit */
const actorOf = ({ account, source, detail }) =>
  account ? [account, source].filter(Boolean).join(" · ") : detail;

/** @param {Context} context @param {AuditEntries[number]} audit */
function linesOf(context, { changes }) {
  // What is new and has no value is not worth a line.
  const listed = changes
    .filter(({ old, new: now }) => old !== null || now !== null)
    .flatMap(changesOfThings);
  const { statements, own } = placesThatCameOrWent(context, listed);
  const lineOfChange = (/** @type {Change} */ change) => lineOf(context, change);
  const rest = listed.filter((change) => !own.includes(change)).map(lineOfChange);
  const texts = speaking("journal", () => statements.map(statementText));
  return { lines: [...texts, ...rest], details: own.map(lineOfChange) };
}

// At most a number of lines, and what they sum up.
/** @param {Entry} entry @param {number} [most] */
export const changedView = ({ lines, details }, most = Infinity) =>
  html`${lines.slice(0, most).map((line) => html`<span class="happened">${line}</span>`)}
  ${details.length
    ? html`<details>
        <summary><u>${speaking("log", () => t("show"))}</u></summary>
        ${details.map((line) => html`<span class="happened">${line}</span>`)}
      </details>`
    : nothing}`;

/** @param {Context} context @param {Change} change */
function lineOf(context, change) {
  const { path, old, new: now } = change;
  const name = whatOf(context, path);
  const [was, is] = [old, now].map((value) => inWords(context, path, value));
  if (was === is) return t("done_line", { path: name, now: t("changed_word") });
  if (old !== null) return t("changed_line", { path: name, old: was, now: is });
  return now === "done" ? name : t("done_line", { path: name, now: is });
}

// What is done rather than set, by what the trail calls it.
const DONE = [
  ...["next_1_Wire_ID", "restart_flag", "counters_and_remembered_states", "test_message"],
  ...["modem_command", "watchdog", "restart", "bootloader", "clock"],
  ...["site", "picture", "restore_report"],
];
const WRITTEN = /^Modbus slot (\d) (coil|register) (\d+)$/;

/** @param {Context} context @param {string} path */
function whatOf(context, path) {
  const key = path.replace(/\W+/g, "_");
  if (DONE.includes(key)) return t(`done_${key}`);
  const [, slot, kind, register] = WRITTEN.exec(path) ?? [];
  if (kind) return t(`written_${kind}`, { slot, register });
  if (path.endsWith(".duty")) return t("duty_of", { name: thingName(context, thingOf(path)) });
  if (kindOf(path).kind) return thingName(context, path);
  const word = codeName(context, path);
  return word === path ? settingName(context, path) : word;
}

const PULSE = /^on for (\d+) s$/;
const SIZE = /^(\d+) bytes$/;
/** @type {Record<string, string>} */
const SAID = { overridden: "by_rule_now", "as set": "as_set", "done": "done_word" };

/** @param {Context} context @param {string} path @param {unknown} value */
function inWords(context, path, value) {
  if (typeof value === "number" && path === "clock") {
    return fullMoment(value, { dateStyle: "medium", timeStyle: "short" });
  }
  if (typeof value === "number" && isState(path)) return levelWord(context, path, value === 1);
  if (typeof value === "number" && path.endsWith(".duty")) return `${numberText(value)} %`;
  if (typeof value !== "string") return valueText(context, path, value);
  const [, seconds] = PULSE.exec(value) ?? [];
  if (seconds) return t("on_for", { time: durationText(Number(seconds)) });
  const [, bytes] = SIZE.exec(value) ?? [];
  if (bytes) return t("size_bytes", { bytes });
  return SAID[value] ? t(SAID[value]) : valueText(context, path, value);
}

const CAUSES = [
  "command",
  "command_line",
  "firmware",
  "outbox",
  "rule",
  "rule_loop",
  "scenario",
  "schedule",
  "sign_in",
  "start",
  "timer",
  "watchdog",
];

// A cause in the reader's language; one that is not known here as the controller calls it.
/** @param {string} cause */
export function causeName(cause) {
  const key = cause.replace(/\W/g, "_");
  return CAUSES.includes(key) ? t(`cause_${key}`) : cause;
}

// Why and by whom, with the glyph and the colour of the cause.
/** @param {Pick<Entry, "cause" | "who">} entry */
export function why({ cause, who }) {
  const { icon: glyph, look } = causeOf(cause);
  const actor = who ? ` · ${who}` : "";
  return html`<small>
    <span class=${look}>${icon(glyph, "s")} ${causeName(cause)}</span>${actor}
  </small>`;
}
