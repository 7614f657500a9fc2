// An entry of the schedule as a form: what, when, and on which days.

import { html, nothing } from "../../vendor/lit-html.js";
import { PLACES, rich, t } from "../../lib/format/words.js";
import { optionsOf, timeType } from "../../lib/forms/controls.js";
import { bothTexts, DraftForm, foreignNote } from "../../lib/forms/draft_form.js";
import { isSame } from "../../lib/live/tree.js";
import { icon } from "../../lib/things/signs.js";
import { codeName } from "../../lib/things/things.js";
import { dayName, entrySentence, NAMED_DAYS, WEEKDAYS } from "./entry.js";

/** @import { EntryDraft, TypedEntry } from "./entry.js" */

/**
 * @typedef {object} Surroundings
 * @property {(request: CommandRequest) => Promise<void>} send
 * @property {(draft: EntryDraft) => CommandRequest} request
 * @property {() => void} left
 */

const SWITCHED = /^(OUT|PWM|EVENT)\d$|^COUNT /;
const KINDS = ["days", "date", "period"];
// Problems with texts of this page.
const KEYS = ["missing_date", "missing_days", "wrong_time", "same_time", "no_place_for_end"];
const USUAL_END = "20:00";

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

  /** @param {keyof TypedEntry} name @param {string | boolean | string[] | null} typed */
  #type(name, typed) {
    this.draft.type(name, typed);
    this.onEdit();
  }

  // The problem beside a field: a refusal, or what prevents sending.
  /** @param {string} letter */
  #problem(letter) {
    const found = this.tried ? this.draft.problems()[letter] : undefined;
    return this.refusal(letter) ?? (found && KEYS.includes(found) ? t(found) : found);
  }

  view() {
    const { draft } = this;
    return html`<form
      id="edit-entry-${draft.index}"
      class="card rule editing"
      novalidate
      ?data-changed=${draft.isChanged}
      @submit=${(event) => this.onSubmit(event)}
      @keydown=${(event) => this.onKeydown(event)}
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

  // Changed elsewhere: the stored values are shown beside the typed ones.
  #conflict() {
    const { draft, context } = this;
    const { schedule } = context.settings;
    const { place, entry } = draft.ending;
    const now = schedule[draft.index];
    const end = place === null || !entry ? null : schedule[place];
    const { saved } = draft;
    if (saved === null || (isSame(now, saved) && isSame(end, entry))) return nothing;
    const textOf = (/** @type {Api.ScheduleEntry} */ one) =>
      entrySentence(one, context, one === saved ? entry : end);
    const path = `schedule.${draft.index}`;
    return foreignNote(t("changed_elsewhere"), bothTexts(context, path, saved, now, textOf));
  }

  /** @param {Template} content @param {string[]} letters */
  #line(content, ...letters) {
    const problems = letters.map((letter) => this.#problem(letter)).filter(Boolean);
    return html`<div class="line">${content}</div>
      ${problems.map((problem) => html`<p class="wrong" role="alert">${problem}</p>`)}`;
  }

  /**
   * @param {"name" | "time" | "until" | "period" | "date"} name
   * @param {string} label
   * @param {"text" | "date" | "time"} [type]
   * @param {string} [look]
   */
  #input(name, label, type = "text", look = "blank") {
    return html`<input
      class=${look}
      type=${type}
      step=${type === "time" ? 1 : nothing}
      aria-label=${label}
      autocomplete="off"
      .value=${this.draft.typed[name]}
      @input=${(event) => this.#type(name, event.target.value)}
    />`;
  }

  #name() {
    return this.#input("name", t("entry_name"), "text", "called");
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
      ${optionsOf(options, typed)}
    </select>`;
  }

  #action() {
    /** @type {[string, string][]} */
    const options = this.draft.actions.map(([word]) => [word, codeName(this.context, word)]);
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

  #when() {
    const { kind } = this.draft.typed;
    const time = this.#input("time", t("time_of_day"), timeType());
    if (kind === "date") {
      const date = this.#input("date", t("date"), "date");
      return this.#line(rich(t("line_date", PLACES), { date, time }), "F", "E");
    }
    if (kind === "days") {
      return html`${this.#line(rich(t("line_time", PLACES), { time }), "E")} ${this.#ending()}
        ${this.#line(this.#usualDays())} ${this.#line(this.#days(), "G")}`;
    }
    const period = this.#input("period", t("period"));
    return html`${this.#line(rich(t("line_period", PLACES), { period }), "E")}
      ${this.#line(this.#usualDays())} ${this.#line(this.#days(), "G")}`;
  }

  // The end of a span: both entries are written together.
  #ending() {
    const { draft } = this;
    if (!draft.canEnd) return nothing;
    /** @param {string | null} text @param {Template} content @param {string} [label] */
    const setter = (text, content, label) =>
      html`<button
        type="button"
        class="bare"
        aria-label=${label ?? nothing}
        @click=${() => this.#type("until", text)}
      >
        ${content}
      </button>`;
    if (draft.typed.until === null) {
      return this.#line(setter(USUAL_END, html`${icon("plus", "s")} ${t("add_until")}`));
    }
    const until = this.#input("until", t("until"), timeType());
    const remove = setter(null, icon("close", "s"), t("remove_until"));
    return this.#line([rich(t("line_until", PLACES), { until }), remove], "U");
  }

  // "on weekdays", "at the weekend": what most entries need in one press.
  #usualDays() {
    const { days } = this.draft.typed;
    return html`<div class="usual" role="group" aria-label=${t("usual_days")}>
      ${NAMED_DAYS.map(
        ([key, some]) =>
          html`<button
            type="button"
            aria-pressed=${String(some) === String(days) ? "true" : "false"}
            @click=${() => this.#type("days", some)}
          >
            ${t(key)}
          </button>`,
      )}
    </div>`;
  }

  #days() {
    const { days } = this.draft.typed;
    /** @param {string} day */
    const toggleDay = (day) =>
      WEEKDAYS.filter((one) => days.includes(one) !== (one === day));
    return html`<div class="days" role="group" aria-label=${t("weekdays")}>
      ${WEEKDAYS.map(
        (day) =>
          html`<button
            type="button"
            aria-pressed=${days.includes(day) ? "true" : "false"}
            @click=${() => this.#type("days", toggleDay(day))}
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
