// The list of rules: each as a row, how it stands, and what could be wrong with it.

import { html, nothing } from "../../vendor/lit-html.js";
import { fullMoment } from "../../lib/format/moments.js";
import { durationText, numberText } from "../../lib/format/numbers.js";
import { clock, findingSentence, t } from "../../lib/format/words.js";
import { dayOf } from "../../lib/format/zone.js";
import { address } from "../../lib/frame/router.js";
import * as api from "../../lib/live/api.js";
import { indexOf, OUTPUTS, PWMS } from "../../lib/things/labels.js";
import { icon } from "../../lib/things/signs.js";
import { codeName } from "../../lib/things/things.js";
import { channelOf } from "./messages.js";
import { isSwitched, ruleName, shortSentence } from "./sentence.js";

// One rule in the list, 42 px high: its lever, its name, what it does, its state, and its last act.

/**
 * What the list does for a row.
 * @typedef {object} RuleActions
 * @property {(index: number, box: HTMLInputElement) => void} enable
 * @property {(from: number, to: number) => void} move
 * @property {(from: number, by: -1 | 1) => void} step
 */

// met, held, overruled, cannot, waiting, off, idle or resting: what stands in the row.
/**
 * @param {Api.RuleReport} report
 * @param {Api.RuleExplanation} explanation
 * @param {Api.FindingReport[]} findings
 */
export function stateOf({ number, settings }, explanation, findings) {
  if (!settings.enabled) return "off";
  const own = findings.filter(({ page }) => page === `rules?edit=${number}`);
  if (own.some(({ kind }) => kind === "rule_held")) return "held";
  if (own.some(({ kind }) => kind === "rule_overruled")) return "overruled";
  if (own.length > 0) return "cannot";
  if (explanation.pending_action) return "waiting";
  if (explanation.met) return "met";
  return explanation.combined ? "idle" : "resting";
}

/** @type {Record<string, import("../../lib/things/signs.js").IconName>} */
const ICONS = { met: "check", held: "attention", overruled: "attention", cannot: "attention" };

/** @param {string} state */
const stateMark = (state) =>
  html`${state in ICONS ? icon(ICONS[state], "s") : nothing} ${t(`now_${state}`)}`;

/**
 * @param {AdminContext} context
 * @param {Api.RuleReport} report
 * @param {Api.RuleExplanation} explanation
 * @param {RuleActions} actions
 * @param {boolean} isOpen
 */
export function ruleRow(context, report, explanation, actions, isOpen) {
  const index = report.number - 1;
  const state = stateOf(report, explanation, context.live.state.findings ?? []);
  const name = ruleName(report);
  return html`<div
    class="r"
    data-state=${state}
    draggable=${isOpen ? "false" : "true"}
    @dragstart=${() => onDragStart(index)}
    @dragover=${(event) => event.preventDefault()}
    @drop=${(event) => onDrop(event, index, actions)}
  >
    <input
      type="checkbox"
      role="switch"
      class="small-lever"
      aria-label=${t("enable_rule", { name })}
      .checked=${report.settings.enabled}
      @change=${(event) => actions.enable(index, event.target)}
    />
    <a
      class="name"
      id="rule-${report.number}"
      href=${isOpen ? address("rules") : address("rules", { edit: report.number })}
      aria-expanded=${isOpen ? "true" : "false"}
      @keydown=${(event) => onKeydown(event, index, actions)}
      >${name}</a
    >
    <span class="s" title=${isOpen ? "" : shortSentence(context, report.settings)}
      >${isOpen ? "" : shortSentence(context, report.settings)}</span
    >
    <span class="m" title=${whyPending(context, report, explanation)}>${stateMark(state)}</span>
    <span class="l">${lastAct(context, report)}</span>
    <span class=${isOpen ? "turned" : ""}>${icon("down", "s")}</span>
  </div>`;
}

/** @param {AdminContext} context @param {Api.RuleReport} report @param {Api.RuleExplanation} now */
function whyPending(context, { explanation: read }, now) {
  return reason(context, now, read.pending ?? now.pending ?? 0);
}

