// An entry of the schedule as a form: what, when, and on which days.

import { html, nothing } from "../../vendor/lit-html.js";
import { DraftForm } from "../../lib/draft_form.js";
import { PLACES, rich } from "../../lib/rich.js";
import { thingName } from "../../lib/things.js";
import { isSame } from "../../lib/tree.js";
import { t } from "../../lib/words.js";
import { WEEKDAYS } from "./entry.js";
import { dayName, entrySentence } from "./sentences.js";

/** @import { EntryDraft, TypedEntry } from "./entry.js" */
/**
 * @typedef {object} Surroundings
 * @property {(request: CommandRequest) => Promise<void>} send
 * @property {(draft: EntryDraft) => CommandRequest} request
 * @property {() => void} left
 */

const SWITCHED = /^(OUT|PWM|EVENT)\d$|^COUNT /;
const KINDS = ["days", "date", "period"];

/** @extends {DraftForm<EntryDraft>} */
export class EntryEditor extends DraftForm {
  // Those that have a line whatever the kind.
  letters = ["B", "C"];
  #request;
  #send;

  // `send(request)` stores the schedule; `request(draft)` is the schedule with the entry.
  /** @param {AdminContext} context @param {EntryDraft} draft @param {Surroundings} surroundings */
  constructor(context, draft, { send, request, left }) {
    super(context, draft, left);
    this.#send = send;
    this.#request = request;
  }

  get hasProblem() {
    return Object.keys(this.draft.problems()).length > 0;
  }

  send() {
    return this.#send(this.#request(this.draft));
  }

  /** @param {keyof TypedEntry} name @param {string | boolean | string[]} typed */
  #type(name, typed) {
    this.draft.type(name, typed);
    this.touched();
  }

  // What stands beside a field: a refusal, or what must be mended before it can be sent.
  /** @param {string} letter */
  #problem(letter) {
    const found = this.tried ? this.draft.problems()[letter] : undefined;
    if (found === "missing_date") return t("missing_date");
    return this.refusal(letter) ?? (found === "missing_days" ? t("missing_days") : found);
  }

  view() {
    const { draft } = this;
    return html`<form
      id="edit-entry-${draft.index}"
      class="card rule editing"
      novalidate
      ?data-changed=${draft.isChanged}
      @submit=${(event) => this.submitted(event)}
      @keydown=${(event) => this.pressed(event)}
    >
      <h2>${draft.isNew ? t("new_entry") : draft.typed.name || t("unnamed")}</h2>
      ${this.#conflict()}
      <div class="lines">
        ${this.#line(rich(t("line_name", PLACES), { name: this.#name() }), "B")}
        ${this.#line(
          rich(t("line_effect", PLACES), { action: this.#action(), value: this.#value() }),
          "C",
        )}
        ${this.#line(rich(t("line_kind", PLACES), { kind: this.#kind() }))} ${this.#when()}
      </div>
      ${this.refusalView}
      ${this.#footer()}
    </form>`;
  }

  // Somebody else changed it meanwhile: what is stored stands beside what is typed.
  #conflict() {
    const { draft, context } = this;
    const now = context.settings.schedule[draft.index];
    if (draft.isNew || isSame(now, draft.saved)) return nothing;
    return html`<p class="note" role="status">
      ${t("changed_elsewhere")} ${now ? entrySentence(now, context) : ""}
    </p>`;
  }

  /** @param {Template} content @param {string} [letter] */
  #line(content, letter) {
    const problem = letter && this.#problem(letter);
    return html`<div class="line">${content}</div>
      ${problem ? html`<p class="wrong" role="alert">${problem}</p>` : nothing}`;
  }

  /**
   * @param {"name" | "time" | "period" | "date"} name
   * @param {string} label
   * @param {string} type
   * @param {Partial<Record<"class" | "step" | "inputmode", string>>} [extra]
   */
  #input(name, label, type, extra = {}) {
    return html`<input
      class=${extra.class ?? "blank"}
      type=${type}
      step=${extra.step ?? nothing}
      inputmode=${extra.inputmode ?? nothing}
      aria-label=${label}
      autocomplete="off"
      .value=${this.draft.typed[name]}
      @input=${(event) => this.#type(name, event.target.value)}
    />`;
  }

  #name() {
    return this.#input("name", t("entry_name"), "text", { class: "called" });
  }

  /**
   * @param {"kind" | "action" | "value"} name
   * @param {string} label
   * @param {[string, string][]} options
   */
  #select(name, label, options) {
    const typed = this.draft.typed[name];
    return html`<select
      class="blank"
      aria-label=${label}
      @change=${(event) => this.#type(name, event.target.value)}
    >
      ${options.map(
        ([word, shown]) =>
          html`<option value=${word} .selected=${word === typed}>${shown}</option>`,
      )}
    </select>`;
  }

  #action() {
    /** @type {[string, string][]} */
    const options = this.draft.actions.map(([word, shown]) => [
      word,
      word === shown ? thingName(this.context, word) : shown,
    ]);
    return this.#select("action", t("entry_action"), options);
  }

  #value() {
    if (!SWITCHED.test(this.draft.typed.action)) return nothing;
    /** @type {[string, string][]} */
    const options = this.draft.values.map((value) => [value, t(`value_${value}`)]);
    return this.#select("value", t("entry_value"), options);
  }

  #kind() {
    return this.#select(
      "kind",
      t("repeats"),
      KINDS.map((kind) => [kind, t(`kind_${kind}`)]),
    );
  }

  // Seconds are shown where the entry has them: most people set minutes.
  get #step() {
    return /:00$/.test(this.draft.typed.time) ? "60" : "1";
  }

  #when() {
    const { kind } = this.draft.typed;
    const time = this.#input("time", t("time_of_day"), "time", { step: this.#step });
    if (kind === "date") {
      const date = this.#input("date", t("date"), "date");
      return this.#line(rich(t("line_date", PLACES), { date, time }), "F");
    }
    if (kind === "days") {
      return html`${this.#line(rich(t("line_time", PLACES), { time }), "E")}
        ${this.#line(this.#days(), "G")}`;
    }
    const number = { class: "blank number", inputmode: "decimal" };
    const period = this.#input("period", t("period"), "text", number);
    return html`${this.#line(rich(t("line_period", PLACES), { period }), "E")}
      ${this.#line(this.#days(), "G")}`;
  }

  #days() {
    const { days } = this.draft.typed;
    /** @param {string} day */
    const turned = (day) =>
      WEEKDAYS.filter((one) => days.includes(one) !== (one === day));
    return html`<div class="days" role="group" aria-label=${t("weekdays")}>
      ${WEEKDAYS.map(
        (day) =>
          html`<button
            type="button"
            aria-pressed=${days.includes(day) ? "true" : "false"}
            @click=${() => this.#type("days", turned(day))}
          >
            ${dayName(day)}
          </button>`,
      )}
    </div>`;
  }

  #footer() {
    const idle = this.saving || !this.draft.isChanged;
    return html`<footer>
      <button class="primary" ?disabled=${idle}>${this.saving ? t("saving") : t("save")}</button>
      <button type="button" @click=${() => this.leave()}>${t("cancel")}</button>
      ${this.requestView(this.hasProblem ? null : this.#request(this.draft))}
    </footer>`;
  }
}
