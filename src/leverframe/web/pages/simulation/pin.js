// A digital input: a lever for the level at its pin, which can also be left open.

import { html, nothing } from "../../vendor/lit-html.js";
import { leverRow } from "../../lib/lever.js";
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
    // An open input is held high by its pull-up resistor.
    return html`<div class="pin" data-pin=${this.#label}>
      ${leverRow({
        name: html`${called}${wireName(this.#label)}`,
        word: level === null ? t("level_open") : String(level),
        isOn: level === 1,
        press: () => this.#send(level === 0 ? "1" : "0"),
      })}
      <button
        type="button"
        aria-label="${t("unplug")} ${called}"
        ?disabled=${level === null}
        @click=${() => this.#send("none")}
      >
        ${t("unplug")}
      </button>
      ${this.#problem ? html`<p class="wrong" role="alert">${this.#problem}</p>` : nothing}
    </div>`;
  }

  /** @param {string} text */
  async #send(text) {
    this.#problem = await this.#bench.send([this.#label, text]);
    this.#context.redraw();
  }
}
