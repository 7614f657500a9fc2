// What unit files say, in the language of the page: rules and schedule entries are sentences there.

import { code, currentLanguage, t } from "../lib/words.js";

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

// A value as a unit file has it; `path` says of which setting.
/** @param {string} path @param {string} text */
export function fileText(path, text) {
  if (text === "nothing") return t("file_nothing");
  if (text === "(secret)") return t("file_secret");
  if (/^rules\.\d+$/.test(path)) return ruleText(text);
  return /^schedule\.\d+$/.test(path) ? entryText(text) : text;
}

/** @param {string} text */
function ruleText(text) {
  const parts = RULE.exec(text)?.groups;
  if (!parts) return text;
  const condition = parts.when
    .replace(JOINT, (_, joint) => ` ${t(`file_${joint}`)} `)
    .replace(HYSTERESIS, (_, value) => t("file_hysteresis", { value }));
  const depends = parts.depends ? [t(`file_${parts.depends}`, { number: parts.number })] : [];
  const told = [
    t("file_when", { condition }),
    ...depends,
    t("file_then", { action: actionText(parts.then) }),
    ...parts.more.split(", ").slice(1).map(additionText),
  ].join(", ");
  const rule = parts.name ? `${parts.name}: ${told}` : told;
  return parts.disabled ? t("file_disabled", { rule }) : rule;
}

/** @param {string} action */
function actionText(action) {
  const [, what, value] = SWITCHED.exec(action) ?? [];
  return what ? `${code(what)} ${t(`file_${value}`)}` : code(action);
}

/** @param {string} addition */
function additionText(addition) {
  const [pattern, key] = ADDITIONS.find(([one]) => one.test(addition)) ?? [];
  return pattern && key ? t(key, { time: pattern.exec(addition)?.[1] ?? "" }) : addition;
}

/** @param {string} text */
function entryText(text) {
  const parts = ENTRY.exec(text)?.groups;
  if (!parts) return text;
  const when = t(parts.every ? "file_every" : "file_at", { time: parts.time });
  // The name that somebody gave it stays as it is.
  const [days, name = ""] = parts.rest.split(/(?= \()/);
  const rule = `${code(parts.action)} ${t(`file_${parts.value}`)} ${when}${daysText(days)}${name}`;
  return parts.off ? t("file_disabled", { rule }) : rule;
}

/** @param {string} days */
function daysText(days) {
  const short = new Intl.DateTimeFormat(currentLanguage(), { weekday: "short", timeZone: "UTC" });
  // The fifth of January 1970 was a Monday.
  const word = (/** @type {string} */ day) => short.format(86400e3 * (4 + WEEK.indexOf(day)));
  return days
    .replace(/\bdaily\b/, () => t("file_daily"))
    .replace(new RegExp(`\\b(${WEEK.join("|")})\\b`, "g"), word);
}
