// What is connected to the outputs: a name for each, and a second of being on to see what moves.

import { html, nothing } from "../../vendor/lit-html.js";
import { t } from "../../lib/format/words.js";
import { problemOf } from "../../lib/forms/schema.js";
import { ShownMap } from "../../lib/live/drawing.js";
import { indexOf, OUTPUTS } from "../../lib/things/labels.js";
import { Pulse } from "../../lib/things/switches.js";
import { plateOf } from "../../lib/things/things.js";

const TEST_S = 1;

export class OutputNames {
  #context;
  #step;
  /** @type {ShownMap<string, string>} */
  #typed = new ShownMap();
  #pulses;

  // The step says what is wrong with a name.
  /** @param {AdminContext} context @param {import("./step.js").Step} step */
  constructor(context, step) {
    this.#context = context;
    this.#step = step;
    this.#pulses = new Map(OUTPUTS.map((label) => [label, new Pulse(context, indexOf(label))]));
  }

  get #labels() {
    return OUTPUTS.filter((label) => this.#context.overview.isPresent(label));
  }

  view() {
    return html`<p class="note">${t("outputs_note")}</p>
      <ul class="sensors outputs" role="list">
        ${this.#labels.map((label) => this.#row(label))}
      </ul>
      <p class="note">${t("outputs_later")}</p>`;
  }

  /** @param {string} label */
  #row(label) {
    const plate = plateOf(label);
    const pulse = this.#pulses.get(label);
    const wrong = this.#step.task.refusal(label) ?? pulse?.refusal;
    const isOn = this.#context.live.state[label] === 1;
    return html`<li ?data-felt=${isOn} data-label=${label}>
      <button
        type="button"
        aria-label=${t("test_output", { number: plate })}
        ?disabled=${pulse?.hindrance !== null}
        @click=${() => pulse?.send(TEST_S)}
      >
        ${t("test_second")}
      </button>
      <label class="id" for="first-${label}"
        >${t("what_is_connected", { number: plate })}<small
          >${t(isOn ? "state_on" : "state_off")}</small
        ></label
      >
      <div class="naming" ?data-wrong=${wrong}>
        <input
          id="first-${label}"
          autocomplete="off"
          placeholder=${t("such_as_output")}
          .value=${this.#name(label)}
          @input=${(event) => {
            this.#typed.set(label, event.target.value);
            this.#step.typing(label);
          }}
        />
        ${wrong ? html`<p class="wrong" role="alert">${wrong}</p>` : nothing}
      </div>
    </li>`;
  }

  /** @param {string} label */
  #name(label) {
    return this.#typed.get(label) ?? this.#context.overview.name(label);
  }

  get #changed() {
    const { overview } = this.#context;
    return this.#labels.filter((label) => this.#name(label) !== overview.name(label));
  }

  // [field, what is wrong with it] of each changed name.
  get problems() {
    const schema = this.#context.commands.get("oname").schema("B");
    return this.#changed.map((label) => [label, problemOf(schema, this.#name(label)) ?? ""]);
  }

  // What to send, as [path, item].
  /** @returns {{ path: string, item: string }[]} */
  get items() {
    const command = this.#context.commands.get("oname");
    return this.#changed.map((label) => ({
      path: command.path,
      item: command.query({ A: indexOf(label), B: this.#name(label) }),
    }));
  }
}
