// Status: is everything as it should be, then the levers, then what is measured and what happened.
//
// The findings and the levers are the first view; all that stands below and beside them is fetched
// when they can be pressed.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { t } from "../lib/format/words.js";
import { indexOf, OUTPUTS, PWMS } from "../lib/things/labels.js";
import { Duty, Switches } from "../lib/things/switches.js";
import { thingName } from "../lib/things/things.js";
import { isLeftOut, unusedSwitch } from "../lib/things/unused.js";
import { glance, post } from "./status/glance.js";
import { PulseMenu } from "./status/pulse.js";

/** @import { Beside } from "./status/beside.js" */

export class Page {
  #context;
  #overview;
  #switches;
  /** @type {Map<string, Duty>} */
  #duties;
  /** @type {Map<string, PulseMenu>} */
  #pulses;
  /** @type {Signal<Beside | null>} */
  #beside = signal(null);
  #isClosed = false;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    this.#overview = context.overview;
    this.#switches = new Switches(context);
    const hindrance = (/** @type {string} */ label) => () => this.#switches.hindrance(label);
    this.#duties = new Map(
      PWMS.map((label) => [label, new Duty(context, label, hindrance(label))]),
    );
    this.#pulses = new Map(
      OUTPUTS.map((label) => [
        label,
        new PulseMenu(context, indexOf(label), () => thingName(context, label)),
      ]),
    );
  }

  async open() {
    await nextTask();
    // Together, not one after the other as they import each other.
    const [{ Beside }] = await Promise.all([
      import("./status/beside.js"),
      import("./status/meters.js"),
      import("./status/tiles.js"),
      import("../lib/things/journal.js"),
      import("../lib/things/journal/settings.js"),
      import("../lib/format/setting_words.js"),
    ]);
    if (this.#isClosed) return;
    this.#beside.value = new Beside(this.#context, this.#switches);
    this.#beside.value.read();
  }

  close() {
    this.#isClosed = true;
    this.#beside.value?.close();
  }

  view() {
    const levers = [...OUTPUTS, ...PWMS].filter(
      (label) =>
        this.#overview.isVisible(label) &&
        this.#overview.isPresent(label) &&
        !isLeftOut(this.#context, label),
    );
    return html`${glance(this.#context)}
    ${levers.length === 0
      ? nothing
      : html`<ul class="frame card" role="list" aria-label=${t("part_outputs")}>
          ${levers.map((label) => this.#post(label))}
        </ul>`}
    ${unusedSwitch(this.#context)} ${this.#beside.value?.view() ?? nothing}
    ${this.#beside.value?.dialogs() ?? nothing}`;
  }

  /** @param {string} label */
  #post(label) {
    const isFree = this.#switches.prohibition(label) === null;
    return post(this.#context, label, {
      lever: this.#switches.upright(label),
      pulse: isFree ? (this.#pulses.get(label)?.view() ?? nothing) : nothing,
      duty: this.#duties.get(label)?.view() ?? nothing,
      soon: this.#switches.soon(label),
    });
  }
}

// What was asked to be drawn is drawn at the end of the present task.
const nextTask = () => new Promise((resolve) => setTimeout(resolve));
