// A rule as a sentence with blanks: only sources, comparisons and actions that the version has.
// Behind each condition stands whether it holds; beside the sentence, what it would have done.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { timeText } from "../../lib/format/moments.js";
import { setText } from "../../lib/format/numbers.js";
import { PLACES, rich, t } from "../../lib/format/words.js";
import { secondOfDay, weekdayOf } from "../../lib/format/zone.js";
import { bothTexts, DraftForm, foreignNote } from "../../lib/forms/draft_form.js";
import { address } from "../../lib/frame/router.js";
import * as api from "../../lib/live/api.js";
import { isSame, numberRules } from "../../lib/live/tree.js";
import { isState } from "../../lib/things/labels.js";
import { icon } from "../../lib/things/signs.js";
import { thingName } from "../../lib/things/things.js";
import { WEEKDAYS } from "../schedule/entry.js";
import {
  actionBlank,
  conditionBlanks,
  delayBlank,
  dependsBlank,
  FIRST,
  LABELS,
  lastingBlank,
  modeBlank,
  operatorBlank,
  SECOND,
  valueBlank,
  windowBlanks,
} from "./blanks.js";
import { MESSAGE } from "./draft.js";
import { messageBlank, messageNote } from "./message_view.js";
import { channelOf } from "./messages.js";
import {
  conditionText,
  effectOf,
  isPulse,
  isSwitched,
  present,
  shortSentence,
  truth,
} from "./sentence.js";
import { Trial } from "./trial.js";
import { FIELDS, IMMEDIATELY } from "./typed.js";
import { dependentsOf, isWithin, windowName } from "./window.js";

/** @import { ConditionFields } from "./blanks.js" */
/** @import { Draft, Part } from "./draft.js" */
/** @import { Condition, Member } from "./sentence.js" */
/** @import { TypedRule } from "./typed.js" */

/**
 * @typedef {object} Surroundings
 * @property {() => Record<string, string>} names
 * @property {() => void} left
 * @property {() => void} duplicate
 * @property {(by: -1 | 1) => void} move
 * @property {() => void} remove
 * @property {() => Template} [notes]
 */

/** @extends {DraftForm<Draft>} */
export class Editor extends DraftForm {
  letters = [...Object.keys(FIELDS), "name", "hours", ...Object.keys(MESSAGE)];
  #surroundings;
  #trial;
  // What is asked before it is done: that others depend on it.
  /** @type {Signal<{ text: string, label: string, act: () => void } | null>} */
  #question = signal(null);
  // What the page wrote into the message; null from when the user has written there.
  /** @type {string | null} */
  #suggested = "";
  // Whether the text for the end has a line, though there is none yet.
  #hasAfter = signal(false);

  // `names()` are the other rules by number.
  /** @param {AdminContext} context @param {Draft} draft @param {Surroundings} surroundings */
  constructor(context, draft, surroundings) {
    super(context, draft, surroundings.left);
    this.#surroundings = surroundings;
    this.#suggest();
    this.#trial = new Trial(context, draft);
  }

  // A message without a text says what the rule looks at.
  #suggest() {
    const { typed } = this.draft;
    if (!channelOf(typed.action) || typed.message.after) return;
    if (typed.message.says !== this.#suggested) return;
    const { source: label } = typed;
    const condition = { ...this.draft.condition, hysteresis: 0 };
    if (Number.isNaN(condition.reference)) return;
    this.#suggested = conditionText(this.context, { label, ...condition });
    this.draft.suggest(this.#suggested);
  }

  get settings() {
    return this.context.settings;
  }

  /** @param {string} letter */
  id(letter) {
    return `rule-${this.draft.index}-${letter}`;
  }

  /** @param {string} label */
  unit(label) {
    return setText(this.context, label, 0).replace(/^0\s*/, "");
  }

  /** @param {keyof TypedRule} name @param {string | boolean | string[]} typed */
  change(name, typed) {
    this.draft.type(name, typed);
    this.#suggest();
    this.#follow();
  }

  /** @param {Part} part @param {string} text */
  changeMessage(part, text) {
    if (part === "says") this.#suggested = null;
    this.draft.typeMessage(part, text);
    this.#follow();
  }

  #follow() {
    this.#trial.follow();
    this.#question.value = null;
    this.onEdit();
  }

  drop() {
    this.#trial.close();
    super.drop();
  }

  // What is wrong with a field: what the controller refused, or what cannot be sent.
  /** @param {string} letter */
  problem(letter) {
    const isOurs = letter.length > 1;
    const wrong = (isOurs || this.draft.has(letter)) && this.tried && this.draft.problem(letter);
    return this.refusal(letter) ?? (wrong ? (letter === "hours" ? t(wrong) : wrong) : null);
  }

