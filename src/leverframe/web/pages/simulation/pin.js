// A digital input: a lever for the contact at its pin, which can also be unplugged.

import { html, nothing } from "../../vendor/lit-html.js";
import { contactWord } from "../../lib/level_words.js";
import { leverRow } from "../../lib/lever.js";
import { outOfReach } from "../../lib/lever_state.js";
import { t } from "../../lib/words.js";
import { wireName } from "./knob.js";

/** @import { Bench } from "./bench.js" */

export class Pin {
  #context;
  #bench;
  #label;
  #called;
  /** @type {string | null} */
  #problem = null;

  /**
   * @param {AdminContext} context
   * @param {Bench} bench
   * @param {string} label
   * @param {() => string} called
   */
  constructor(context, bench, label, called) {
    this.#context = context;
    this.#bench = bench;
    this.#label = label;
    this.#called = called;
  }

  view() {
    const level = this.#bench.report.levels[this.#label];
    const called = this.#called();
    const hindrance = outOfReach(this.#context);
    // An input with nothing on it is held high by its pull-up resistor. The word is that of Status.
    const isOpen = (level !== 0) !== this.#context.overview.isInverted(this.#label);
    return html`<div class="pin" data-pin=${this.#label}>
      ${leverRow({
        name: html`${called}${wireName(this.#label)}`,
        word: contactWord(isOpen),
        isOn: isOpen,
        hindrance,
        press: () => this.#send(level === 0 ? "1" : "0"),
      })}
      <button
        type="button"
        aria-label="${t("unplug")} ${called}"
        ?disabled=${level === null || hindrance !== null}
        title=${hindrance ?? nothing}
        @click=${() => this.#send("none")}
      >
        ${t("unplug")}
      </button>
      ${this.#problem ? html`<p class="wrong" role="alert">${this.#problem}</p>` : nothing}
    </div>`;
  }

  /** @param {string} text */
  async #send(text) {
    // The banner tells why its lever, which only looks disabled, does nothing.
    if (outOfReach(this.#context)) return;
    this.#problem = await this.#bench.send([this.#label, text]);
    this.#context.redraw();
  }
}
