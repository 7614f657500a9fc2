// Why a rule does not act, and what people should know about it, in words.

import { html, nothing } from "../../vendor/lit-html.js";
import { withName } from "../../lib/names.js";
import { code, decimal, t } from "../../lib/words.js";

// What is told once for all rules it is about, as seen from one of them.
const SHARED = ["fight", "shared", "interferes"];

// The reason in words; empty while the rule acts as its conditions say.
/** @param {Api.RuleExplanation} explanation @param {number} pending */
export function reason(explanation, pending) {
  const { obstacle, combined } = explanation;
  if (obstacle) {
    const { kind, rule, label } = obstacle;
    return t(`why_${kind}`, { rule, label: label && code(label) });
  }
  if (explanation.pending_action) {
    return t(`pending_${explanation.pending_action}`, { seconds: Math.ceil(pending) });
  }
  return combined ? "" : t("why_not_met");
}

/** @param {Api.RuleReport} report @param {Settings} settings */
export function adviceList(report, settings) {
  const lines = [...ownAdvice(report, settings), ...sharedAdvice(report, settings)];
  if (lines.length === 0) return nothing;
  return html`<ul class="advice">
    ${lines.map((line) => html`<li>${line}</li>`)}
  </ul>`;
}

// A loop is told at all of its rules, the rest at the rule that it happens to.
/** @param {Api.RuleReport} report @param {Settings} settings */
const ownAdvice = ({ number: own, advice }, settings) =>
  advice
    .filter(({ kind, rules }) => kind === "loop" || (!SHARED.includes(kind) && rules[0] === own))
    .map((one) => [told(one, settings), pace(one.figures)].join(" ").trim());

/** @param {Api.Advice} advice @param {Settings} settings */
function told({ kind, rules, labels, figures }, settings) {
  return t(`advice_${kind}`, {
    rule: rules[0],
    other: rules[1],
    rules: rules.join(", "),
    label: labels.map((label) => withName(settings, label)).join(", "),
    reference: number(figures.reference),
    range: span(figures),
  });
}

/** @param {Api.Advice["figures"]} figures */
const pace = ({ delay_s: seconds }) => (seconds ? t("loop_pace", { seconds }) : "");

// Several fights over one output are one line.
/** @param {Api.RuleReport} report @param {Settings} settings */
function sharedAdvice({ number: own, advice }, settings) {
  return SHARED.flatMap((kind) => {
    const about = advice.filter((one) => one.kind === kind);
    const byLabel = Map.groupBy(about, ({ labels: [label] }) => label);
    return [...byLabel].map(([label, all]) => {
      const others = all.flatMap(({ rules }) => rules).filter((rule) => rule !== own);
      const values = { label: withName(settings, label), others: others.join(", ") };
      return t(`advice_${kind}`, values);
    });
  });
}

/** @param {number | undefined} value */
const number = (value) => (value === undefined ? "" : decimal(value, value % 1 ? 2 : 0));

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
