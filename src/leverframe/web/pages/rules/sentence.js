// A rule as a sentence: "When DS1 is at least 21.5 °C (hysteresis 0.5), after 3 s set OUT2 on; when
// no longer, after 5 s set OUT2 off." Marks beside the conditions say whether they hold now.

import { html, nothing } from "../../vendor/lit-html.js";
import { OUTPUTS, PWMS, VARIABLES, isState } from "../../lib/labels.js";
import { withName } from "../../lib/names.js";
import { shown } from "../../lib/quantities.js";
import { PLACES, rich } from "../../lib/rich.js";
import { code, decimal, t } from "../../lib/words.js";

/** @typedef {Pick<Api.ConditionExplanation, "label" | "compare" | "reference" | "hysteresis">}
 *   Condition */

const SWITCHED = [...OUTPUTS, ...PWMS, ...VARIABLES];
/** @type {Record<string, string>} */
const JOINTS = { AND: "and", OR: "or", NAND: "nand", NOR: "nor", XOR: "xor" };
// From here on a dependence asks for a rule to be met; before, for one not to be.
const RULES = 20;

/** @param {string} action */
export const isSwitched = (action) => SWITCHED.includes(action);
// The rest of a key: `when_${joint("AND")}`.
/** @param {string} operator */
export const joint = (operator) => JOINTS[operator] ?? "single";

/** @param {string} label @param {number | boolean} level */
export function levelWord(label, level) {
  const bit = level ? 1 : 0;
  if (label === "MQTT") return t(`link_${bit}`);
  return label.startsWith("INPD") ? t(`pin_${bit}`) : t(`state_${bit}`);
}

// A reading as it is now, in the decimals of its kind.
/** @param {string} label @param {number | null | undefined} value @param {string} [unit] */
export function present(label, value, unit = "") {
  if (value === null || value === undefined) return t("absent_now");
  if (isState(label)) return levelWord(label, value);
  const { text, unit: usual } = shown(label, value);
  return `${text} ${unit || usual}`.trim();
}

// A number that people set, in as many decimals as it has.
/** @param {number} value */
function exact(value) {
  const [, decimals = ""] = String(value).split(".");
  return decimal(value, decimals.length);
}

/** @param {string} label @param {number} value @param {string | undefined} unit */
const limit = (label, value, unit) => `${exact(value)} ${unit || shown(label, 0).unit}`.trim();

// [rule that is depended on or 0, whether it must be met]
/** @param {Pick<Rule, "depends">} rule @returns {[number, boolean]} */
export function dependence({ depends }) {
  return depends > RULES ? [depends - RULES, true] : [depends, false];
}

/** @param {number} number @param {boolean} mustBeMet */
export const dependsOn = (number, mustBeMet) => (mustBeMet ? number + RULES : number);

/** @param {Rule} rule */
function conditions(rule) {
  const { source, compare, reference, hysteresis } = rule;
  const first = { label: source, compare, reference, hysteresis };
  if (joint(rule.operator) === "single") return [first];
  const second = {
    label: rule.source2,
    compare: rule.compare2,
    reference: rule.reference2,
    hysteresis: rule.hysteresis2,
  };
  return [first, second];
}

/** @param {Condition} condition @param {Settings} settings @param {string} unit */
function conditionText({ label, compare, reference, hysteresis }, settings, unit) {
  const source = withName(settings, label);
  if (isState(label)) return t("is_level", { source, level: levelWord(label, reference) });
  const values = { source, reference: limit(label, reference, unit) };
  const said = compare === "<" ? t("is_below", values) : t("is_at_least", values);
  return hysteresis ? `${said} (${t("hysteresis_of", { hysteresis: exact(hysteresis) })})` : said;
}

// "DS1 ≥ 21.5 °C → OUT2": by this a rule is known where there is little room.
/** @param {Rule} rule @param {Record<string, string>} [units] */
export function shortTitle(rule, units = {}) {
  const [first, second] = conditions(rule);
  const sign = isState(first.label) ? "=" : first.compare === "<" ? "<" : "≥";
  const value = limit(first.label, first.reference, units[first.label]);
  return `${first.label} ${sign} ${value}${second ? " …" : ""} → ${code(rule.action)}`;
}

// `explanation` says what holds now; `titles` knows the other rules by their numbers.
/**
 * @param {Api.RuleReport} report
 * @param {Api.RuleExplanation} explanation
 * @param {Settings} settings
 * @param {Record<string, string>} titles
 */
export function sentence(report, explanation, settings, titles) {
  const rule = report.settings;
  const [first, second] = conditions(rule).map(
    (condition, index) =>
      html`<span class="condition"
        >${conditionText(condition, settings, report.units[condition.label])}
        ${mark(explanation?.conditions[index], report.units)}</span
      >`,
  );
  const when = rich(t(`when_${joint(rule.operator)}`, PLACES), { first, second });
  return html`<p class="sentence">
    ${when}${dependencePart(rule, explanation, titles)}, ${effects(report, settings)}
    ${rule.permanent ? t("kept_so") : nothing}
  </p>`;
}

/**
 * @param {Rule} rule
 * @param {Api.RuleExplanation} explanation
 * @param {Record<string, string>} titles
 */
function dependencePart(rule, explanation, titles) {
  const [number, mustBeMet] = dependence(rule);
  if (!number) return nothing;
  const named = titles[number] ? `${number} (${titles[number]})` : String(number);
  const said = t(mustBeMet ? "and_met" : "and_not_met", { rule: named });
  const agrees = explanation ? truth(explanation.dependence_agrees) : nothing;
  return html` <span class="condition">${said} ${agrees}</span>`;
}

/** @param {Api.RuleReport} report @param {Settings} settings */
function effects({ when_met, when_ceasing }, settings) {
  const met = when_met && effectText(when_met, settings);
  const ceasing = when_ceasing && effectText(when_ceasing, settings);
  if (!ceasing) return t("does_once", { met });
  return met ? t("does_both", { met, ceasing }) : t("does_stop", { ceasing });
}

const DOES = ["off", "on", "reverse"];

// What switching an action to a value is called.
/** @param {string} action @param {number} value @param {Settings} settings */
export const effectOf = (action, value, settings) =>
  t(`effect_${DOES[value]}`, { target: targetName(action, settings) });

/** @param {Api.RuleEffect} effect @param {Settings} settings */
function effectText({ action, does, delay_s: delay }, settings) {
  const effect = t(`effect_${does}`, { target: targetName(action, settings) });
  return delay ? t("after_delay", { delay, effect }) : effect;
}

/** @param {string} action @param {Settings} settings */
export const targetName = (action, settings) =>
  isSwitched(action) ? withName(settings, action) : code(action);

// The present value and whether the condition holds.
/**
 * @param {Api.ConditionExplanation | undefined} condition
 * @param {Record<string, string>} [units]
 */
export function mark(condition, units = {}) {
  if (!condition) return nothing;
  const { label, value, result } = condition;
  return html`<span class="now">${present(label, value, units[label])}</span> ${truth(result)}`;
}

/** @param {boolean | null} result */
export function truth(result) {
  const word = t(result ? "holds" : "holds_not");
  return html`<span class="truth" data-holds=${result ? "yes" : "no"}>${word}</span>`;
}
