// What the steps of the first run have in common: typed values, and refusals under their fields.

import { html, nothing, svg } from "../../vendor/lit-html.js";
import { t } from "../../lib/format/words.js";
import { Task } from "../../lib/forms/task.js";

export class Step {
  context;
  title = "";
  task = new Task({ lost: "not_sent", fieldOf: ({ problem }) => this.#fieldOf(problem) });
  // Field of the step -> beginning of the command that it goes to.
  /** @type {Record<string, string>} */
  commandsOf = {};

  /** @param {AdminContext} context */
  constructor(context) {
    this.context = context;
  }

  // What the main button says.
  get button() {
    return "save_continue";
  }

  /** @returns {Template} */
  view() {
    return nothing;
  }

  // With every message of the controller.
  follow() {}

  // Whether all can be sent; else the task says why not.
  check() {
    return true;
  }

  // Sends what is typed. `note` is an item of /stm.cgi that stores the next step, to be sent in the
  // same request; `done()` stores it separately.
  /**
   * @param {string} _note
   * @param {() => Promise<unknown>} done
   * @returns {Promise<unknown>} "stay" where the step has more to show
   */
  send(_note, done) {
    return done();
  }

  /** @param {Problem} problem */
  #fieldOf({ command }) {
    const isOf = (/** @type {string} */ begin) => command?.includes(begin);
    return Object.entries(this.commandsOf).find(([, begin]) => isOf(begin))?.[0] ?? "";
  }

  // A field with its label above and what is wrong below.
  /** @param {string} name @param {Template} control @param {string} [hint] */
  field(name, control, hint = "") {
    const wrong = this.task.refusal(name);
    return html`<div class="field" ?data-wrong=${wrong}>
      <label for="first-${name}">${t(name)}</label>
      ${control}
      <small class="hint" id="first-${name}-hint">${hint}</small>
      ${wrong ? html`<p class="wrong" role="alert">${wrong}</p>` : nothing}
    </div>`;
  }

  /** @param {string} name */
  typing(name) {
    this.task.forget(name);
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
