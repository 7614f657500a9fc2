// Why a rule does not act, and what people should know about it, in words.

import { html, nothing } from "../../vendor/lit-html.js";
import { durationText } from "../../lib/durations.js";
import { numberText } from "../../lib/numbers.js";
import { namedCode } from "../../lib/things.js";
import { t } from "../../lib/words.js";

// What is told once for all rules it is about, as seen from one of them.
const SHARED = ["fight", "shared", "interferes"];

// What people call a rule in a sentence; its number where it has no name.
/** @param {AdminContext} context @param {number | null | undefined} number */
const called = ({ settings }, number) =>
  number ? settings.rules[number - 1]?.name || String(number) : "";

// The reason in words; empty while the rule acts as its conditions say.
/**
 * @param {AdminContext} context
 * @param {Api.RuleExplanation} explanation
 * @param {number} pending
 */
export function reason(context, explanation, pending) {
  const { obstacle, combined } = explanation;
  if (obstacle) {
    const { kind, rule, label } = obstacle;
    const name = label && namedCode(context, label);
    return t(`why_${kind}`, { rule: called(context, rule), label: name });
  }
  if (explanation.pending_action) {
    return t(`pending_${explanation.pending_action}`, { time: durationText(Math.ceil(pending)) });
  }
  return combined ? "" : t("why_not_met");
}

/** @param {Api.RuleReport} report @param {AdminContext} context */
export function adviceList(report, context) {
  const lines = [...ownAdvice(report, context), ...sharedAdvice(report, context)];
  if (lines.length === 0) return nothing;
  return html`<ul class="advice">
    ${lines.map((line) => html`<li>${line}</li>`)}
  </ul>`;
}

// A loop is told at all of its rules, the rest at the rule that it happens to.
/** @param {Api.RuleReport} report @param {AdminContext} context */
const ownAdvice = ({ number: own, advice }, context) =>
  advice
    .filter(({ kind, rules }) => kind === "loop" || (!SHARED.includes(kind) && rules[0] === own))
    .map((one) => [told(one, context), pace(one.figures)].join(" ").trim());

/** @param {Api.Advice} advice @param {AdminContext} context */
function told({ kind, rules, labels, figures }, context) {
  return t(`advice_${kind}`, {
    rule: called(context, rules[0]),
    other: called(context, rules[1]),
    rules: rules.map((rule) => called(context, rule)).join(", "),
    label: labels.map((label) => namedCode(context, label)).join(", "),
    reference: number(figures.reference),
    range: span(figures),
  });
}

/** @param {Api.Advice["figures"]} figures */
const pace = ({ delay_s: seconds }) =>
  seconds ? t("loop_pace", { time: durationText(seconds) }) : "";

// Several fights over one output are one line.
/** @param {Api.RuleReport} report @param {AdminContext} context */
function sharedAdvice({ number: own, advice }, context) {
  return SHARED.flatMap((kind) => {
    const about = advice.filter((one) => one.kind === kind);
    const byLabel = Map.groupBy(about, ({ labels: [label] }) => label);
    return [...byLabel].map(([label, all]) => {
      const others = all.flatMap(({ rules }) => rules).filter((rule) => rule !== own);
      const namedOthers = others.map((rule) => called(context, rule)).join(", ");
      const values = { label: namedCode(context, label), others: namedOthers };
      return t(`advice_${kind}`, values);
    });
  });
}

/** @param {number | undefined} value */
const number = (value) => (value === undefined ? "" : numberText(value));

// Without an end where there is none.
/** @param {Api.Advice["figures"]} figures */
function span({ low, high }) {
  if (low === undefined) return "";
  if (low === high) return t("range_one", { low: number(low) });
  if (high === null) return t("range_from", { low: number(low) });
  return low === null
    ? t("range_to", { high: number(high) })
    : t("range_between", { low: number(low), high: number(high) });
}
