// The controller's clock: what it shows, how far that is from this browser's, and setting it.

import { html, nothing } from "../../vendor/lit-html.js";
import { Action } from "../../lib/action.js";
import * as api from "../../lib/api.js";
import { inOneUnit } from "../../lib/durations.js";
import { Followed } from "../../lib/followed.js";
import { exactMoment } from "../../lib/moments.js";
import { t } from "../../lib/words.js";
import { wallOf } from "../../lib/zone.js";
import { zoneNote } from "../../lib/zone_note.js";

// Nobody minds a difference of so few seconds.
const TOLERATED_S = 3;

export class ClockCard {
  #context;
  #typed = "";
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
      perform: () => this.#set(Date.parse(`${this.#typed}Z`) / 1000),
      done: "clock_set",
      isReady: () => this.#typed !== "",
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
    // Between two readings it goes on here, unless it stands still until it is moved.
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
          type="datetime-local"
          step="1"
          .value=${this.#typed}
          @input=${(event) => {
            this.#typed = event.target.value;
            this.#context.redraw();
          }}
        />
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
