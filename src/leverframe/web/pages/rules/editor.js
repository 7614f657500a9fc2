// A rule as a sentence with blanks: only sources, comparisons and actions that the version has.

import { html, nothing } from "../../vendor/lit-html.js";
import * as api from "../../lib/api.js";
import { DraftForm } from "../../lib/draft_form.js";
import { isState } from "../../lib/labels.js";
import { shown } from "../../lib/quantities.js";
import { PLACES, rich } from "../../lib/rich.js";
import { isSame } from "../../lib/tree.js";
import { t } from "../../lib/words.js";
import {
  FIRST,
  LABELS,
  SECOND,
  actionBlank,
  conditionBlanks,
  delayBlank,
  dependsBlank,
  modeBlank,
  operatorBlank,
  valueBlank,
} from "./blanks.js";
import { FIELDS } from "./draft.js";
import { effectOf, isSwitched, present, truth } from "./sentence.js";
import { Trial } from "./trial.js";

/** @import { ConditionFields } from "./blanks.js" */
/** @import { Draft, TypedRule } from "./draft.js" */
/**
 * @typedef {object} Surroundings
 * @property {() => Record<string, string>} titles
 * @property {() => Record<string, string>} units
 * @property {() => void} left
 */

/** @extends {DraftForm<Draft>} */
export class Editor extends DraftForm {
  letters = Object.keys(FIELDS);
  #titles;
  #units;
  #trial;

  // `titles()` are the other rules by number, `units()` those known by label.
  /** @param {AdminContext} context @param {Draft} draft @param {Surroundings} surroundings */
  constructor(context, draft, { titles, units, left }) {
    super(context, draft, left);
    this.#titles = titles;
    this.#units = units;
    this.#trial = new Trial(context, () => (this.hasProblem ? null : draft.eventItem()));
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
    return this.#units()[label] || shown(label, 0).unit;
  }

  /** @param {keyof TypedRule} name @param {string | boolean} typed */
  change(name, typed) {
    this.draft.type(name, typed);
    this.#trial.forget();
    this.touched();
  }

  // What is wrong with a field: what the controller refused, or what cannot be sent.
  /** @param {string} letter */
  problem(letter) {
    const wrong = this.draft.has(letter) && this.tried ? this.draft.problem(letter) : null;
    return this.refusal(letter) ?? wrong;
  }

  get hasProblem() {
    return this.draft.problems.length > 0;
  }

  async send(enable = false) {
    await api.send(this.draft.request(enable).target);
    await this.context.readSettings();
  }

  view() {
    const { draft } = this;
    const number = draft.index + 1;
    return html`<form
      class="card rule editing"
      novalidate
      ?data-changed=${draft.isChanged}
      aria-label=${t("rule_number", { number })}
      @submit=${(event) => this.submitted(event)}
      @keydown=${(event) => this.pressed(event)}
    >
      <h2>${draft.isNew ? t("new_rule", { number }) : t("rule_number", { number })}</h2>
      ${this.#isOutdated() ? html`<p class="note">${t("changed_elsewhere")}</p>` : nothing}
      <div class="lines">
        ${this.#condition(FIRST, t("line_first", PLACES), t("line_first_level", PLACES))}
        ${this.#line([operatorBlank(this)])}
        ${draft.typed.operator === "-"
          ? nothing
          : this.#condition(SECOND, t("line_second", PLACES), t("line_second_level", PLACES))}
        ${draft.has("O")
          ? this.#line(rich(t("line_depends", PLACES), this.#dependsPart()), ["O"])
          : nothing}
        ${this.#effectLines()}
      </div>
      ${this.refusalView}
      ${this.#trial.view()} ${this.#footer()}
    </form>`;
  }

  // Somebody else changed or moved what is being edited.
  #isOutdated() {
    const { draft } = this;
    return !draft.isNew && !isSame(this.settings.rules[draft.index], draft.saved);
  }

  /** @param {ConditionFields} fields @param {string} text @param {string} levelText */
  #condition(fields, text, levelText) {
    const { source, compare, reference } = fields;
    const { typed } = this.draft;
    const label = typed[source[1]];
    const letters = Object.values(fields).map(([letter]) => letter);
    const value = this.context.live.state[label];
    const wanted = Number(String(typed[reference[1]]).replace(",", "."));
    const mark = html`<span class="now">${present(label, value, this.unit(label))}</span>
      ${truth(holds(label, typed[compare[1]], wanted, value))}`;
    const blanks = conditionBlanks(this, fields);
    return this.#line([rich(isState(label) ? levelText : text, blanks), mark], letters);
  }

  #dependsPart() {
    return { depends: dependsBlank(this, this.#titles()) };
  }

  #effectLines() {
    const { typed } = this.draft;
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
        ? t("line_met_after", PLACES)
        : t("line_met", PLACES);
    return html`${this.#line(rich(met, parts), ["G", "M", "N"])}
      ${switched ? this.#ceasing() : nothing}
      ${this.draft.has("P")
        ? this.#line(rich(t("line_mode", PLACES), { mode: modeBlank(this) }), ["P"])
        : nothing}
      ${this.#permanent()}`;
  }

  #ceasing() {
    const { action, value } = this.draft.typed;
    const delay = delayBlank(this, "L", "off_delay");
    const effect = effectOf(action, value === "2" ? 2 : 1 - Number(value), this.settings);
    return this.#line(rich(t("line_ceasing", PLACES), { delay, effect }), ["L"]);
  }

  #permanent() {
    if (!this.context.commands.find("eventper")) return nothing;
    return html`<label class="toggle line">
      <input
        type="checkbox"
        role="switch"
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
            ${t(LABELS[letter])}: ${this.problem(letter)}
          </p>`,
      )}`;
  }

  #footer() {
    const { draft } = this;
    const idle = this.saving || !draft.isChanged;
    return html`<footer>
      ${draft.isNew ? this.#enabler(idle) : nothing}
      <button class=${draft.isNew ? "" : "primary"} ?disabled=${idle}>
        ${this.saving ? t("saving") : draft.isNew ? t("save_disabled") : t("save")}
      </button>
      <button type="button" @click=${() => this.leave()}>${t("cancel")}</button>
      ${this.#trial.button()}
      ${this.requestView(this.#request())}
    </footer>`;
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
    return this.hasProblem || !draft.isChanged ? null : draft.request(draft.isNew);
  }
}

// As if it were judged for the first time: hysteresis is about what comes next.
/**
 * @param {string} label
 * @param {string} compare
 * @param {number} wanted
 * @param {number | null | undefined} value
 */
function holds(label, compare, wanted, value) {
  if (value === null || value === undefined) return false;
  if (isState(label)) return value === wanted;
  return compare === "<" ? value < wanted : value >= wanted;
}
