// The common time of all controllers, where it is virtual: moved by hand, or running.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { exactMoment } from "../lib/format/moments.js";
import { durationText } from "../lib/format/numbers.js";
import { momentText } from "../lib/format/typed_moment.js";
import { t } from "../lib/format/words.js";
import { CONNECTION, Task } from "../lib/forms/task.js";
import * as node from "./node_api.js";

const RATES = [1, 10, 60, 600];

export class GroupTime {
  #page;
  #for = "1h";
  #to = "";
  #task = new Task({ lost: CONNECTION });
  // What became of the last step; null where time was moved otherwise since.
  /** @type {Signal<FleetMoved | null>} */
  #stepped = signal(null);
  // On a phone the list comes first: the tools start closed.
  #isOpen = signal(false);

  /** @param {FleetPageLike} page */
  constructor(page) {
    this.#page = page;
  }

  view() {
    const about = this.#page.node;
    if (!about?.virtual || about.role === "user") return nothing;
    return html`<section
      class="time"
      aria-label=${t("time_of_all")}
      ?data-open=${this.#isOpen.value}
    >
      <p class="common-time">
        <b>${exactMoment(about.time)}</b>
        <small>${about.rate ? t("runs", { rate: about.rate }) : t("stands")}</small>
      </p>
      ${about.tenant === null && about.rate ? this.#freeze() : nothing}
      <button
        type="button"
        class="bare fold"
        aria-expanded=${String(this.#isOpen.value)}
        @click=${() => (this.#isOpen.value = !this.#isOpen.value)}
      >
        ${t("move_time")}
      </button>
      <div class="moving">
        <form class="do" @submit=${(event) => this.#submit(event, { for: this.#for })}>
          <input
            aria-label=${t("time_for")}
            size="8"
            required
            .value=${this.#for}
            @input=${(event) => (this.#for = event.target.value)}
          /><button data-do="advance" ?disabled=${this.#task.isBusy}>${t("advance")}</button>
        </form>
        <form class="do" @submit=${(event) => this.#submit(event, { to: this.#to.trim() })}>
          <input
            aria-label=${t("time_to")}
            placeholder=${momentText(about.time)}
            size="16"
            autocomplete="off"
            required
            @input=${(event) => (this.#to = event.target.value)}
          /><button data-do="go" ?disabled=${this.#task.isBusy}>${t("go_to")}</button>
        </form>
        <div class="do">
          <button
            data-do="step"
            ?disabled=${this.#task.isBusy}
            @click=${() => this.#move({ step: 1 })}
          >
            ${t("step")}
          </button>
          ${about.tenant === null && !about.rate ? this.#run() : nothing}
        </div>
      </div>
      ${this.#task.view()}
      ${this.#stepped.value
        ? html`<p class="quiet" role="status">${stepText(this.#stepped.value)}</p>`
        : nothing}
    </section>`;
  }

  // Time that runs does so for all: that is the operator's.
  #freeze() {
    return html`<button type="button" data-do="freeze" @click=${() => this.#move({ rate: 0 })}>
      ${t("freeze")}
    </button>`;
  }

  #run() {
    return html`<select
      aria-label=${t("run")}
      @change=${(event) => this.#move({ rate: event.target.value })}
    >
      <option value="" .selected=${true}>${t("run")}</option>
      ${RATES.map((one) => html`<option value=${one}>${t("run_at", { rate: one })}</option>`)}
    </select>`;
  }

  /** @param {SubmitEvent} event @param {Params} params */
  #submit(event, params) {
    event.preventDefault();
    this.#move(params);
  }

  /** @param {Params} params */
  #move(params) {
    this.#stepped.value = null;
    return this.#task.run(async () => {
      const moved = await node.advance(params);
      // Only a step reports whose event was due.
      if (moved.due !== null) this.#stepped.value = moved;
    });
  }
}

/** @param {FleetMoved} moved */
function stepText({ due, moved, moved_s: seconds }) {
  if (!due) return t("nothing_due");
  return t("step_done", { time: durationText(seconds), due, of: moved });
}
