// What the steps of the first run have in common: typed values, and refusals under their fields.

import { html, nothing } from "../../vendor/lit-html.js";
import * as api from "../../lib/api.js";
import { t } from "../../lib/words.js";

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
    this.refusals = { [field]: refused?.message ?? t("not_sent") };
  }

  refusalView() {
    const said = this.refusals[""];
    return said ? html`<p class="refusal" role="alert">${said}</p>` : nothing;
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
    this.context.redraw();
  }
}
