// Status: everything at a glance. Levers switch, readings are read, the log says why.
//
// The levers are the first view; all that stands beside them is fetched when they can be pressed.

import { html, nothing } from "../vendor/lit-html.js";
import { Duty } from "../lib/duty.js";
import { OUTPUTS, PWMS, VARIABLES, indexOf } from "../lib/labels.js";
import { Switches } from "../lib/switches.js";
import { t } from "../lib/words.js";
import { PulseMenu } from "./status/pulse.js";
import { section } from "./status/section.js";

/** @import { Beside } from "./status/beside.js" */

export class Page {
  #context;
  #overview;
  #switches;
  #duties;
  /** @type {Map<string, PulseMenu>} */
  #pulses = new Map();
  /** @type {Beside | null} */
  #beside = null;
  #isClosed = false;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    this.#overview = context.overview;
    this.#switches = new Switches(context, this.#overview);
    this.#duties = PWMS.map(
      (label) => new Duty(context, label, () => this.#switches.hindrance(label)),
    );
  }

  async open() {
    await drawn();
    const { Beside } = await import("./status/beside.js");
    if (this.#isClosed) return;
    this.#beside = new Beside(this.#context);
    this.#beside.read();
  }

  close() {
    this.#isClosed = true;
    this.#beside?.close();
  }

  view() {
    return html`<div class="status">
        <div class="operated">
          ${this.#levers("outputs", OUTPUTS)} ${this.#pwms()} ${this.#variables()}
        </div>
        ${this.#beside?.view() ?? nothing}
      </div>
      ${this.#beside?.dialogs() ?? nothing}`;
  }

  /** @param {string[]} labels */
  #chosen(labels) {
    return labels.filter(
      (label) => this.#overview.isVisible(label) && this.#overview.isPresent(label),
    );
  }

  /** @param {string} name @param {string[]} labels */
  #levers(name, labels) {
    const chosen = this.#chosen(labels);
    if (chosen.length === 0) return nothing;
    return section(
      name,
      chosen.map(
        (label) =>
          html`<div class="pulsed">
            ${this.#switches.lever(label)}
            ${this.#switches.hindrance(label) === null ? this.#pulse(label).view() : nothing}
          </div>`,
      ),
    );
  }

  /** @param {string} label */
  #pulse(label) {
    const name = () => this.#overview.name(label) || label;
    const menu = this.#pulses.get(label) ?? new PulseMenu(this.#context, indexOf(label), name);
    this.#pulses.set(label, menu);
    return menu;
  }

  #pwms() {
    const chosen = this.#chosen(PWMS);
    if (chosen.length === 0) return nothing;
    return section(
      "pwm",
      chosen.map(
        (label) =>
          html`${this.#switches.lever(label)} ${this.#duties[PWMS.indexOf(label)].view()}`,
      ),
    );
  }

  #variables() {
    const chosen = this.#chosen(VARIABLES);
    if (chosen.length === 0) return nothing;
    const used = chosen.filter((label) => this.#isUsed(label));
    const rest = chosen.filter((label) => !used.includes(label));
    /** @param {string[]} labels */
    const levers = (labels) => labels.map((label) => this.#switches.lever(label));
    return section(
      "variables",
      html`${levers(used)}
      ${rest.length === 0
        ? nothing
        : html`<details class="rest">
            <summary>${t("unused_variables", { count: rest.length })}</summary>
            ${levers(rest)}
          </details>`}`,
    );
  }

  // A variable that has a name, is on or stands in a rule; the others would only fill the page.
  /** @param {string} label */
  #isUsed(label) {
    const rules = this.#context.settings?.rules ?? [];
    return (
      this.#overview.name(label) !== "" ||
      this.#context.live.state[label] === 1 ||
      rules.some(({ source, source2, action }) => [source, source2, action].includes(label))
    );
  }
}

// What was asked to be drawn is drawn at the end of the present task.
const drawn = () => new Promise((resolve) => setTimeout(resolve));
