// A rule in words: "Greenhouse is below 18 °C → Heating on", and the words of its parts.

import { html } from "../../vendor/lit-html.js";
import { timeText } from "../../lib/format/moments.js";
import { setText, formatValue } from "../../lib/format/numbers.js";
import { t } from "../../lib/format/words.js";
import {
  isState,
  levelAsked,
  levelWord,
  OUTPUTS,
  PWMS,
  VARIABLES,
} from "../../lib/things/labels.js";
import { icon } from "../../lib/things/signs.js";
import { codeName, thingName } from "../../lib/things/things.js";
import { daysText } from "../schedule/entry.js";
import { channelOf, messageText } from "./messages.js";
import { thresholds } from "./until.js";
import { windowOfRule } from "./window.js";

/** @import { Hours } from "./window.js" */

/** @typedef {"label" | "compare" | "reference" | "hysteresis"} Member */
/** @typedef {Pick<Api.ConditionExplanation, Member>} Condition */

const SWITCHED = [...OUTPUTS, ...PWMS, ...VARIABLES];
/** @type {Record<string, string>} */
const JOINTS = { AND: "and", OR: "or", NAND: "nand", NOR: "nor", XOR: "xor" };
// From here on a dependence asks for a rule to be met; before, for one not to be.
const RULES = 20;

/** @param {string} action */
export const isSwitched = (action) => SWITCHED.includes(action);
// On for a while: its delay of ceasing says how long.
/** @param {string} action */
export const isPulse = (action) => action.startsWith("PULSE ");
// What an action switches, also for a while; null where it does something else.
/** @param {string} action */
export function outputOf(action) {
  const label = action.replace(/^PULSE /, "");
  return isSwitched(label) ? label : null;
}
// What something is after it was set to a value; what people do to it is another word.
const BECOMES = ["state_off", "state_on", "value_2"];
// The rest of a key: `when_${joint("AND")}`.
/** @param {string} operator */
export const joint = (operator) => JOINTS[operator] ?? "single";

// A reading as it is now, in the decimals of its kind.
/** @param {Context} context @param {string} label @param {number | null} [value] */
export function present(context, label, value = context.live.state[label]) {
  if (value === null || value === undefined) return t("absent_now");
  if (isState(label)) return levelWord(context, label, Boolean(value));
  return withUnit(context, label, formatValue(label, value).text);
}

/** @param {Context} context @param {string} label @param {string} text */
const withUnit = ({ overview }, label, text) =>
  `${text} ${overview.unit(label) || formatValue(label, 0).unit}`.trim();

// [rule that is depended on or 0, whether it must be met]
/** @param {Pick<Rule, "depends">} rule @returns {[number, boolean]} */
export function dependence({ depends }) {
  return depends > RULES ? [depends - RULES, true] : [depends, false];
}

/** @param {number} number @param {boolean} mustBeMet */
export const dependsOn = (number, mustBeMet) => (mustBeMet ? number + RULES : number);

// What people call a rule; its number where it has no name.
/** @param {{ number: number, settings: Rule }} rule */
export const ruleName = ({ number, settings }) => settings.name || t("rule_number", { number });

// "Greenhouse is below 18 °C, until 20 °C"
/** @param {Context} context @param {Condition} condition */
export function conditionText(context, { label, compare, reference, hysteresis }) {
  const source = thingName(context, label);
  if (isState(label)) {
    const level = levelWord(context, label, levelAsked(compare, reference) === 1);
    return t("is_level", { source, level });
  }
  const { off } = thresholds({ compare, reference, hysteresis });
  const values = { source, reference: setText(context, label, reference) };
  const text = compare === "<" ? t("is_below", values) : t("is_at_least", values);
  return off === reference ? text : t("holds_until", { text, until: setText(context, label, off) });
}

// "between 22:00 and 06:00, weekdays"
/** @param {Hours} hours @param {boolean} isInside */
export function hoursText({ from, to, days }, isInside) {
  const values = { from: timeText(from), to: timeText(to), days: daysText({ days }) };
  if (from === to) return t(isInside ? "hours_days" : "hours_not_days", values);
  return t(isInside ? "hours_in" : "hours_out", values);
}

// The whole rule in a line.
/** @param {AdminContext} context @param {Rule} rule */
export function shortSentence(context, rule) {
  const { source: label, compare, reference, hysteresis } = rule;
  const first = conditionText(context, { label, compare, reference, hysteresis });
  const how = joint(rule.operator);
  const second = how === "single" ? "" : secondText(context, rule);
  return `${t(`if_${how}`, { first, second })} → ${effectText(context, rule)}`;
}

/** @param {AdminContext} context @param {Rule} rule */
function secondText(context, rule) {
  const window = windowOfRule(context.settings, rule);
  if (window) return hoursText(window, levelAsked(rule.compare2, rule.reference2) === 1);
  const { source2: label, compare2: compare, reference2: reference } = rule;
  return conditionText(context, { label, compare, reference, hysteresis: rule.hysteresis2 });
}

/** @param {AdminContext} context @param {Pick<Rule, "action" | "value">} rule */
function effectText(context, { action, value }) {
  if (channelOf(action)) return messageText(context.settings, action);
  return isSwitched(action)
    ? `${thingName(context, action)} ${t(BECOMES[value])}`
    : codeName(context, action);
}

// What switching an action to a value is called.
/** @param {Context} context @param {string} action @param {number} value */
export const effectOf = (context, action, value) =>
  t(`effect_${["off", "on", "reverse"][value]}`, { target: codeName(context, action) });

// The present value, and whether the condition holds.
/** @param {string} text @param {boolean | null} result */
export function truth(text, result) {
  const word = t(result ? "holds" : "holds_not");
  return html`<span class="truth" data-holds=${result ? "yes" : "no"}
    >${result ? icon("check", "s") : ""} ${text}<span class="unseen">, ${word}</span></span
  >`;
}
