// What the steps of the first run have in common: typed values, and refusals under their fields.

import { html, nothing, svg } from "../../vendor/lit-html.js";
import { t } from "../../lib/format/words.js";
import { refusalView, whyNot } from "../../lib/forms/task.js";
import * as api from "../../lib/live/api.js";
import { observe } from "../../lib/live/drawing.js";

export class Step {
  context;
  title = "";
  // By field; "" for what is about none of them.
  /** @type {Record<string, string>} */
  refusals = {};
  // Field of the step -> beginning of the command that it goes to.
  /** @type {Record<string, string>} */
  commandsOf = {};

  /** @param {AdminContext} context */
  constructor(context) {
    observe(this, "refusals");
    this.context = context;
  }

  // What the main button says.
  get button() {
    return "save_go_on";
  }

  /** @returns {Template} */
  view() {
    return nothing;
  }

  // With every message of the controller.
  follow() {}

  // Whether all can be sent; else `refusals` says why not.
  check() {
    return true;
  }

  // Sends what is typed. `note` is an item of /stm.cgi that stores the next step, to be joined
  // where all or nothing must happen; `done()` stores it by itself.
  /**
   * @param {string} _note
   * @param {() => Promise<unknown>} done
   * @returns {Promise<unknown>} "stay" where the step has more to show
   */
  send(_note, done) {
    return done();
  }

  /** @param {unknown} error */
  refuse(error) {
    const refused = error instanceof api.Refused ? error : null;
    const command = refused?.problem.command ?? "";
    const [field = ""] =
      Object.entries(this.commandsOf).find(([, begin]) => command.includes(begin)) ?? [];
    this.refusals = { [field]: whyNot(error, "not_sent") };
  }

  refusalView() {
    return refusalView(this.refusals[""] ?? null);
  }

  // A field with its label above and what is wrong below.
  /** @param {string} name @param {Template} control @param {string} [hint] */
  field(name, control, hint = "") {
    const wrong = this.refusals[name];
    return html`<div class="field" ?data-wrong=${wrong}>
      <label for="first-${name}">${t(name)}</label>
      ${control}
      <small class="hint" id="first-${name}-hint">${hint}</small>
      ${wrong ? html`<p class="wrong" role="alert">${wrong}</p>` : nothing}
    </div>`;
  }

  /** @param {string} name */
  typing(name) {
    this.refusals = { ...this.refusals, [name]: "" };
  }
}

// The steps as levers on one rail: done ones are pulled, the present one stands upright.

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
