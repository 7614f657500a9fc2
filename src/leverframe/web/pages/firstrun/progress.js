// The steps as levers on one rail: done ones are pulled, the present one stands upright.

import { html, svg } from "../../vendor/lit-html.js";
import { t } from "../../lib/words.js";

/** @typedef {"done" | "skipped" | "now" | "to_come"} StepKind */

/** @param {[string, StepKind][]} steps */
export const progress = (steps) =>
  html`<ol class="steps" aria-label=${t("steps")}>
    ${steps.map(([name, kind]) => step(name, kind))}
  </ol>`;

/** @param {string} name @param {StepKind} kind */
function step(name, kind) {
  return html`<li data-kind=${kind} aria-current=${kind === "now" ? "step" : "false"}>
    <svg viewBox="0 0 76 88" aria-hidden="true">${LEVER}</svg>
    <span class="word">${t(`step_${name}`)}<small>${t(`is_${kind}`)}</small></span>
  </li>`;
}

const LEVER = svg`<path
    class="sector"
    d="M17 61a34 34 0 0 1 42 0L51 88H25zM26 56l-1.5-4.5M50 56l1.5-4.5"
  />
  <g class="arm">
    <path class="shaft" d="M35 88l1.2-54h3.6L41 88z" />
    <path class="catch" d="M45.5 13v16q0 5-5 9" />
    <rect class="grip" x="34" y="7" width="8" height="30" rx="4" />
  </g>
  <path class="foot" d="M29 88a9 9 0 0 1 18 0z" />`;
