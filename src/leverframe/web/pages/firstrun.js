// The first run: five steps from a fresh controller to its first rule. Where it stands is stored by
// the controller, so it can be left at any time and goes on in any browser.

import { mark } from "../lib/icon.js";
import { html, nothing } from "../vendor/lit-html.js";
import * as api from "../lib/api.js";
import { connectionWord } from "../lib/frame.js";
import { address, go } from "../lib/router.js";
import { t } from "../lib/words.js";
import { FindStep } from "./firstrun/find.js";
import { NamesStep } from "./firstrun/names.js";
import { PasswordStep } from "./firstrun/password.js";
import { PlaceStep } from "./firstrun/place.js";
import { progress } from "./firstrun/progress.js";
import { RuleStep } from "./firstrun/rule.js";

/** @import { Step } from "./firstrun/step.js" */

/** @type {[string, new (context: AdminContext) => Step][]} */
const STEPS = [
  ["place", PlaceStep],
  ["password", PasswordStep],
  ["find", FindStep],
  ["names", NamesStep],
  ["rule", RuleStep],
];
const DONE = "done";

export class Page {
  #context;
  #index;
  /** @type {Step} */
  #step;
  #stop;
  #busy = false;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    const stored = context.settings.ui.first_run;
    this.#index = Math.max(0, STEPS.findIndex(([name]) => name === stored));
    this.#step = this.#made();
    this.#stop = context.live.listen(() => this.#step.follow());
  }

  async open() {}

  close() {
    this.#stop();
  }

  #made() {
    const [, StepClass] = STEPS[this.#index];
    const step = new StepClass(this.#context);
    // What is there already is the first that it sees.
    step.follow();
    return step;
  }

  view() {
    const { live } = this.#context;
    return html`<div class="first">
      <p class="product">
        <span>${mark()} Leverframe</span>
        <span class="connection" data-kind=${live.connection} role="status">
          ${connectionWord(live)}
        </span>
      </p>
      ${progress(STEPS.map(([name]) => name), this.#index)}
      <form class="card" novalidate @submit=${(event) => this.#submitted(event)}>
        <h2>${t(this.#step.title)}</h2>
        ${this.#step.view()} ${this.#step.refusalView()}
        <footer>
          <button class="primary" ?disabled=${this.#busy}>${t(this.#step.button)}</button>
          ${this.#index === 0
            ? nothing
            : html`<button type="button" @click=${() => this.#show(this.#index - 1)}>
                ${t("back")}
              </button>`}
          <button
            type="button"
            class="bare"
            ?disabled=${this.#busy}
            @click=${() => this.#attempt(() => this.#note())}
          >
            ${t("skip_step")}
          </button>
        </footer>
      </form>
      <p class="later">
        <a href=${address("status")}>${t("later")}</a> ${t("later_note")}
        <button type="button" class="bare" @click=${() => this.#attempt(() => this.#end())}>
          ${t("skip_all")}
        </button>
      </p>
    </div>`;
  }

  get #next() {
    return STEPS[this.#index + 1]?.[0] ?? DONE;
  }

  /** @param {number} index */
  #show(index) {
    this.#index = index;
    this.#step = this.#made();
    this.#context.redraw();
  }

  #note(step = this.#next) {
    return api.send(this.#context.commands.get("firstrun").request({ A: step }).target);
  }

  async #end() {
    await this.#note(DONE);
    this.#index = STEPS.length - 1;
  }

  /** @param {Event} event */
  #submitted(event) {
    event.preventDefault();
    if (this.#busy) return;
    if (!this.#step.check()) {
      this.#context.redraw();
      return;
    }
    const note = this.#context.commands.get("firstrun").query({ A: this.#next });
    this.#attempt(() => this.#step.send(note, () => this.#note()));
  }

  // What was typed stays where it is when the controller refuses or cannot be reached.
  /** @param {() => Promise<unknown>} act */
  async #attempt(act) {
    this.#busy = true;
    this.#step.refusals = {};
    this.#context.redraw();
    try {
      const outcome = await act();
      await this.#context.readSettings();
      if (outcome !== "stay") this.#goOn();
    } catch (error) {
      this.#step.refuse(error);
    }
    this.#busy = false;
    this.#context.redraw();
  }

  #goOn() {
    if (this.#index + 1 < STEPS.length) this.#show(this.#index + 1);
    else go("status", {});
  }
}
