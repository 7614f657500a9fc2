// How the pages behave, and the clock.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { exactMoment, zoneNote } from "../lib/format/moments.js";
import { inOneUnit } from "../lib/format/numbers.js";
import { wallOfMoment } from "../lib/format/typed_moment.js";
import { t } from "../lib/format/words.js";
import { wallOf } from "../lib/format/zone.js";
import { Action } from "../lib/forms/action.js";
import { Form } from "../lib/forms/form.js";
import { isFlag } from "../lib/forms/schema.js";
import * as api from "../lib/live/api.js";
import { Followed } from "../lib/live/live.js";

/** @type {PartOf} */
export const partOf = (context) => [
  pagesCard(context),
  new ClockCard(context),
  zoneCard(context),
  networkCard,
];

// What is looked for here and set elsewhere.
const networkCard = {
  view: () =>
    html`<section class="card">
      <h2>${t("network")}</h2>
      <p class="note">${t("network_note", { address: location.origin })}</p>
    </section>`,
};

/** @param {AdminContext} context */
const zoneCard = (context) =>
  new Form(context, {
    title: "timezone",
    fields: [{ command: "timezone", label: "timezone", hint: "timezone_hint" }],
  });

// `bit2` chose the homepage before it came to mean that only names are shown.
/** @param {Commands} commands */
function meaningOfBit2(commands) {
  const schema = commands.find("bit2")?.schema("A");
  if (!schema || isFlag(schema)) {
    return { command: "bit2", label: "names_only", hint: "names_only_hint", path: "ui.names_only" };
  }
  const older = { command: "bit2", label: "homepage", hint: "homepage_hint", path: "ui.homepage" };
  return commands.find("byte0") ? null : older;
}

/** @param {AdminContext} context */
function pagesCard(context) {
  return new Form(context, {
    title: "pages",
    fields: [
      { command: "sname", label: "device_name", hint: "device_name_hint" },
      { command: "lang", label: "pages_language", hint: "language_hint" },
      { command: "word0", label: "refresh", unit: "s", hint: "refresh_hint", path: "ui.refresh" },
      { command: "byte0", label: "homepage", hint: "homepage_hint", path: "ui.homepage" },
      meaningOfBit2(context.commands),
    ].filter((field) => field !== null),
  });
}

// The controller's clock: what it shows, how far that is from this browser's, and setting it.

// Differences up to this number of seconds count as equal.
const TOLERATED_S = 3;

class ClockCard {
  #context;
  #typed = signal("");
  // What the clock showed, and this browser's at the same moment.
  #clock;
  #toBrowser;
  #toTyped;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#clock = new Followed(context, async () => {
      const { time } = await api.state();
      return { time, here: Date.now() / 1000 };
    });
    this.#toBrowser = new Action(context, {
      label: "set_to_browser",
      perform: () => this.#set(wallOf(Date.now() / 1000)),
      done: "clock_set",
    });
    this.#toTyped = new Action(context, {
      label: "set_to_typed",
      perform: () => this.#set(wallOfMoment(this.#typed.value) ?? NaN),
      done: "clock_set",
      isReady: () => wallOfMoment(this.#typed.value) !== null,
    });
  }

  open() {
    return this.#clock.open();
  }

  close() {
    this.#clock.close();
  }

  // The command takes what the clock is to show, as if that were UTC.
  /** @param {number} wall */
  async #set(wall) {
    const { target } = this.#context.commands.get("t_man").request({ A: Math.round(wall) });
    await api.send(target);
    await this.#clock.look();
  }

  view() {
    if (this.#clock.value === null) return nothing;
    const { time, here } = this.#clock.value;
    // Between two readings it advances here, unless it stands still until it is moved.
    const passed = this.#context.live.state.virtual_time ? 0 : Date.now() / 1000 - here;
    return html`<section class="card">
      <h2>${t("clock")}</h2>
      <p class="note">${t("clock_note")}</p>
      ${zoneNote(time + passed)}
      <div class="reading stacked">
        <span class="name">${t("clock_now")}</span>
        <span class="value">${exactMoment(time + passed)}</span>
        <small class="since">${difference(time - here)}</small>
      </div>
      ${this.#toBrowser.view()}
      <div class="field">
        <label for="clock">${t("another_time")}</label>
        <input
          id="clock"
          autocomplete="off"
          aria-describedby="clock-hint"
          .value=${this.#typed.value}
          @input=${(event) => (this.#typed.value = event.target.value)}
        />
        <small class="hint" id="clock-hint">${t("another_time_hint")}</small>
      </div>
      ${this.#toTyped.view()}
    </section>`;
  }
}

/** @param {number} seconds */
function difference(seconds) {
  if (Math.abs(seconds) <= TOLERATED_S) return t("clock_agrees");
  const amount = inOneUnit(Math.abs(seconds));
  return t(seconds > 0 ? "clock_ahead" : "clock_behind", { amount });
}
