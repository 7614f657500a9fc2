// A plan for a unit, and how it differs from its file, in the language of the page.

import { html, nothing } from "../vendor/lit-html.js";
import { weekdayName } from "../lib/format/moments.js";
import { durationText, secondsOf } from "../lib/format/numbers.js";
import { settingName, settingWords, valueText } from "../lib/format/setting_words.js";
import { code, fetchWords, inLanguage, serverText, t } from "../lib/format/words.js";
import { kindOf, thingName } from "../lib/things/things.js";

/** @type {Awaited<ReturnType<typeof fetchWords>>} */
let commands = {};

// What the settings of these paths are called, and what commands do.
/** @param {string[]} paths */
export async function wordsFor(paths) {
  [commands] = await Promise.all([fetchWords("commands"), settingWords(paths)]);
}

/** @param {UnitPlan} plan */
export const pathsOf = ({ steps, left_out: leftOut, unseen }) =>
  [...steps.flatMap(({ changes }) => changes), ...leftOut, ...unseen].map(({ path }) => path);

/** @param {Context} context @param {UnitPlan} plan */
export function planView(context, { steps, left_out: leftOut, unseen }) {
  const count = steps.length;
  return html`<p>${count ? t("plan_steps", { count }) : t("plan_nothing")}</p>
    ${unseen.map((one) => html`<p class="problem">${unseenText(context, one)}</p>`)}
    <ol class="plan">
      ${steps.map(
        ({ doc, changes, more, request }) =>
          html`<li>
            ${commandText(doc)}
            <ul>
              ${changes.map((change) => html`<li>${changeText(context, change)}</li>`)}
              ${more ? html`<li>${t("plan_more", { count: more })}</li>` : nothing}
            </ul>
            <code>${request}</code>
          </li>`,
      )}
    </ol>
    ${leftOut.map(
      ({ path, reason }) =>
        html`<p class="problem">
          ${t("not_reached_setting", {
            what: settingName(context, path),
            reason: serverText(reason),
          })}
        </p>`,
    )}`;
}

// What the unit does not show, and whether it can be had back.
/** @param {Context} context @param {UnitPlan["unseen"][number]} setting */
function unseenText(context, { path, fate, value, is_lost: isLost }) {
  const values = { what: settingName(context, path), value: fileText(context, path, value) };
  const text = t(`plan_unseen_${fate}`, values);
  return isLost ? `${text} ${t("plan_unseen_lost")}` : text;
}

// What a command does: the first part of its description, without the list of its fields and what
// single values mean.
/** @param {string} doc */
function commandText(doc) {
  const entry = Object.values(commands).find(({ en }) => en === doc);
  const [first] = (entry ? inLanguage(entry) : doc).split(". ");
  return first.replace(/\s?[:;] .*$/s, "").replace(/\.$/, "");
}

/** @param {Context} context @param {UnitPlan["steps"][number]["changes"][number]} change */
function changeText(context, { path, old, new: later }) {
  const what = settingName(context, path);
  const now = fileText(context, path, later);
  if (old === null) return t("plan_set", { what, new: now });
  return t("plan_change", { what, old: fileText(context, path, old), new: now });
}

// How a unit differs from its file, one line each.
/** @param {Context} context @param {UnitDifference} difference */
export const driftLine = (context, { path, unit, file }) =>
  t("drift_line", {
    what: settingName(context, path),
    unit: fileText(context, path, unit),
    file: fileText(context, path, file),
  });

/** @param {Context} context @param {UnitDifference[]} differences */
export function sideBySide(context, differences) {
  if (differences.length === 0) return html`<p class="quiet">${t("drift_none")}</p>`;
  return html`<table class="sides">
    <thead>
      <tr>
        <th>${t("what")}</th>
        <th>${t("on_unit")}</th>
        <th>${t("in_file")}</th>
      </tr>
    </thead>
    <tbody>
      ${differences.map(
        ({ path, unit, file }) =>
          html`<tr>
            <td>${settingName(context, path)}</td>
            <td>${fileText(context, path, unit)}</td>
            <td>${fileText(context, path, file)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

// What unit files say, in the language of the page: rules and schedule entries are sentences there.

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
const nameOf = (context, label) =>
  kindOf(label).kind ? thingName(context, label) : code(label);

/** @param {Context} context @param {string} text */
function ruleText(context, text) {
  const parts = RULE.exec(text)?.groups;
  if (!parts) return text;
  const condition = parts.when
    .replace(LABEL, (label) => nameOf(context, label))
    .replace(JOINT, (_, joint) => ` ${t(`file_${joint}`)} `)
    .replace(HYSTERESIS, (_, value) => t("file_hysteresis", { value }));
  const depends = parts.depends ? [t(`file_${parts.depends}`, { number: parts.number })] : [];
  const sentence = [
    t("file_when", { condition }),
    ...depends,
    t("file_then", { action: actionText(context, parts.then) }),
    ...parts.more.split(", ").slice(1).map(additionText),
  ].join(", ");
  const rule = parts.name ? `${parts.name}: ${sentence}` : sentence;
  return parts.disabled ? t("file_disabled", { rule }) : rule;
}

/** @param {Context} context @param {string} action */
function actionText(context, action) {
  const [, what, value] = SWITCHED.exec(action) ?? [];
  return what ? `${nameOf(context, what)} ${t(`file_${value}`)}` : nameOf(context, action);
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
  // A name given by the user stays as it is.
  const [days, name = ""] = parts.rest.split(/(?= \()/);
  const switched = `${nameOf(context, parts.action)} ${t(`file_${parts.value}`)}`;
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
