// Below and beside the levers: what is measured, and what happened.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { t } from "../../lib/format/words.js";
import { address } from "../../lib/frame/router.js";
import * as api from "../../lib/live/api.js";
import { VARIABLES } from "../../lib/things/labels.js";
import { isUsed } from "../../lib/things/things.js";
import { Happened, Meters } from "./meters.js";
import { LastHour, Tiles } from "./tiles.js";

/** @import { Switches } from "../../lib/things/switches.js" */
/** @import { Choice } from "./choice.js" */

export class Beside {
  #context;
  #switches;
  #hour = new LastHour();
  #tiles;
  #meters;
  #happened;
  // Fetched when the user opens the choice.
  /** @type {Signal<Choice | null>} */
  #choice = signal(null);
  #stop;
  #hasGap;
  #isRead = signal(false);

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

  // Reads the lines of the last hour, the counters and the log without waiting for them.
  read() {
    this.#isRead.value = true;
    this.#readHour();
    this.#meters.read().catch(() => {});
    this.#happened.read().catch(() => {});
  }

  #readHour() {
    this.#hour.read(this.#tiles.labels).then(
      () => {
        this.#hour.follow(this.#context.live.state);
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
    else if (this.#isRead.value && this.#hour.lacks(this.#tiles.labels)) this.#readHour();
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
    return section(
      "variables",
      html`<div class="rows">${used.map((label) => this.#switches.lever(label))}</div>`,
    );
  }

  #chooseButton() {
    return html`<p class="choose">
      <button type="button" @click=${() => this.#choose()}>${t("choose_shown")}</button>
    </p>`;
  }

  async #choose() {
    try {
      const [{ Choice }] = await Promise.all([import("./choice.js"), this.#context.knowCommands()]);
      this.#choice.value ??= new Choice(this.#context);
    } catch (error) {
      // The banner says why nothing opens.
      if (!api.mayPass(error)) throw error;
      return;
    }
    this.#choice.value.begin();
  }

  dialogs() {
    return this.#choice.value?.view() ?? nothing;
  }
}

// One card of Status under its heading, `part_NAME` of words/status.json.

/** @param {string} name @param {Template} content @param {string} [beside] */
export const section = (name, content, beside = "") =>
  html`<section class="card sheet" aria-labelledby=${name}>
    <div class="sect">
      <h2 id=${name}>${t(`part_${name}`)}</h2>
      ${beside ? html`<small>${beside}</small>` : nothing}
    </div>
    ${content}
  </section>`;

// The way into the first run, for as long as it is not finished.

/** @param {Context} context */
function firstRunCard({ isAdmin, firstRunStep }) {
  if (!isAdmin || firstRunStep === null) return nothing;
  // Once it is begun, the controller is no longer new.
  if (firstRunStep !== "place") {
    return html`<p class="first-run">
      <a class="button" href=${address("firstrun")}>${t("first_run_continue")}</a>
    </p>`;
  }
  return html`<section class="card first-run" aria-labelledby="first-run">
    <h2 id="first-run">${t("first_run")}</h2>
    <p class="note">${t("first_run_note")}</p>
    <p><a class="button" href=${address("firstrun")}>${t("first_run_begin")}</a></p>
  </section>`;
}
