// Where a rule stands: since when it is met, what it did, what overrode it, why it does not act.

import { html, nothing } from "../../vendor/lit-html.js";
import { icon } from "../../lib/icon.js";
import * as api from "../../lib/api.js";
import { OUTPUTS, PWMS, indexOf } from "../../lib/labels.js";
import { namedCode } from "../../lib/things.js";
import { findingSentence, t } from "../../lib/words.js";
import { adviceList, reason } from "./advice.js";
import { lastAct, shortMoment } from "./row.js";

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
  return html`
    ${held ? heldNote(context, report, held, giveBack) : metNote(context, report, explanation)}
    ${findings
      .filter((finding) => finding !== held)
      .map(
        ({ kind, label, figures, text }) =>
          html`<p class="overruled">
            ${icon("attention", "s")}
            ${findingSentence(kind, { name: named(context, label), ...figures }) ?? text}
          </p>`,
      )}
    ${adviceList(report, context)}
  `;
}

/** @param {AdminContext} context @param {string | null} label */
const named = (context, label) => (label ? namedCode(context, label) : "");

/**
 * @param {AdminContext} context
 * @param {Api.RuleReport} report
 * @param {Api.FindingReport} held
 * @param {(act: () => Promise<unknown>) => void} giveBack
 */
function heldNote(context, report, held, giveBack) {
  const act = wanted(report);
  const values = {
    since: metSince(context, report),
    did: lastAct(context, report),
    name: named(context, held.label),
    time: shortMoment(held.since, context.live.state.time),
  };
  return html`<p class="overruled">
    ${icon("attention", "s")} ${t("met_and_held", values)}
    ${act
      ? html`<button type="button" class="bare" @click=${() => giveBack(act)}>
          ${t("give_back")}
        </button>`
      : nothing}
  </p>`;
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
function wanted({ settings: { action, value } }) {
  if (value === 2) return null;
  if (OUTPUTS.includes(action)) return () => api.switchOutput(indexOf(action), value === 1);
  return PWMS.includes(action) ? () => api.switchPwm(indexOf(action), value === 1) : null;
}
