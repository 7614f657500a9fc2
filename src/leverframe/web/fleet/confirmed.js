// Buttons that do something at the node: what cannot be taken back asks once more, beside the
// button; what is refused is said there.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { t } from "../lib/format/words.js";
import { whyNot } from "../lib/forms/action.js";

export class Confirmed {
  // The button that asks, and the one whose work is under way.
  #asking = signal("");
  #busy = signal("");
  // What was refused last, by whom it is about.
  /** @type {Signal<{ about: string, why: string } | null>} */
  #refusal = signal(null);

  /** @param {string} about */
  isAsking(about) {
    return this.#asking.value.startsWith(`${about} `);
  }

  /**
   * @param {string} about
   * @param {string} what
   * @param {{ word: string, question?: string, primary?: boolean }} how
   * @param {() => Promise<unknown>} work
   */
  button(about, what, { word, question, primary = false }, work) {
    const key = `${about} ${what}`;
    if (this.#asking.value === key) return this.#question(key, word, question ?? "", work);
    return html`<button
      type="button"
      class=${primary ? "primary" : ""}
      data-do=${what}
      ?disabled=${this.#busy.value !== ""}
      @click=${() => {
        if (question) this.#ask(key);
        else this.#act(key, work);
      }}
    >
      ${word}
    </button>`;
  }

  /** @param {string} key */
  #ask(key) {
    this.#asking.value = key;
    this.#refusal.value = null;
  }

  /**
   * @param {string} key
   * @param {string} word
   * @param {string} question
   * @param {() => Promise<unknown>} work
   */
  #question(key, word, question, work) {
    return html`<span class="question" role="alert">${question}</span>
      <button type="button" class="primary" data-do="sure" @click=${() => this.#act(key, work)}>
        ${word}
      </button>
      <button type="button" class="bare" data-do="not" @click=${() => this.#ask("")}>
        ${t("choose_none")}
      </button>`;
  }

  /** @param {string} about */
  refusal(about) {
    if (this.#refusal.value?.about !== about) return nothing;
    return html`<p class="refusal" role="alert">${this.#refusal.value.why}</p>`;
  }

  /** @param {string} key @param {() => Promise<unknown>} work */
  async #act(key, work) {
    this.#asking.value = "";
    this.#refusal.value = null;
    this.#busy.value = key;
    try {
      await work();
    } catch (error) {
      this.#refusal.value = { about: key.slice(0, key.lastIndexOf(" ")), why: whyNot(error) };
    }
    this.#busy.value = "";
  }
}
