// An output on for a while: any time as people write it, or until a time of the day.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { durationText } from "../../lib/format/numbers.js";
import { t } from "../../lib/format/words.js";
import { refusalView } from "../../lib/forms/task.js";
import { indexOf } from "../../lib/things/labels.js";
import { Pulse } from "../../lib/things/switches.js";

const CHOICES_S = [10, 300];

export class OnFor {
  #pulse;
  #isAsking = signal(false);

  /** @param {Context} context @param {string} label */
  constructor(context, label) {
    this.#pulse = new Pulse(context, indexOf(label));
  }

  view() {
    const { hindrance } = this.#pulse;
    const isIdle = hindrance !== null;
    return html`<div
        class="fors"
        role="group"
        aria-label=${t("on_for")}
        title=${hindrance ?? nothing}
      >
        <span class="q">${t("on_for")}</span>
        ${CHOICES_S.map(
          (seconds) =>
            html`<button
              type="button"
              ?disabled=${isIdle}
              @click=${() => this.#send(() => this.#pulse.send(seconds))}
            >
              ${durationText(seconds)}
            </button>`,
        )}
        <button
          type="button"
          ?disabled=${isIdle}
          aria-expanded=${this.#isAsking.value ? "true" : "false"}
          @click=${() => (this.#isAsking.value = !this.#isAsking.value)}
        >
          ${t("on_other")}
        </button>
      </div>
      ${this.#isAsking.value ? this.#question() : nothing} ${refusalView(this.#pulse.refusal)}`;
  }

  #question() {
    return html`<form class="fors" @submit=${(event) => this.#submit(event)}>
      <label
        >${t("on_written")}
        <input name="written" required autofocus autocomplete="off" autocapitalize="off"
      /></label>
      <button class="primary" ?disabled=${this.#pulse.hindrance !== null}>${t("switch_on")}</button>
    </form>`;
  }

  /** @param {() => void} send */
  #send(send) {
    this.#isAsking.value = false;
    send();
  }

  // What could not be read stays to be put right.
  /** @param {SubmitEvent} event */
  #submit(event) {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const isRead = this.#pulse.sendWritten(String(new FormData(form).get("written")));
    this.#isAsking.value = !isRead;
  }
}
