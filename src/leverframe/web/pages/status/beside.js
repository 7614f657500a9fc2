// Below and beside the levers: what is measured, and what happened.

import { html, nothing } from "../../vendor/lit-html.js";
import { VARIABLES } from "../../lib/labels.js";
import { isUsed } from "../../lib/things.js";
import { t } from "../../lib/words.js";
import { Choice } from "./choice.js";
import { firstRunCard } from "./first_run.js";
import { Happened } from "./happened.js";
import { LastHour } from "./last_hour.js";
import { Meters } from "./meters.js";
import { section } from "./section.js";
import { Tiles } from "./tiles.js";

/** @import { Switches } from "../../lib/switches.js" */

export class Beside {
  #context;
  #switches;
  #hour = new LastHour();
  #tiles;
  #meters;
  #happened;
  #choice;
  #stop;
  #hasGap;

  /** @param {Context} context @param {Switches} switches */
  constructor(context, switches) {
    const { overview, live } = context;
    this.#context = context;
    this.#switches = switches;
    this.#tiles = new Tiles(context, this.#hour);
    this.#meters = new Meters(context);
    this.#happened = new Happened(context, overview);
    this.#choice = new Choice(context, overview);
    this.#hasGap = live.watchGaps();
    this.#stop = live.listen(() => this.#follow());
    this.#follow();
  }

  // The lines of the last hour, the counters and the log come when they come: nobody waits.
  read() {
    this.#hour.read().then(
      () => {
        this.#hour.follow(this.#context.live.state);
        this.#context.redraw();
      },
      () => {},
    );
    this.#meters.read().catch(() => {});
    this.#happened.read().catch(() => {});
  }

  close() {
    this.#stop();
    this.#happened.close();
  }

  #follow() {
    const { state } = this.#context.live;
    if (this.#hasGap()) this.read();
    this.#hour.follow(state);
    this.#tiles.follow(state);
    this.#happened.follow();
  }

  view() {
    return html`<div class="two">
      <div class="stack">
        ${section("readings", this.#tiles.view(), t("last_hour"))} ${this.#variables()}
        ${section("meters", this.#meters.view())}
      </div>
      <div class="stack">
        ${firstRunCard(this.#context)} ${this.#happened.view()} ${this.#choice.button()}
      </div>
    </div>`;
  }

  #variables() {
    const { overview } = this.#context;
    const used = VARIABLES.filter(
      (label) => overview.isVisible(label) && isUsed(this.#context, label),
    );
    if (used.length === 0) return nothing;
    return section("variables", html`<div class="rows">
      ${used.map((label) => this.#switches.lever(label))}
    </div>`);
  }

  dialogs() {
    return this.#choice.view();
  }
}
