// Below and beside the levers: what is measured, and what happened.

import { html, nothing } from "../../vendor/lit-html.js";
import * as api from "../../lib/api.js";
import { VARIABLES } from "../../lib/labels.js";
import { isUsed } from "../../lib/things.js";
import { t } from "../../lib/words.js";
import { firstRunCard } from "./first_run.js";
import { Happened } from "./happened.js";
import { LastHour } from "./last_hour.js";
import { Meters } from "./meters.js";
import { section } from "./section.js";
import { Tiles } from "./tiles.js";

/** @import { Switches } from "../../lib/switches.js" */
/** @import { Choice } from "./choice.js" */

export class Beside {
  #context;
  #switches;
  #hour = new LastHour();
  #tiles;
  #meters;
  #happened;
  // Fetched when somebody wants to choose.
  /** @type {Choice | null} */
  #choice = null;
  #stop;
  #hasGap;
  #isRead = false;

  /** @param {Context} context @param {Switches} switches */
  constructor(context, switches) {
    const { live } = context;
    this.#context = context;
    this.#switches = switches;
    this.#tiles = new Tiles(context, this.#hour);
    this.#meters = new Meters(context);
    this.#happened = new Happened(context);
    this.#hasGap = live.watchGaps();
    this.#stop = live.listen(() => this.#follow());
    this.#follow();
  }

  // The lines of the last hour, the counters and the log come when they come: nobody waits.
  read() {
    this.#isRead = true;
    this.#readHour();
    this.#meters.read().catch(() => {});
    this.#happened.read().catch(() => {});
  }

  #readHour() {
    this.#hour.read(this.#tiles.labels).then(
      () => {
        this.#hour.follow(this.#context.live.state);
        this.#context.redraw();
      },
      () => {},
    );
  }

  close() {
    this.#stop();
    this.#happened.close();
  }

  #follow() {
    const { state } = this.#context.live;
    if (this.#hasGap()) this.read();
    else if (this.#isRead && this.#hour.lacks(this.#tiles.labels)) this.#readHour();
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
      ${this.#context.isAdmin
        ? html`<div class="stack">
            ${firstRunCard(this.#context)} ${this.#happened.view()} ${this.#chooseButton()}
          </div>`
        : nothing}
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

  #chooseButton() {
    return html`<p class="choose">
      <button type="button" @click=${() => this.#choose()}>${t("choose_shown")}</button>
    </p>`;
  }

  async #choose() {
    try {
      const [{ Choice }] = await Promise.all([
        import("./choice.js"),
        this.#context.knowCommands(),
      ]);
      this.#choice ??= new Choice(this.#context);
    } catch (error) {
      // The banner says why nothing opens.
      if (!api.mayPass(error)) throw error;
      return;
    }
    this.#choice.begin();
  }

  dialogs() {
    return this.#choice?.view() ?? nothing;
  }
}
