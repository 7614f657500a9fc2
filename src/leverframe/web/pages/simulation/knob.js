// A knob: one thing that the board senses, turned by slider or number, plugged in and unplugged.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { limitText, numberOf, numberText } from "../../lib/format/numbers.js";
import { t } from "../../lib/format/words.js";
import { Task } from "../../lib/forms/task.js";
import { contactWord } from "../../lib/things/labels.js";
import { leverRow } from "../../lib/things/lever.js";
import { outOfReach } from "../../lib/things/lever_state.js";

/** @import { Bench } from "./bench.js" */

/** @typedef {BenchReport["readings"][string]} Sensed */

// What something measures that was just plugged in, as far as that is within its usual range.
const TYPICAL = 20;
// Beyond this a slider would be no help.
const WIDEST = 1e6;

export class Knob {
  #context;
  #bench;
  #name;
  #options;
  // What is typed or turned and not sent yet; null while the board's own value is shown.
  /** @type {Signal<string | null>} */
  #typed = signal(null);
  #task = new Task();

  // `read(report)` gives { value, limits, usual, unit }; `called()` what people call it.
  /**
   * @param {AdminContext} context
   * @param {Bench} bench
   * @param {string} name
   * @param {{ read: (report: BenchReport) => Sensed, called?: () => string }} one
   */
  constructor(context, bench, name, { read, called = () => name }) {
    this.#context = context;
    this.#bench = bench;
    this.#name = name;
    this.#options = { read, called };
  }

  view() {
    const reading = this.#options.read(this.#bench.report);
    const id = `knob-${this.#name.replace(/\W/g, "_")}`;
    const called = this.#called;
    const shown = this.#typed.value ?? (reading.value === null ? "" : numberText(reading.value));
    return html`<div class="turn" data-reading=${this.#name} ?data-absent=${reading.value === null}>
      <label for=${id}>${called}${called === this.#name ? nothing : wireName(this.#name)}</label>
      <span class="with-unit">
        <input
          id=${id}
          class="number"
          inputmode="decimal"
          autocomplete="off"
          placeholder=${t("absent")}
          aria-invalid=${this.#task.refusal() ? "true" : "false"}
          .value=${shown}
          @input=${(event) => this.#type(event.target.value)}
          @change=${() => this.#set()}
        />
        <span class="unit">${reading.unit}</span>
      </span>
      ${this.#plug(reading)} ${this.#slider(reading, shown)} ${this.#backToPlant()}
      ${this.#task.refusal()
        ? html`<p class="wrong" role="alert">${this.#task.refusal()}</p>`
        : nothing}
    </div>`;
  }

  get #called() {
    return this.#options.called();
  }

  get #hindrance() {
    return outOfReach(this.#context);
  }

  /** @param {Sensed} sensed @param {string} shown */
  #slider({ usual: [low, high] }, shown) {
    const value = shown ? numberOf(shown) : low;
    if (high - low > WIDEST || Number.isNaN(value)) return nothing;
    return html`<input
      type="range"
      ?disabled=${this.#hindrance !== null}
      title=${this.#hindrance ?? nothing}
      aria-label=${this.#called}
      min=${Math.min(low, value)}
      max=${Math.max(high, value)}
      step=${stepOf(high - low)}
      .value=${String(value)}
      @input=${(event) => this.#type(numberText(Number(event.target.value)))}
      @change=${() => this.#set()}
    />`;
  }

  /** @param {Sensed} sensed */
  #plug({ value, usual: [low, high] }) {
    const typical = Math.min(Math.max(TYPICAL, low), high);
    const act = () => (value === null ? this.#send(String(typical)) : this.#send("none"));
    return html`<button
      type="button"
      ?disabled=${this.#hindrance !== null}
      title=${this.#hindrance ?? nothing}
      aria-label=${this.#plugLabel(value)}
      @click=${act}
    >
      ${t(value === null ? "plug_in" : "unplug")}
    </button>`;
  }

  /** @param {number | null} value */
  #plugLabel(value) {
    return `${t(value === null ? "plug_in" : "unplug")} ${this.#called}`;
  }

  #backToPlant() {
    if (!this.#bench.isFed(this.#name)) return nothing;
    return html`<button
      type="button"
      class="back"
      ?disabled=${this.#hindrance !== null}
      title=${this.#hindrance ?? nothing}
      @click=${() => this.#send("plant")}
    >
      ${t("back_to_plant")}
    </button>`;
  }

  /** @param {string} typed */
  #type(typed) {
    this.#typed.value = typed;
    this.#task.forget();
  }

  #set() {
    const [min, max] = this.#options.read(this.#bench.report).limits;
    const value = numberOf(this.#typed.value ?? "");
    const limits = { min: limitText(min), max: limitText(max) };
    if (this.#typed.value === "") return this.#send("none");
    if (Number.isNaN(value)) return this.#task.say(t("not_a_number", limits));
    if (value < min || value > max) return this.#task.say(t("out_of_range", limits));
    return this.#send(String(value));
  }

  /** @param {string} text */
  async #send(text) {
    const isDone = await this.#task.run(() => this.#bench.send([this.#name, text]));
    if (isDone) this.#typed.value = null;
  }
}

// What requests to the bench call it, small behind its name.
/** @param {string} label */
const wireName = (label) => html` <small>${label}</small>`;

/** @param {number} span */
const stepOf = (span) => (span <= 10 ? 0.01 : span <= 200 ? 0.1 : 1);

// A digital input: a lever for the contact at its pin, which can also be unplugged.

export class Pin {
  #context;
  #bench;
  #label;
  #called;
  #task = new Task();

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
      ${this.#task.refusal()
        ? html`<p class="wrong" role="alert">${this.#task.refusal()}</p>`
        : nothing}
    </div>`;
  }

  /** @param {string} text */
  async #send(text) {
    // The banner says why its lever, which only looks disabled, does nothing.
    if (outOfReach(this.#context)) return;
    await this.#task.run(() => this.#bench.send([this.#label, text]));
  }
}