// "Heating on 14:01"; nothing where it has not acted since the start.
/** @param {AdminContext} context @param {Api.RuleReport} report */
function lastAct(context, { settings, firings, when_met: met, when_ceasing: ceasing }) {
  // What has no effect, such as the end of a pulse, is no action.
  const effectOf = (/** @type {Api.Firing} */ { active }) => (active ? met : ceasing);
  const last = firings.findLast(effectOf);
  const effect = last && effectOf(last);
  if (!last || !effect) return t("never_acted");
  const kind = channelOf(settings.action)?.kind;
  const name = kind ? t(`word_${kind}`) : codeName(context, settings.action);
  const what = isSwitched(settings.action) ? `${name} ${t(DOES[effect.does] ?? "state_on")}` : name;
  return `${what} ${shortMoment(last.time, context.live.state.time)}`;
}

// Today's by its time, another by its day.
/** @param {number} seconds @param {number} now */
export function shortMoment(seconds, now) {
  return dayOf(seconds) === dayOf(now)
    ? clock(seconds).slice(0, 5)
    : fullMoment(seconds, { day: "numeric", month: "short" });
}

/** @type {Record<string, string>} */
const DOES = { on: "state_on", off: "state_off", reverse: "value_2" };

// What is dragged: only rows of this list can be dropped on another.
/** @type {number | null} */
let dragged = null;

/** @param {number} index */
const onDragStart = (index) => (dragged = index);

/** @param {Event} event @param {number} index @param {RuleActions} actions */
function onDrop(event, index, actions) {
  event.preventDefault();
  const from = dragged;
  dragged = null;
  if (from !== null && from !== index) actions.move(from, index);
}

// The keyboard does what dragging does.
/** @param {KeyboardEvent} event @param {number} index @param {RuleActions} actions */
function onKeydown(event, index, actions) {
  if (!event.altKey || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
  event.preventDefault();
  actions.step(index, event.key === "ArrowUp" ? -1 : 1);
}

// Where a rule stands: since when it is met, what it did, what overrode it, why it does not act.

/**
 * @param {AdminContext} context
 * @param {Api.RuleReport} report
 * @param {Api.RuleExplanation} explanation
 * @param {{ giveBack: (act: () => Promise<unknown>) => void }} ways
 */
export function standing(context, report, explanation, { giveBack }) {
  const findings = (context.live.state.findings ?? []).filter(
    ({ page }) => page === `rules?edit=${report.number}`,
  );
  const held = findings.find(({ kind }) => kind === "rule_held");
  const overruled = findings.some(({ kind }) => kind === "rule_overruled");
  return html`
    ${held ? manualNote(context, report, held, giveBack) : metNote(context, report, explanation)}
    ${overruled ? giveBackButton(report, giveBack) : nothing}
    ${findings
      .filter((finding) => finding !== held)
      .map(
        ({ kind, label, figures, text }) =>
          html`<p class="overruled">
            ${icon("attention", "s")}
            ${findingSentence(kind, { name: nameOf(context, label), ...figures }) ?? text}
          </p>`,
      )}
    ${adviceList(report, context)}
  `;
}

/** @param {AdminContext} context @param {string | null} label */
const nameOf = (context, label) => (label ? codeName(context, label) : "");

/**
 * @param {AdminContext} context
 * @param {Api.RuleReport} report
 * @param {Api.FindingReport} held
 * @param {(act: () => Promise<unknown>) => void} giveBack
 */
function manualNote(context, report, held, giveBack) {
  const values = {
    since: metSince(context, report),
    did: lastAct(context, report),
    name: nameOf(context, held.label),
    time: shortMoment(held.since, context.live.state.time),
  };
  return html`<p class="overruled">
    ${icon("attention", "s")} ${t("met_and_held", values)}
    ${giveBackButton(report, giveBack)}
  </p>`;
}

/** @param {Api.RuleReport} report @param {(act: () => Promise<unknown>) => void} giveBack */
function giveBackButton(report, giveBack) {
  const act = wantedAct(report);
  if (!act) return nothing;
  return html`<button type="button" class="bare" @click=${() => giveBack(act)}>
    ${t("give_back")}
  </button>`;
}

/** @param {AdminContext} context @param {Api.RuleReport} report @param {Api.RuleExplanation} now */
function metNote(context, report, now) {
  const pending = report.explanation.pending ?? now.pending ?? 0;
  const why = reason(context, now, pending);
  if (why || !now.met) return why ? html`<p class="why">${why}</p>` : nothing;
  const values = { since: metSince(context, report), did: lastAct(context, report) };
  return html`<p class="why">${t("met_and_did", values)}</p>`;
}

/** @param {AdminContext} context @param {Api.RuleReport} report */
function metSince(context, { firings }) {
  const begun = firings.findLast(({ active }) => active);
  return begun ? shortMoment(begun.time, context.live.state.time) : "–";
}

// What sets the output as the rule wants it; null where that cannot be said.
/** @param {Api.RuleReport} report @returns {(() => Promise<unknown>) | null} */
function wantedAct({ settings: { action, value } }) {
  if (value === 2) return null;
  if (OUTPUTS.includes(action)) return () => api.switchOutput(indexOf(action), value === 1);
  return PWMS.includes(action) ? () => api.switchPwm(indexOf(action), value === 1) : null;
}

// Why a rule does not act, and what people should know about it, in words.

// Advice shown once for all its rules.
const SHARED = ["fight", "shared", "interferes"];

// What people call a rule in a sentence; its number where it has no name.
/** @param {AdminContext} context @param {number | null | undefined} number */
const titleOf = ({ settings }, number) =>
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
    const name = label && codeName(context, label);
    return t(`why_${kind}`, { rule: titleOf(context, rule), label: name });
  }
  if (explanation.pending_action) {
    return t(`pending_${explanation.pending_action}`, { time: durationText(Math.ceil(pending)) });
  }
  return combined ? "" : t("why_not_met");
}