  get isChanged() {
    return this.draft.isTyped;
  }

  get hasProblem() {
    return this.draft.problems.length > 0;
  }

  async send(enable = false) {
    const draft = this.#overStored;
    // The same may have been stored elsewhere.
    if (draft.items(enable).length > 0) await api.send(draft.request(enable).target);
    await this.#nameWindow(draft.windowLabel);
    await this.context.readSettings();
  }

  get #overStored() {
    return this.draft.over(this.settings);
  }

  // The variable of a window is named by its hours; a name given by the user stays.
  /** @param {string | null} label */
  async #nameWindow(label) {
    const index = Number(label?.at(-1)) - 1;
    const { hours } = this.draft;
    if (!label || !hours || this.settings.event_variables[index]?.name) return;
    const command = this.context.commands.get("eventname");
    await api.send(command.request({ A: index, B: windowName(hours) }).target);
  }

  // A change of what others depend on is asked about first.
  /** @param {ControlEvent} event */
  async onSubmit(event) {
    const others = this.#dependents();
    if (others.length === 0 || this.hasProblem) {
      await super.onSubmit(event);
      return;
    }
    event.preventDefault();
    this.ask("change_dependents", others, t("save"), () => this.save());
  }

  #dependents() {
    if (this.draft.isNew || !this.settings.rules[this.draft.index]) return [];
    const names = this.#surroundings.names();
    return dependentsOf(this.settings, this.draft.index).map((one) => names[one + 1]);
  }

  /** @param {string} key @param {string[]} others @param {string} label @param {() => void} act */
  ask(key, others, label, act) {
    this.#question.value = { text: t(key, { rules: others.join(", ") }), label, act };
  }

  #remove() {
    const others = this.#dependents();
    const { remove } = this.#surroundings;
    if (others.length === 0) remove();
    else this.ask("delete_dependents", others, t("delete"), remove);
  }

  view() {
    const { draft } = this;
    return html`<form
      class="editor"
      novalidate
      ?data-changed=${draft.isChanged}
      aria-label=${draft.typed.name || t("rule_number", { number: draft.index + 1 })}
      @submit=${(event) => this.onSubmit(event)}
      @keydown=${(event) => this.onKeydown(event)}
    >
      <div class="words">
        ${this.#nameField()} ${this.#conflict()}
        <div class="lines">
          ${this.#condition(FIRST, t("line_first", PLACES), t("line_first_level", PLACES))}
          ${this.#secondLine()} ${this.#effectLines()}
        </div>
        ${this.#explanationView()} ${this.#surroundings.notes?.() ?? nothing} ${this.#further()}
      </div>
      ${this.#trial.view()}
      <div class="acts">${this.refusalView} ${this.#asking()} ${this.#footer()}</div>
    </form>`;
  }

  #nameField() {
    const problem = this.problem("name");
    return html`<label class="field naming" for=${this.id("name")}>
        ${t("name")}
        <input
          id=${this.id("name")}
          autocomplete="off"
          maxlength="60"
          aria-invalid=${problem ? "true" : "false"}
          .value=${this.draft.typed.name}
          @input=${(event) => this.change("name", event.target.value)}
        />
      </label>
      ${problem ? html`<p class="wrong" role="alert">${problem}</p>` : nothing}`;
  }

  // The rule was changed or moved elsewhere while being edited: shows both versions.
  #conflict() {
    const { draft } = this;
    const now = this.settings.rules[draft.index];
    if (draft.known === null || isSame(now, draft.known)) return nothing;
    const textOf = (/** @type {Rule} */ rule) => shortSentence(this.context, rule);
    const path = `rules.${draft.index}`;
    return foreignNote(
      t(draft.isNew ? "deleted_elsewhere" : "changed_elsewhere"),
      bothTexts(this.context, path, draft.known, now, textOf),
    );
  }

  /** @param {ConditionFields} fields @param {string} text @param {string} levelText */
  #condition(fields, text, levelText) {
    const { source, hysteresis } = fields;
    const label = this.draft.typed[source[1]];
    const letters = Object.values(fields).map(([letter]) => letter);
    const result = holdsNow(this.context.live.state, this.draft.index + 1, {
      label,
      ...this.draft.conditionOf(hysteresis[0]),
    });
    const blanks = conditionBlanks(this, fields);
    const line = rich(isState(label) ? levelText : text, blanks);
    return this.#line([line, truth(present(this.context, label), result)], letters);
  }

  #secondLine() {
    const { typed } = this.draft;
    if (typed.window) return this.#windowLine();
    if (typed.operator === "-") {
      return html`<div class="line adders">
        ${this.#adder("condition", () => this.change("operator", "AND"))}
        ${this.context.commands.find("schedset")
          ? this.#adder("time", () => this.change("window", "in"))
          : nothing}
      </div>`;
    }
    return html`${this.#line([operatorBlank(this)])}
    ${this.#condition(SECOND, t("line_second", PLACES), t("line_second_level", PLACES))}`;
  }

  /** @param {string} key @param {() => void} act */
  #adder(key, act) {
    return html`<button type="button" class="bare" @click=${act}>
      ${icon("plus", "s")} ${t(`add_${key}`)}
    </button>`;
  }

  #windowLine() {
    const line = rich(t("line_window", PLACES), windowBlanks(this));
    const { hours } = this.draft;
    const { time } = this.context.live.state;
    const minute = Math.floor(secondOfDay(time) / 60);
    const isInside = hours && isWithin(hours, minute * 60, WEEKDAYS[weekdayOf(time)]);
    const result = isInside !== null && isInside === (this.draft.typed.window === "in");
    return this.#line(
      [
        line,
        truth(timeText(minute * 60), result),
        html`<button
          type="button"
          class="bare"
          aria-label=${t("remove_window")}
          @click=${() => this.change("window", "")}
        >
          ${icon("close", "s")}
        </button>`,
      ],
      ["hours"],
    );
  }

  // What is made behind the scenes, and what a message still lacks.
  #explanationView() {
    const label = this.draft.windowLabel;
    const window = label
      ? html`<p class="aside">
          ${t("window_kept", { label: thingName(this.context, label) })}
          <a href=${address("schedule")}>${t("page_schedule")}</a>
        </p>`
      : nothing;
    return html`${messageNote(this.context, this.draft)} ${window}`;
  }

  #effectLines() {
    const { typed } = this.draft;
    if (channelOf(typed.action)) return this.#messageLines();
    const switched = isSwitched(typed.action);
    /** @type {Record<string, Template>} */
    const parts = {
      action: actionBlank(this),
      value: switched ? valueBlank(this) : nothing,
      delay: delayBlank(this, "N", "on_delay"),
    };
    const met = !switched
      ? t("line_do", PLACES)
      : this.draft.has("N")
        ? t(typed.on_delay === IMMEDIATELY ? "line_met_now" : "line_met_after", PLACES)
        : t("line_met", PLACES);
    return html`${this.#line(rich(met, parts), ["G", "M", "N"])}
    ${switched ? this.#ceasing() : isPulse(typed.action) ? this.#lasting() : nothing}`;
  }

  // The text for the end has a line of its own, which most messages do not need.
  #messageLines() {
    const says = messageBlank(this, "says");
    const to = messageBlank(this, "to");
    const line = rich(t("line_message", PLACES), { action: actionBlank(this), says, to });
    const hasAfter = this.#hasAfter.value || this.draft.typed.message.after !== "";
    const after = hasAfter
      ? this.#line(rich(t("line_after", PLACES), { after: messageBlank(this, "after") }), ["after"])
      : html`<div class="line adders">
          ${this.#adder("after", () => (this.#hasAfter.value = true))}
        </div>`;
    return html`${this.#line(line, ["G", "says", "to"])} ${after}`;
  }

  #lasting() {
    return this.#line(rich(t("line_pulse", PLACES), { delay: lastingBlank(this) }), ["L"]);
  }

  #ceasing() {
    const { action, value, off_delay: wait } = this.draft.typed;
    const delay = delayBlank(this, "L", "off_delay");
    const effect = effectOf(this.context, action, value === "2" ? 2 : 1 - Number(value));
    const line = t(wait === IMMEDIATELY ? "line_ceasing_now" : "line_ceasing", PLACES);
    return this.#line(rich(line, { delay, effect }), ["L"]);
  }

  // What most rules do not need; open where this one has it.
  #further() {
    const { draft } = this;
    const { depends, mode, permanent } = draft.typed;
    const isUsed = depends !== "0" || mode !== "0" || permanent;
    if (!draft.has("O") && !draft.has("P") && !this.context.commands.find("eventper")) {
      return nothing;
    }
    const dependsPart = { depends: dependsBlank(this, this.#surroundings.names()) };
    return html`<details class="further" ?open=${isUsed}>
      <summary>${t("further")}</summary>
      <div class="lines">
        ${draft.has("O")
          ? this.#line(rich(t("line_depends", PLACES), dependsPart), ["O"])
          : nothing}
        ${draft.has("P")
          ? this.#line(rich(t("line_mode", PLACES), { mode: modeBlank(this) }), ["P"])
          : nothing}
        ${this.#permanent()}
      </div>
    </details>`;
  }

  #permanent() {
    if (!this.context.commands.find("eventper")) return nothing;
    return html`<label class="toggle line">
      <input
        type="checkbox"
        .checked=${this.draft.typed.permanent}
        @change=${(event) => this.change("permanent", event.target.checked)}
      />
      <span>${t("permanent")}</span>
    </label>`;
  }

  /** @param {Template} content @param {string[]} [letters] */
  #line(content, letters = []) {
    const wrong = letters.filter((letter) => this.problem(letter));
    return html`<div class="line">${content}</div>
      ${wrong.map(
        (letter) =>
          html`<p class="wrong" role="alert" id="${this.id(letter)}-wrong">
            ${letter in LABELS ? `${t(LABELS[letter])}: ` : ""}${this.problem(letter)}
          </p>`,
      )}`;
  }

  #asking() {
    const question = this.#question.value;
    if (!question) return nothing;
    return html`<div class="question" role="group" aria-label=${question.label}>
      <p>${question.text}</p>
      <footer>
        <button type="button" class="danger" @click=${question.act}>${question.label}</button>
        <button type="button" @click=${() => (this.#question.value = null)}>${t("cancel")}</button>
      </footer>
    </div>`;
  }

  #footer() {
    const { draft } = this;
    const idle = this.saving || !draft.isChanged;
    const { changes } = draft;
    return html`<footer>
      ${draft.isNew ? this.#enabler(idle) : nothing}
      <button class=${draft.isNew ? "" : "primary"} ?disabled=${idle}>
        ${this.saving ? t("saving") : draft.isNew ? t("save_disabled") : t("save")}
      </button>
      ${draft.isNew || !draft.isChanged
        ? html`<button type="button" @click=${() => this.leave()}>${t("cancel")}</button>`
        : html`<button type="button" @click=${() => this.restore()}>${t("discard")}</button>`}
      ${!draft.isNew && changes
        ? html`<small>${t("blanks_changed", { count: changes })}</small>`
        : nothing}
      <span class="rest">
        ${draft.isNew
          ? nothing
          : html`${this.#mover("move_up", -1)} ${this.#mover("move_down", 1)}
              <button type="button" class="bare" @click=${this.#surroundings.duplicate}>
                ${t("duplicate")}
              </button>
              <button type="button" class="bare fault" @click=${() => this.#remove()}>
                ${t("delete")}
              </button>`}
        ${this.requestView(this.#request())}
      </span>
    </footer>`;
  }

  // Dragging a row needs a mouse; this does not.
  /** @param {string} key @param {-1 | 1} step */
  #mover(key, step) {
    const own = this.draft.index + 1;
    const isPossible = numberRules(this.settings.rules).some(
      ({ number }) => Math.sign(number - own) === step,
    );
    return html`<button
      type="button"
      class="bare"
      ?disabled=${!isPossible || this.draft.isChanged}
      @click=${() => this.#surroundings.move(step)}
    >
      ${t(key)}
    </button>`;
  }

  restore() {
    super.restore();
    this.#suggested = "";
    this.#trial.follow();
  }

  /** @param {boolean} idle */
  #enabler(idle) {
    return html`<button
      type="button"
      class="primary"
      ?disabled=${idle}
      @click=${() => this.save(true)}
    >
      ${t("save_and_enable")}
    </button>`;
  }

  #request() {
    const { draft } = this;
    const isSent = draft.isNew || draft.isChanged;
    return this.hasProblem || !isSent ? null : this.#overStored.request(draft.isNew);
  }
}

// A condition of a rule as the controller holds it, also between its thresholds; what was changed
// since then is judged for the first time.
/** @param {State} state @param {number} number @param {Condition} written */
export function holdsNow(state, number, written) {
  const held = (state.rules ?? [])
    .find((rule) => rule.number === number)
    ?.conditions.find((one) => MEMBERS.every((member) => one[member] === written[member]));
  return held ? held.result === true : holds(written, state[written.label]);
}

/** @type {Member[]} */
const MEMBERS = ["label", "compare", "reference", "hysteresis"];

/** @param {Condition} written @param {number | null | undefined} value */
function holds({ label, compare, reference }, value) {
  if (value === null || value === undefined) return false;
  if (isState(label)) return value === reference;
  return compare === "<" ? value < reference : value >= reference;
}
