// One rule in the list, 42 px high: its lever, its name, what it does, its state, and its last act.

import { html, nothing } from "../../vendor/lit-html.js";
import { icon } from "../../lib/icon.js";
import { fullMoment } from "../../lib/moments.js";
import { address } from "../../lib/router.js";
import { namedCode } from "../../lib/things.js";
import { clock, t } from "../../lib/words.js";
import { dayOf } from "../../lib/zone.js";
import { reason } from "./advice.js";
import { isSwitched, ruleName, shortSentence } from "./sentence.js";

/**
 * What the list does for a row.
 * @typedef {object} Tell
 * @property {(index: number, box: HTMLInputElement) => void} enable
 * @property {(from: number, to: number) => void} move
 * @property {(from: number, by: -1 | 1) => void} step
 */

// met, held, cannot, waiting, off or resting: what stands in the row.
/**
 * @param {Api.RuleReport} report
 * @param {Api.RuleExplanation} explanation
 * @param {Api.FindingReport[]} findings
 */
export function stateOf({ number, settings }, explanation, findings) {
  if (!settings.enabled) return "off";
  const own = findings.filter(({ page }) => page === `rules?edit=${number}`);
  if (own.some(({ kind }) => kind === "rule_held")) return "held";
  if (own.length > 0) return "cannot";
  if (explanation.pending_action) return "waiting";
  return explanation.met ? "met" : "resting";
}

/** @type {Record<string, import("../../lib/icon.js").IconName>} */
const ICONS = { met: "check", held: "attention", cannot: "attention" };

/** @param {string} state */
export const stateMark = (state) =>
  html`${state in ICONS ? icon(ICONS[state], "s") : nothing} ${t(`now_${state}`)}`;

/**
 * @param {AdminContext} context
 * @param {Api.RuleReport} report
 * @param {Api.RuleExplanation} explanation
 * @param {Tell} tell
 * @param {boolean} isOpen
 */
export function ruleRow(context, report, explanation, tell, isOpen) {
  const index = report.number - 1;
  const state = stateOf(report, explanation, context.live.state.findings ?? []);
  const name = ruleName(report);
  return html`<div
    class="r"
    data-state=${state}
    draggable=${isOpen ? "false" : "true"}
    @dragstart=${() => taken(index)}
    @dragover=${(event) => event.preventDefault()}
    @drop=${(event) => dropped(event, index, tell)}
  >
    <input
      type="checkbox"
      role="switch"
      class="small-lever"
      aria-label=${t("enable_rule", { name })}
      .checked=${report.settings.enabled}
      @change=${(event) => tell.enable(index, event.target)}
    />
    <a
      class="name"
      id="rule-${report.number}"
      href=${isOpen ? address("rules") : address("rules", { edit: report.number })}
      aria-expanded=${isOpen ? "true" : "false"}
      @keydown=${(event) => pressed(event, index, tell)}
      >${name}</a
    >
    <span class="s" title=${isOpen ? "" : shortSentence(context, report.settings)}
      >${isOpen ? "" : shortSentence(context, report.settings)}</span
    >
    <span class="m" title=${why(context, report, explanation)}>${stateMark(state)}</span>
    <span class="l">${lastAct(context, report)}</span>
    <span class=${isOpen ? "turned" : ""}>${icon("down", "s")}</span>
  </div>`;
}

/** @param {AdminContext} context @param {Api.RuleReport} report @param {Api.RuleExplanation} now */
function why(context, { explanation: read }, now) {
  return reason(context, now, read.pending ?? now.pending ?? 0);
}

// "Heating on 14:01"; nothing where it has not acted since the start.
/** @param {AdminContext} context @param {Api.RuleReport} report */
export function lastAct(context, { settings, firings, when_met: met, when_ceasing: ceasing }) {
  const last = firings.at(-1);
  const effect = last && (last.active ? met : ceasing);
  if (!last || !effect) return t("never_acted");
  const name = namedCode(context, settings.action);
  const what = isSwitched(settings.action)
    ? `${name} ${t(DOES[effect.does] ?? "state_on")}`
    : name;
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
const taken = (index) => (dragged = index);

/** @param {Event} event @param {number} index @param {Tell} tell */
function dropped(event, index, tell) {
  event.preventDefault();
  const from = dragged;
  dragged = null;
  if (from !== null && from !== index) tell.move(from, index);
}

// The keyboard does what dragging does.
/** @param {KeyboardEvent} event @param {number} index @param {Tell} tell */
function pressed(event, index, tell) {
  if (!event.altKey || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
  event.preventDefault();
  tell.step(index, event.key === "ArrowUp" ? -1 : 1);
}
