// The menu beside an output's lever: on for any time, or until a time of the day.
//
// Two clicks in all. Its return time stays as it is. The last own time is offered again.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { durationText } from "../../lib/format/numbers.js";
import { t } from "../../lib/format/words.js";
import { refusalView } from "../../lib/forms/task.js";
import { closeByEscape, closeMenu, closeWhenLeft } from "../../lib/frame/menu.js";
import { icon } from "../../lib/things/signs.js";
import { Pulse, tidyWritten } from "../../lib/things/switches.js";

const KEPT = "leverframe.until";
const CHOICES_S = [10, 300];

export class PulseMenu {
  #pulse;
  #name;
  // What is in the menu is drawn while it is open: the first view has one for each lever.
  #isOpen = signal(false);
  // Whether it was pressed while it could not be opened.
  #isPressedIdle = signal(false);

  /** @param {Context} context @param {number} index @param {() => string} name */
  constructor(context, index, name) {
    this.#pulse = new Pulse(context, index);
    this.#name = name;
  }

  view() {
    const { hindrance } = this.#pulse;
    this.#isPressedIdle.value &&= hindrance !== null;
    const refusal = this.#isPressedIdle.value ? hindrance : this.#pulse.refusal;
    return html`<details
        class="pop pulse"
        @keydown=${closeByEscape}
        @focusout=${closeWhenLeft}
        @toggle=${(event) => this.#onToggle(event.target)}
      >
        <summary
          aria-label=${`${this.#name()}: ${t("pulse_for")}`}
          aria-disabled=${hindrance ? "true" : nothing}
          title=${hindrance ?? nothing}
          @click=${(event) => this.#onKeydown(event)}
        >
          ${icon("pulse", "s")} <span>${t("pulse_for")}</span> ${icon("down", "s")}
        </summary>
        ${this.#isOpen.value ? this.#menu() : nothing}
      </details>
      ${refusalView(refusal)}`;
  }

  // What is open can be closed at any time.
  /** @param {Event} event */
  #onKeydown(event) {
    if (this.#isOpen.value || this.#pulse.hindrance === null) return;
    event.preventDefault();
    this.#isPressedIdle.value = true;
  }

  // At the lower end of a screen the page moves until the whole menu is seen.
  /** @param {HTMLDetailsElement} own */
  #onToggle(own) {
    this.#isOpen.value = own.open;
    requestAnimationFrame(() => own.querySelector(".menu")?.scrollIntoView({ block: "nearest" }));
  }

  #menu() {
    const own = localStorage.getItem(KEPT);
    return html`<div class="menu" role="group" aria-label=${t("pulse_for")}>
      <p>${t("pulse_for")}</p>
      ${CHOICES_S.map((seconds) =>
        this.#line(durationText(seconds), () => this.#pulse.send(seconds)),
      )}
      ${own
        ? this.#line(tidyWritten(own), () => this.#pulse.sendWritten(own))
        : nothing}
      <form @submit=${(event) => this.#submit(event)}>
        <label
          >${t("pulse_written")}
          <input name="written" required autocomplete="off" autocapitalize="off"
        /></label>
        <button type="submit" ?disabled=${this.#pulse.hindrance !== null}>
          ${t("pulse_start")}
        </button>
      </form>
    </div>`;
  }

  /** @param {string} text @param {() => unknown} send */
  #line(text, send) {
    const act = (/** @type {Event} */ event) => this.#send(event, send);
    const isIdle = this.#pulse.hindrance !== null;
    return html`<button type="button" ?disabled=${isIdle} @click=${act}>${text}</button>`;
  }

  /** @param {Event} event @param {() => unknown} send */
  #send(event, send) {
    closeMenu(event.target);
    send();
  }

  /** @param {SubmitEvent} event */
  #submit(event) {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const written = String(new FormData(form).get("written"));
    if (!this.#pulse.sendWritten(written)) return;
    localStorage.setItem(KEPT, written);
    closeMenu(event.target);
  }
}
