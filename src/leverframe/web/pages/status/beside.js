// Beside the levers: what is measured, whether everything is as it should be, and what happened.

import { html, nothing } from "../../vendor/lit-html.js";
import { INPUTS } from "../../lib/labels.js";
import { Choice } from "./choice.js";
import { Glance } from "./glance.js";
import { firstRunCard } from "./first_run.js";
import { Happened } from "./happened.js";
import { LastHour } from "./last_hour.js";
import { section } from "./section.js";
import { Tiles } from "./tiles.js";

export class Beside {
  #context;
  #hour = new LastHour();
  #tiles;
  #glance;
  #happened;
  #choice;
  #stop;
  #hasGap;

  /** @param {Context} context */
  constructor(context) {
    const { overview, live } = context;
    this.#context = context;
    this.#tiles = new Tiles(context, overview, this.#hour);
    this.#glance = new Glance(context, overview);
    this.#happened = new Happened(context, overview);
    this.#choice = new Choice(context, overview);
    this.#hasGap = live.watchGaps();
    this.#stop = live.listen(() => this.#follow());
    this.#follow();
  }

  // The lines of the last hour and the log come when they come: nobody waits for them.
  read() {
    this.#hour.read().then(
      () => this.#context.redraw(),
      () => {},
    );
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
    const inputs = this.#tiles.hasAny(INPUTS) ? section("inputs", this.#tiles.inputs()) : nothing;
    return html`<div class="measured">
        ${section("readings", this.#tiles.readings())} ${inputs}
        ${section("meters", this.#tiles.meters())}
      </div>
      <div class="told">
        ${firstRunCard(this.#context)} ${this.#glance.view()} ${this.#happened.view()}
        ${this.#choice.button()}
      </div>`;
  }

  dialogs() {
    return this.#choice.view();
  }
}
