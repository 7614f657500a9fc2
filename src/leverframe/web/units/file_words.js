// What unit files say, in the language of the page: rules and schedule entries are sentences there.

import { durationText, secondsOf } from "../lib/durations.js";
import { weekdayName } from "../lib/moments.js";
import { valueText } from "../lib/setting_words.js";
import { kindOf, thingName } from "../lib/things.js";
import { code, t } from "../lib/words.js";

const RULE = new RegExp(
  "^(?<disabled>disabled: )?(?:(?<name>.+?): )?when (?<when>.+?)" +
    "(?:, (?<depends>if|unless) rule (?<number>\\d+) is met)?" +
    ", then (?<then>[^,]+)(?<more>(?:, [^,]+)*)$",
  "s",
);
const ENTRY = new RegExp(
  "^(?<off>off: )?(?<action>.+?) (?<value>on|off|reverse) (?:(?<every>every )|at )(?<time>\\S+)" +
    "(?<rest>.*)$",
  "s",
);
const JOINT = / (and|or|nand|nor|xor) /g;
const HYSTERESIS = /hysteresis (-?[\d.]+)/g;
const SWITCHED = /^(.+) (on|off|reverse)$/s;
/** @type {[RegExp, string][]} */
const ADDITIONS = [
  [/^on delay (.+)$/, "file_on_delay"],
  [/^off delay (.+)$/, "file_off_delay"],
  [/^only when it begins$/, "file_begins"],
  [/^only when it ceases$/, "file_ceases"],
  [/^permanent$/, "file_permanent"],
];
const WEEK = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

const LABEL = /\b[A-Z][A-Z0-9.]*\b/g;

// A value as a unit file has it, as people write it; `path` says of which setting.
/** @param {Context} context @param {string} path @param {string} text */
export function fileText(context, path, text) {
  if (text === "nothing") return t("file_nothing");
  if (text === "(secret)") return t("file_secret");
  if (/^rules\.\d+$/.test(path)) return ruleText(context, text);
  if (/^schedule\.\d+$/.test(path)) return entryText(context, text);
  try {
    return valueText(context, path, JSON.parse(text));
  } catch {
    const seconds = secondsOf(text);
    return Number.isNaN(seconds) ? text : durationText(seconds);
  }
}

// A thing by its name, anything else by its word.
/** @param {Context} context @param {string} label */
const named = (context, label) =>
  kindOf(label).kind ? thingName(context, label) : code(label);

/** @param {Context} context @param {string} text */
function ruleText(context, text) {
  const parts = RULE.exec(text)?.groups;
  if (!parts) return text;
  const condition = parts.when
    .replace(LABEL, (label) => named(context, label))
    .replace(JOINT, (_, joint) => ` ${t(`file_${joint}`)} `)
    .replace(HYSTERESIS, (_, value) => t("file_hysteresis", { value }));
  const depends = parts.depends ? [t(`file_${parts.depends}`, { number: parts.number })] : [];
  const told = [
    t("file_when", { condition }),
    ...depends,
    t("file_then", { action: actionText(context, parts.then) }),
    ...parts.more.split(", ").slice(1).map(additionText),
  ].join(", ");
  const rule = parts.name ? `${parts.name}: ${told}` : told;
  return parts.disabled ? t("file_disabled", { rule }) : rule;
}

/** @param {Context} context @param {string} action */
function actionText(context, action) {
  const [, what, value] = SWITCHED.exec(action) ?? [];
  return what ? `${named(context, what)} ${t(`file_${value}`)}` : named(context, action);
}

/** @param {string} addition */
function additionText(addition) {
  const [pattern, key] = ADDITIONS.find(([one]) => one.test(addition)) ?? [];
  const [, written = ""] = pattern?.exec(addition) ?? [];
  return key ? t(key, { time: written && durationText(secondsOf(written)) }) : addition;
}

/** @param {Context} context @param {string} text */
function entryText(context, text) {
  const parts = ENTRY.exec(text)?.groups;
  if (!parts) return text;
  const when = parts.every
    ? t("file_every", { time: durationText(secondsOf(parts.time)) })
    : t("file_at", { time: parts.time });
  // The name that somebody gave it stays as it is.
  const [days, name = ""] = parts.rest.split(/(?= \()/);
  const switched = `${named(context, parts.action)} ${t(`file_${parts.value}`)}`;
  const rule = `${switched} ${when}${daysText(days)}${name}`;
  return parts.off ? t("file_disabled", { rule }) : rule;
}

/** @param {string} days */
function daysText(days) {
  const word = (/** @type {string} */ day) => weekdayName(WEEK.indexOf(day));
  return days
    .replace(/\bdaily\b/, () => t("file_daily"))
    .replace(new RegExp(`\\b(${WEEK.join("|")})\\b`, "g"), word);
}
