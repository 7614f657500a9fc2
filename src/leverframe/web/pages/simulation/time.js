// The time of the test bench: to move it, to ask what came, to keep and restore it.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { exactMoment } from "../../lib/format/moments.js";
import { momentText, secondsOfMoment } from "../../lib/format/typed_moment.js";
import { t, text } from "../../lib/format/words.js";
import { Task } from "../../lib/forms/task.js";
import * as api from "../../lib/live/api.js";

/** @import { Bench } from "./bench.js" */

// Time that stands still until it is moved: by steps, to the next due event, to a moment.

/** @type {[number, string][]} */
const STEPS = [
  [1, "step_second"],
  [60, "step_minute"],
  [3600, "step_hour"],
  [86400, "step_day"],
];

export class Passing {
  #bench;
  // Begins as the present moment.
  /** @type {Signal<string | null>} */
  #wanted = signal(null);
  #task = new Task();

  /** @param {Bench} bench */
  constructor(bench) {
    this.#bench = bench;
  }

  view() {
    const { virtual_time: isVirtual, time } = this.#bench.report;
    return html`<section class="card">
      <h2>${t("time_title")}</h2>
      <p class="moment">${exactMoment(time)}</p>
      ${isVirtual ? this.#ways() : html`<p class="note">${t("time_real")}</p>`} ${this.#task.view()}
    </section>`;
  }

  #ways() {
    const { due } = this.#bench.report;
    return html`<div class="time-steps">
        ${STEPS.map(
          ([seconds, key]) =>
            html`<button
              type="button"
              ?disabled=${this.#task.isBusy}
              @click=${() => this.#advance(String(seconds))}
            >
              ${t(key)}
            </button>`,
        )}
        <button
          type="button"
          ?disabled=${this.#task.isBusy || due === null}
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
          .value=${this.#wanted.value ?? momentText(this.#bench.report.time)}
          @input=${(event) => this.#type(event.target.value)}
        />
      </label>
      <button ?disabled=${this.#task.isBusy || this.#wanted.value === null}>${t("go")}</button>
    </form>`;
  }

  /** @param {string} wanted */
  #type(wanted) {
    this.#wanted.value = wanted;
    this.#task.forget();
  }

  /** @param {Event} event */
  #go(event) {
    event.preventDefault();
    const until = secondsOfMoment(this.#wanted.value ?? "");
    const seconds = until === null ? NaN : until - this.#bench.report.time;
    if (seconds >= 0) {
      this.#wanted.value = null;
      return this.#advance(String(seconds));
    }
    return this.#task.say(t(until === null ? "wrong_moment" : "in_the_past"));
  }

  /** @param {string} step */
  #advance(step) {
    return this.#task.run(() => this.#bench.send(["advance", step]));
  }
}

// A few fields and a button: what they make of what was typed goes to the test bench.
//
//   new Ask(bench, {
//     button: "key",
//     fields: [{ name: "host", label: "key", initial: "router" }],
//     items: ({ host }) => [["ping", host]],
//   })

/** @typedef {{ name: string, label: Named, initial?: string, most?: () => number }} AskField */
/**
 * @typedef {object} AskSpec
 * @property {Named} button
 * @property {AskField[]} fields
 * @property {(typed: Record<string, string>) => BenchItem[]} items
 * @property {boolean} [isEmptiedAfter]
 */

export class Ask {
  #bench;
  #spec;
  /** @type {Signal<Record<string, string>>} */
  #typed = signal({});
  #task = new Task();
  #done = signal(false);

  /** @param {Bench} bench @param {AskSpec} spec */
  constructor(bench, spec) {
    this.#bench = bench;
    this.#spec = spec;
    this.#begin();
  }

  #begin() {
    this.#typed.value = Object.fromEntries(
      this.#spec.fields.map(({ name, initial = "" }) => [name, initial]),
    );
  }

  view() {
    const { fields, button } = this.#spec;
    return html`<form class="ask" @submit=${(event) => this.#submit(event)}>
      ${fields.map((field) => this.#field(field))}
      <footer>
        <button class="primary">${text(button)}</button>
        <span class="saved" role="status">${this.#done.value ? t("done") : ""}</span>
      </footer>
      ${this.#task.view()}
    </form>`;
  }

  /** @param {AskField} field */
  #field({ name, label, most }) {
    return html`<div class="field">
      <label for="ask-${name}">${text(label)}</label>
      <input
        id="ask-${name}"
        required
        autocomplete="off"
        maxlength=${most?.() ?? nothing}
        .value=${this.#typed.value[name]}
        @input=${(event) => this.#type(name, event.target.value)}
      />
    </div>`;
  }

  /** @param {string} name @param {string} typed */
  #type(name, typed) {
    this.#typed.value = { ...this.#typed.value, [name]: typed };
    this.#task.forget();
    this.#done.value = false;
  }

  /** @param {Event} event */
  async #submit(event) {
    event.preventDefault();
    const items = this.#spec.items(this.#typed.value);
    this.#done.value = await this.#task.run(() => this.#bench.send(...items));
    if (this.#done.value && this.#spec.isEmptiedAfter) this.#begin();
  }
}

// Snapshots: moments of the whole controller that it can go back to, in virtual time.

export class Snapshots {
  #bench;
  /** @type {Signal<BenchSnapshot[]>} */
  #taken = signal([]);
  #name = signal("");
  #task = new Task();

  /** @param {Bench} bench */
  constructor(bench) {
    this.#bench = bench;
  }

  async read() {
    this.#taken.value = await api.snapshots();
  }

  view() {
    return html`<section class="card">
      <h2>${t("snapshots_title")}</h2>
      <p class="note">${t(this.#bench.report.virtual_time ? "snapshots_note" : "time_real")}</p>
      ${this.#bench.report.virtual_time ? this.#ways() : nothing} ${this.#task.view()}
    </section>`;
  }

  #ways() {
    return html`<ul class="wired">
        ${this.#taken.value.map((one) => this.#row(one))}
      </ul>
      <form class="line" @submit=${(event) => this.#take(event)}>
        <label class="field">
          ${t("snapshot_name")}
          <input
            required
            autocomplete="off"
            maxlength="40"
            .value=${this.#name.value}
            @input=${(event) => (this.#name.value = event.target.value)}
          />
        </label>
        <button class="primary">${t("take_snapshot")}</button>
      </form>`;
  }

  /** @param {BenchSnapshot} one */
  #row({ name, time }) {
    return html`<li class="pin">
      <span class="name">${name} <small>${exactMoment(time)}</small></span>
      <button type="button" @click=${() => this.#send("restore", name)}>
        ${t("go_back", { name })}
      </button>
      <button type="button" @click=${() => this.#send("delete", name)}>
        ${t("delete_snapshot", { name })}
      </button>
    </li>`;
  }

  /** @param {Event} event */
  async #take(event) {
    event.preventDefault();
    if (await this.#send("take", this.#name.value.trim())) this.#name.value = "";
  }

  /** @param {string} what @param {string} name */
  async #send(what, name) {
    const isDone = await this.#task.run(() => this.#bench.post(api.snapshotTarget(what, name)));
    await this.read().catch(() => {});
    return isDone;
  }
}
