// Rules: each as a sentence with what holds now, why it does not act, and what is wrong with it.

import { html, nothing } from "../vendor/lit-html.js";
import * as api from "../lib/api.js";
import { note } from "../lib/router.js";
import { t } from "../lib/words.js";
import { RuleCard } from "./rules/card.js";
import { Draft, EMPTY_RULE } from "./rules/draft.js";
import { Editor } from "./rules/editor.js";
import { shortTitle } from "./rules/sentence.js";
import { TEMPLATES, ruleFrom } from "./rules/templates.js";
import { WhatIf } from "./rules/what_if.js";

// After a change of the state the reports are read again; while a delay runs, every second.
const READ_AGAIN_MS = 200;
const COUNT_MS = 1000;

export class Page {
  #context;
  #stop;
  /** @type {Api.RuleReport[] | null} */
  #reports = null;
  // By index: what is being edited, and the cards.
  /** @type {Map<number, Editor>} */
  #editors = new Map();
  /** @type {RuleCard[]} */
  #cards = [];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #due = Infinity;
  #isClosed = false;
  #seen = "";
  // Units of all readings, by label.
  /** @type {Record<string, string>} */
  #units = {};
  #stopSettings;
  #whatIf;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#whatIf = new WhatIf(context);
    this.#stop = context.live.listen(() => this.#follow());
    this.#stopSettings = context.live.listenToSettings(() => this.#settingsChanged());
  }

  /** @param {URLSearchParams} params */
  async open(params) {
    await Promise.all([this.#read(), this.#readUnits()]);
    const edited = Number(params.get("edit"));
    if (edited >= 1 && edited <= (this.#reports?.length ?? 0)) this.#edit(edited - 1);
    if (params.has("new") || params.has("source")) {
      this.#add(params.get("new"), params.get("source"));
    }
  }

  close() {
    this.#stop();
    this.#stopSettings();
    clearTimeout(this.#timer);
    this.#isClosed = true;
  }

  #settingsChanged() {
    this.#readUnits();
    this.#readAfter(0);
  }

  #follow() {
    const { rules } = this.#context.live.state;
    const seen = JSON.stringify(rules);
    if (seen !== this.#seen) this.#readAfter(READ_AGAIN_MS);
    this.#seen = seen;
  }

  // A sooner reading that is planned already is not put off: the state may change all the time.
  /** @param {number} ms */
  #readAfter(ms) {
    const due = Date.now() + ms;
    if (this.#isClosed || due >= this.#due) return;
    clearTimeout(this.#timer);
    this.#due = due;
    this.#timer = setTimeout(() => {
      this.#due = Infinity;
      this.#read();
    }, ms);
  }

  async #read() {
    try {
      this.#take(await api.rules());
    } catch {
      // The frame says that the connection is lost; what was read last stays.
    }
    const counting = this.#reports?.some(({ explanation }) => explanation.pending !== null);
    if (counting) this.#readAfter(COUNT_MS);
    this.#context.redraw();
  }

  async #readUnits() {
    try {
      const labels = Object.entries(await api.labels());
      this.#units = Object.fromEntries(labels.map(([label, { unit }]) => [label, unit]));
    } catch {
      // Units that are not known are not shown.
    }
    this.#context.redraw();
  }

  /** @param {Api.RuleReport[]} reports */
  #take(reports) {
    this.#reports = reports;
    this.#cards.length = reports.length;
  }

  // Made when it is drawn: after a deletion there are fewer cards than rules until they are read.
  /** @param {number} index */
  #card(index) {
    this.#cards[index] ??= new RuleCard(this.#context, index, {
      edit: (own) => this.#edit(own),
      deleted: (own) => this.#deleted(own),
      changed: () => this.#readAfter(0),
    });
    return this.#cards[index];
  }

  #titles() {
    const named = (this.#reports ?? []).map((report) => [
      report.number,
      shortTitle(report.settings, report.units),
    ]);
    return Object.fromEntries(named);
  }

  /** @param {number} index */
  #edit(index) {
    const saved = this.#context.settings.rules[index];
    if (!saved) return;
    note("rules", { edit: index + 1 });
    this.#open(new Draft(this.#context.commands, index, saved));
  }

  /** @param {string | null} template @param {string | null} source */
  #add(template, source) {
    const { commands, live } = this.#context;
    const index = this.#context.settings.rules.length;
    if (index > commands.get("event").schema("A").maximum) return;
    const draft = new Draft(commands, index, null, EMPTY_RULE);
    const { state } = live;
    const offer = { sources: draft.offered("B"), actions: draft.actions, state, source };
    this.#open(new Draft(commands, index, null, ruleFrom(template, offer)));
  }

  /** @param {Draft} draft */
  #open(draft) {
    const { index } = draft;
    this.#editors.get(index)?.leave();
    const editor = new Editor(this.#context, draft, {
      titles: () => this.#titles(),
      units: () => this.#units,
      left: () => this.#left(editor),
    });
    this.#editors.set(index, editor);
    this.#context.redraw();
    setTimeout(() => document.getElementById(editor.id("B"))?.focus());
  }

  /** @param {Editor} editor */
  #left(editor) {
    this.#editors.delete(editor.draft.index);
    note("rules", {});
    this.#readAfter(0);
    this.#context.redraw();
  }

  // Later rules have moved down by one, and what is being edited with them.
  /** @param {number} index */
  #deleted(index) {
    const editors = [...this.#editors.values()];
    this.#editors.clear();
    for (const editor of editors) {
      if (editor.draft.index === index) this.#context.forms.delete(editor);
      else {
        if (editor.draft.index > index) editor.draft.index -= 1;
        this.#editors.set(editor.draft.index, editor);
      }
    }
    this.#cards.splice(index, 1);
    this.#cards.forEach((card, place) => (card.index = place));
    return this.#read();
  }

  view() {
    if (this.#reports === null) return html`<p class="note">${t("reading")}</p>`;
    const count = this.#reports.length;
    return html`
      ${this.#summary(this.#reports)}
      <div class="cards wide rules">
        ${this.#reports.map((report, index) => this.#rule(report, index))}
        ${[...this.#editors.values()]
          .filter(({ draft }) => draft.index >= count)
          .map((editor) => editor.view())}
        ${this.#newRules(count)} ${this.#whatIf.view()}
      </div>
    `;
  }

  /** @param {Api.RuleReport[]} reports */
  #summary(reports) {
    const about = new Set(reports.flatMap(({ advice }) => advice.map(({ text }) => text)));
    if (about.size === 0) return nothing;
    return html`<p class="warning" role="status">${t("warnings", { count: about.size })}</p>`;
  }

  /** @param {Api.RuleReport} report @param {number} index */
  #rule(report, index) {
    const editor = this.#editors.get(index);
    if (editor) return editor.view();
    const { rules = [] } = this.#context.live.state;
    const live = rules.length === this.#reports?.length ? rules[index] : report.explanation;
    return this.#card(index).view(report, live, this.#titles());
  }

  /** @param {number} count */
  #newRules(count) {
    const max = this.#context.commands.get("event").schema("A").maximum + 1;
    if (count >= max) return html`<p class="note">${t("all_used", { max })}</p>`;
    if (this.#editors.has(count)) return nothing;
    return html`<section class="card templates">
      <h2>${t("add_rule")}</h2>
      ${count === 0 ? html`<p class="note">${t("no_rules")}</p>` : nothing}
      <p class="note">${t("places_left", { left: max - count, max })}</p>
      <div class="choices-of-templates">
        ${Object.keys(TEMPLATES).map((name) => this.#template(name))}
        ${this.#template("empty")}
      </div>
    </section>`;
  }

  /** @param {string} name */
  #template(name) {
    return html`<button type="button" @click=${() => this.#add(name, null)}>
      <strong>${t(`template_${name}`)}</strong>
      <small>${t(`about_${name}`)}</small>
    </button>`;
  }
}
