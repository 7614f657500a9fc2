// The first run: five steps from a fresh controller to its first rule. The controller stores the
// step, so it can be left at any time and continued in any browser.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { t } from "../lib/format/words.js";
import { fetchPasswordWords } from "../lib/forms/passwords.js";
import { connectionWord } from "../lib/frame/frame.js";
import { address, go } from "../lib/frame/router.js";
import * as api from "../lib/live/api.js";
import { NO_ID } from "../lib/things/buses.js";
import { mark } from "../lib/things/signs.js";
import { PasswordStep, PlaceStep } from "./firstrun/place.js";
import { RuleStep } from "./firstrun/rule.js";
import { FindStep, NamesStep } from "./firstrun/sensors.js";
import { progress } from "./firstrun/step.js";

/** @import { StepKind } from "./firstrun/step.js" */
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
// Whether what a step is for is there: one that was passed without is skipped.
/** @type {Record<string, (settings: Settings) => boolean>} */
const IS_THERE = {
  place: ({ name, timezone }) => name !== "" || timezone !== "",
  password: ({ access }) => access.required,
  find: ({ onewire, i2c }) => onewire.some(({ id }) => id !== NO_ID) || i2c.primary !== "NONE",
  names: ({ onewire, outputs, weather }) =>
    [...onewire, ...outputs].some(({ name }) => name !== "") ||
    [weather.t1_name, weather.h1_name].some(Boolean),
  rule: ({ rules }) => rules.length > 0,
};

export class Page {
  #context;
  #index;
  /** @type {Signal<Step>} */
  #step;
  #stop;
  // Names of the steps that were saved here: a bus that was scanned may have nothing on it.
  /** @type {Set<string>} */
  #saved = new Set();

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#index = signal(this.#reached);
    this.#step = signal(this.#onStepDone());
    this.#stop = context.live.listen(() => this.#step.value.follow());
  }

  async open() {
    await fetchPasswordWords();
  }

  close() {
    this.#stop();
  }

  // The stored step. A finished first run that is opened again starts from the beginning.
  get #reached() {
    const stored = this.#context.settings.ui.first_run;
    return Math.max(
      0,
      STEPS.findIndex(([name]) => name === stored),
    );
  }

  /** @returns {[string, StepKind][]} */
  get #kinds() {
    return STEPS.map(([name], index) => [name, this.#kindOf(name, index)]);
  }

  /** @param {string} name @param {number} index @returns {StepKind} */
  #kindOf(name, index) {
    if (index === this.#index.value) return "now";
    if (index > Math.max(this.#reached, this.#index.value)) return "to_come";
    const isDone = this.#saved.has(name) || IS_THERE[name](this.#context.settings);
    if (isDone) return "done";
    return index === this.#reached ? "to_come" : "skipped";
  }

  #onStepDone() {
    const [, StepClass] = STEPS[this.#index.value];
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
      ${progress(this.#kinds)} ${this.#skippedView()}
      <form class="card" novalidate @submit=${(event) => this.#onSubmit(event)}>
        <h2>${t(this.#step.value.title)}</h2>
        ${this.#step.value.view()} ${this.#step.value.task.view()}
        <footer>
          <button class="primary" ?disabled=${this.#step.value.task.isBusy}>
            ${t(this.#step.value.button)}
          </button>
          ${this.#index.value === 0
            ? nothing
            : html`<button type="button" @click=${() => this.#show(this.#index.value - 1)}>
                ${t("back")}
              </button>`}
          <button
            type="button"
            class="bare"
            ?disabled=${this.#step.value.task.isBusy}
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

  // The steps that were skipped, each to be done after all.
  #skippedView() {
    const names = this.#kinds.flatMap(([name, kind]) => (kind === "skipped" ? [name] : []));
    if (names.length === 0) return nothing;
    return html`<p class="skipped">
      ${t("skipped")}
      ${names.map(
        (name) =>
          html`<button
            type="button"
            class="bare"
            aria-label=${t("resume", { step: t(`step_${name}`) })}
            @click=${() => this.#show(STEPS.findIndex(([one]) => one === name))}
          >
            ${t(`step_${name}`)}
          </button>`,
      )}
    </p>`;
  }

  // After an earlier step is done, the first run continues where it was.
  get #next() {
    return STEPS[Math.max(this.#index.value + 1, this.#reached)]?.[0] ?? DONE;
  }

  /** @param {number} index */
  #show(index) {
    this.#index.value = index;
    this.#step.value = this.#onStepDone();
  }

  #note(step = this.#next) {
    return api.send(this.#context.commands.get("firstrun").request({ A: step }).target);
  }

  async #end() {
    await this.#note(DONE);
  }

  /** @param {Event} event */
  #onSubmit(event) {
    event.preventDefault();
    if (this.#step.value.task.isBusy || !this.#step.value.check()) return;
    const note = this.#context.commands.get("firstrun").query({ A: this.#next });
    const [name] = STEPS[this.#index.value];
    this.#attempt(async () => {
      const outcome = await this.#step.value.send(note, () => this.#note());
      if (outcome !== "stay") this.#saved.add(name);
      return outcome;
    });
  }

  // What was typed stays where it is when the controller refuses or cannot be reached.
  /** @param {() => Promise<unknown>} act */
  async #attempt(act) {
    await this.#step.value.task.run(async () => {
      const outcome = await act();
      await this.#context.readSettings();
      if (outcome !== "stay") this.#goOn();
    });
  }

  #goOn() {
    if (this.#context.settings.ui.first_run === DONE) go("status", {});
    else this.#show(this.#reached);
  }
}
