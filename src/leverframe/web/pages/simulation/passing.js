// Time that stands still until somebody moves it: by steps, to what is due next, to a moment.

import { html, nothing } from "../../vendor/lit-html.js";
import { exactMoment, isoDay } from "../../lib/moments.js";
import { secondsOfDay, timeText } from "../../lib/time_of_day.js";
import { t } from "../../lib/words.js";
import { dayOf, momentOf, secondOfDay } from "../../lib/zone.js";

/** @import { Bench } from "./bench.js" */

/** @type {[number, string][]} */
const STEPS = [
  [1, "step_second"],
  [60, "step_minute"],
  [3600, "step_hour"],
  [86400, "step_day"],
];

// "2026-01-31 18:30": as it is typed, in every language.
/** @param {number} seconds */
function momentText(seconds) {
  const minute = Math.floor(secondOfDay(seconds) / 60);
  return `${isoDay(dayOf(seconds))} ${timeText(minute * 60)}`;
}

// Seconds since 1970; null where it is no moment.
/** @param {string} text */
function secondsOfMoment(text) {
  const [, year, month, day, time = ""] =
    /^(\d{4})-(\d{1,2})-(\d{1,2})[ T]+(.+)$/.exec(text.trim()) ?? [];
  const second = secondsOfDay(time);
  if (second === null) return null;
  const midnight = Date.UTC(Number(year), Number(month) - 1, Number(day)) / 1000;
  return momentOf(midnight + second);
}

export class Passing {
  #context;
  #bench;
  // Begins as the present moment.
  /** @type {string | null} */
  #wanted = null;
  #busy = false;
  /** @type {string | null} */
  #problem = null;

  /** @param {AdminContext} context @param {Bench} bench */
  constructor(context, bench) {
    this.#context = context;
    this.#bench = bench;
  }

  view() {
    const { virtual_time: isVirtual, time } = this.#bench.report;
    return html`<section class="card">
      <h2>${t("time_title")}</h2>
      <p class="moment">${exactMoment(time)}</p>
      ${isVirtual ? this.#ways() : html`<p class="note">${t("time_real")}</p>`}
      ${this.#problem ? html`<p class="refusal" role="alert">${this.#problem}</p>` : nothing}
    </section>`;
  }

  #ways() {
    const { due } = this.#bench.report;
    return html`<div class="time-steps">
        ${STEPS.map(
          ([seconds, key]) => html`<button
            type="button"
            ?disabled=${this.#busy}
            @click=${() => this.#advance(String(seconds))}
          >
            ${t(key)}
          </button>`,
        )}
        <button
          type="button"
          ?disabled=${this.#busy || due === null}
          @click=${() => this.#advance("next")}
        >
          ${t("next_due")}
        </button>
      </div>
      <p class="note">
        ${due === null ? t("nothing_due") : t("due_at", { time: exactMoment(due) })}
      </p>
      ${this.#toMoment()}`;
  }

  #toMoment() {
    return html`<form class="line" @submit=${(event) => this.#go(event)}>
      <label class="field">
        ${t("to_moment")}
        <input
          autocomplete="off"
          .value=${this.#wanted ?? momentText(this.#bench.report.time)}
          @input=${(event) => this.#type(event.target.value)}
        />
      </label>
      <button ?disabled=${this.#busy || this.#wanted === null}>${t("go")}</button>
    </form>`;
  }

  /** @param {string} wanted */
  #type(wanted) {
    this.#wanted = wanted;
    this.#problem = null;
    this.#context.redraw();
  }

  /** @param {Event} event */
  #go(event) {
    event.preventDefault();
    const until = secondsOfMoment(this.#wanted ?? "");
    const seconds = until === null ? NaN : until - this.#bench.report.time;
    if (seconds >= 0) {
      this.#wanted = null;
      return this.#advance(String(seconds));
    }
    this.#problem = t(until === null ? "wrong_moment" : "in_the_past");
    return this.#context.redraw();
  }

  /** @param {string} step */
  async #advance(step) {
    this.#busy = true;
    this.#context.redraw();
    this.#problem = await this.#bench.send(["advance", step]);
    this.#busy = false;
    this.#context.redraw();
  }
}
