// Buttons that do something at the node: what cannot be taken back asks once more, beside the
// button; what is refused is said there.

import { html } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { t } from "../lib/format/words.js";
import { CONNECTION, Task } from "../lib/forms/task.js";

export class Confirmed {
  // The button that asks.
  #asking = signal("");
  #task = new Task({ lost: CONNECTION });

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
      ?disabled=${this.#task.isBusy}
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
    this.#task.forget();
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
    return this.#task.view(about);
  }

  /** @param {string} key @param {() => Promise<unknown>} work */
  #act(key, work) {
    this.#asking.value = "";
    return this.#task.run(work, key.slice(0, key.lastIndexOf(" ")));
  }
}
