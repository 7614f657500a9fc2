// A button that runs a command and says what came of it.
//
//   new Action(context, { label: "send_test", command: "testemail", done: "test_sent" })
//
// More: `values` (by letter, or a function that gives them), `perform()` instead of a command,
// `danger: "key"` (what will be lost; a second, separate press is needed), `typed: () => "name"`
// (that must be typed, too), `plainLabel: () => "text"` instead of a label, `isReady: () => true`
// when all that it needs is there, `isQuiet` where there are many such buttons. Of a danger only
// the question is heavy.
// A command that this version does not have has no button.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { t, text } from "../format/words.js";
import * as api from "../live/api.js";
import { Task } from "./task.js";

export class Action {
  #spec;
  /** @type {Command | null} */
  #command;
  #asking = signal(false);
  #typed = signal("");
  #task = new Task();
  #isDone = signal(false);

  /** @param {Context} context @param {ActionSpec} spec */
  constructor(context, spec) {
    this.#spec = spec;
    this.#command = spec.command ? context.commands.find(spec.command) : null;
  }

  get isOffered() {
    return this.#command !== null || this.#spec.perform !== undefined;
  }

  view() {
    if (!this.isOffered) return nothing;
    return html`<div class="action">
      ${this.#asking.value ? this.#question() : this.#button()}
      <p class=${this.#task.refusal() ? "refusal" : "saved"} role="status">
        ${this.#task.refusal() ?? (this.#isDone.value ? this.#doneNote() : "")}
      </p>
    </div>`;
  }

  #doneNote() {
    return this.#spec.done ? text(this.#spec.done) : t("done");
  }

  #label() {
    return this.#spec.label ? text(this.#spec.label) : this.#spec.plainLabel?.();
  }

  #button() {
    const { isQuiet, isMain } = this.#spec;
    return html`<button
      type="button"
      class=${isQuiet ? "bare" : isMain ? "primary" : ""}
      ?disabled=${this.#task.isBusy || this.#spec.isReady?.() === false}
      @click=${() => (this.#spec.danger ? this.#ask(true) : this.#run())}
    >
      ${this.#label()}
    </button>`;
  }

  #question() {
    const wanted = this.#spec.typed?.();
    return html`<div class="question" role="group" aria-label=${this.#label()}>
      <p>${this.#spec.danger ? text(this.#spec.danger) : nothing}</p>
      ${wanted ? this.#typing(wanted) : nothing}
      <footer>
        <button
          type="button"
          class="danger"
          ?disabled=${this.#task.isBusy || (wanted && this.#typed.value !== wanted)}
          @click=${() => this.#run()}
        >
          ${this.#label()}
        </button>
        <button type="button" @click=${() => this.#ask(false)}>${t("cancel")}</button>
      </footer>
    </div>`;
  }

  /** @param {string} wanted */
  #typing(wanted) {
    return html`<label class="field">
      ${t("type_to_confirm", { wanted })}
      <input
        autocomplete="off"
        .value=${this.#typed.value}
        @input=${(event) => (this.#typed.value = event.target.value)}
      />
    </label>`;
  }

  /** @param {boolean} asking */
  #ask(asking) {
    this.#asking.value = asking;
    this.#typed.value = "";
    this.#isDone.value = false;
    this.#task.forget();
  }

  async #run() {
    this.#ask(false);
    this.#isDone.value = await this.#task.run(() => this.#perform());
  }

  #perform() {
    const { perform, values = {} } = this.#spec;
    if (perform || !this.#command) return perform?.();
    const sent = typeof values === "function" ? values() : values;
    const { target, body } = this.#command.request(sent);
    return api.send(target, body);
  }
}