/** @param {Api.RuleReport} report @param {AdminContext} context */
export function adviceList(report, context) {
  const lines = [...ownAdvice(report, context), ...listSharedAdvice(report, context)];
  if (lines.length === 0) return nothing;
  return html`<ul class="advice">
    ${lines.map((line) => html`<li>${line}</li>`)}
  </ul>`;
}

// A loop is shown at all of its rules, other advice at the affected rule.
/** @param {Api.RuleReport} report @param {AdminContext} context */
const ownAdvice = ({ number: own, advice }, context) =>
  advice
    .filter(({ kind, rules }) => kind === "loop" || (!SHARED.includes(kind) && rules[0] === own))
    .map((one) => [adviceText(one, context), pace(one.figures)].join(" ").trim());

/** @param {Api.Advice} advice @param {AdminContext} context */
function adviceText({ kind, rules, labels, figures }, context) {
  return t(`advice_${kind}`, {
    rule: titleOf(context, rules[0]),
    other: titleOf(context, rules[1]),
    rules: rules.map((rule) => titleOf(context, rule)).join(", "),
    label: labels.map((label) => codeName(context, label)).join(", "),
    reference: number(figures.reference),
    range: span(figures),
  });
}

/** @param {Api.Advice["figures"]} figures */
const pace = ({ delay_s: seconds }) =>
  seconds ? t("loop_pace", { time: durationText(seconds) }) : "";

// Several fights over one output are one line.
/** @param {Api.RuleReport} report @param {AdminContext} context */
function listSharedAdvice({ number: own, advice }, context) {
  return SHARED.flatMap((kind) => {
    const about = advice.filter((one) => one.kind === kind);
    const byLabel = Map.groupBy(about, ({ labels: [label] }) => label);
    return [...byLabel].map(([label, all]) => {
      const others = all.flatMap(({ rules }) => rules).filter((rule) => rule !== own);
      const namedOthers = others.map((rule) => titleOf(context, rule)).join(", ");
      const values = { label: codeName(context, label), others: namedOthers };
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
