// Rules: a line each, opened in place as a sentence with blanks and a picture of what it would do.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { t } from "../lib/format/words.js";
import { toast } from "../lib/forms/draft_form.js";
import { Task } from "../lib/forms/task.js";
import { go, leave, note, step } from "../lib/frame/router.js";
import * as api from "../lib/live/api.js";
import { freePlace, numberRules } from "../lib/live/tree.js";
import { icon } from "../lib/things/signs.js";
import { Draft } from "./rules/draft.js";
import { Editor } from "./rules/editor.js";
import { ruleRow, standing } from "./rules/list.js";
import { ownSlot } from "./rules/messages.js";
import { ruleName, shortSentence } from "./rules/sentence.js";
import { EMPTY_RULE } from "./rules/typed.js";
import { deletion, restoration, ruleFrom, TEMPLATES, WhatIf } from "./rules/what_if.js";

// After a change of the state the reports are read again; while a delay runs, every second.
const READ_AGAIN_MS = 200;
const COUNT_MS = 1000;

export class Page {
  #context;
  #stop;
  /** @type {Signal<Api.RuleReport[] | null>} */
  #reports = signal(null);
  // What is being edited: one at a time.
  /** @type {Signal<Editor | null>} */
  #editor = signal(null);
  #isAdding = signal(false);
  #filter = signal("");
  #task = new Task();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #due = Infinity;
  #isClosed = false;
  #seen = "";
  #stopSettings;
  #whatIf;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#whatIf = new WhatIf(context);
    this.#stop = context.live.listen(() => this.#follow());
    this.#stopSettings = context.live.listenToSettings(() => this.#readAfter(0));
  }

  /** @param {URLSearchParams} params */
  async open(params) {
    await this.#read();
    const edited = Number(params.get("edit"));
    if (this.#report(edited - 1)) this.#edit(edited - 1);
    const copied = Number(params.get("copy"));
    if (this.#report(copied - 1)) this.#copy(copied - 1);
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

  #follow() {
    const { rules, findings } = this.#context.live.state;
    const seen = JSON.stringify([rules, findings]);
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
      this.#reports.value = await api.rules();
    } catch {
      // The frame says that the connection is lost; what was read last stays.
    }
    const counting = this.#reports.value?.some(({ explanation }) => explanation.pending !== null);
    if (counting) this.#readAfter(COUNT_MS);
  }

  // What was read about the rule at a place.
  /** @param {number} index */
  #report(index) {
    return this.#reports.value?.find(({ number }) => number === index + 1);
  }

  // The rules by number, as people call them.
  #names() {
    return Object.fromEntries(
      (this.#reports.value ?? []).map((one) => [one.number, ruleName(one)]),
    );
  }

  /** @param {number} index */
  #edit(index) {
    const { settings, commands } = this.#context;
    const saved = settings.rules[index];
    if (saved) this.#open(new Draft(commands, index, saved, saved, settings));
  }

  /** @param {string | null} template @param {string | null} source */
  #add(template, source) {
    const { commands, live, settings } = this.#context;
    const index = freePlace(settings.rules);
    if (index > commands.get("event").schema("A").maximum) return;
    const draft = new Draft(commands, index, null, EMPTY_RULE);
    const { state } = live;
    const { actions } = draft;
    const slotFor = (/** @type {string} */ action) => ownSlot(settings, actions, action, index);
    const offer = { sources: draft.choicesOf("B"), actions, state, source, slotFor };
    const rule = ruleFrom(template, offer);
    const name = template && template in TEMPLATES ? t(`template_${template}`) : "";
    this.#isAdding.value = false;
    this.#open(new Draft(commands, index, null, { ...rule, name }, settings));
  }

  /** @param {string} template */
  #begin(template) {
    if (this.#step({ new: template })) this.#add(template, null);
  }

  /** @param {number} index */
  #duplicate(index) {
    if (this.#step({ copy: index + 1 })) this.#copy(index);
  }

  // A new rule is a step of its own: Back closes its editor. What is typed in another one is asked
  // about first; false then.
  /** @param {Params} params */
  #step(params) {
    const isFree = !this.#editor.value?.isChanged;
    (isFree ? step : go)("rules", params);
    return isFree;
  }

  /** @param {number} index */
  #copy(index) {
    const { commands, settings } = this.#context;
    const place = freePlace(settings.rules);
    const rule = settings.rules[index];
    if (!rule || place > commands.get("event").schema("A").maximum) return;
    const name = rule.name ? t("copy_of", { name: rule.name }).slice(0, 31) : "";
    this.#open(new Draft(commands, place, null, { ...rule, name, enabled: false }, settings));
  }

  /** @param {Draft} draft */
  #open(draft) {
    this.#editor.value?.drop();
    const editor = new Editor(this.#context, draft, {
      names: () => this.#names(),
      left: () => this.#onLeave(),
      duplicate: () => this.#duplicate(draft.index),
      move: (way) => this.#moveOpened(draft.index, way),
      remove: () => this.#delete(draft),
      notes: () => this.#notes(draft),
    });
    this.#editor.value = editor;
    setTimeout(() => document.getElementById(editor.id(draft.isNew ? "name" : "B"))?.focus());
  }

  #onLeave() {
    this.#editor.value = null;
    leave("rules", {});
    this.#readAfter(0);
  }

  // Where the rule stands: since when it is met, what it did, what keeps it from acting.
  /** @param {Draft} draft */
  #notes(draft) {
    const report = draft.isNew ? undefined : this.#report(draft.index);
    if (!report) return nothing;
    return standing(this.#context, report, this.#explanation(report), {
      giveBack: (act) => this.#perform(act),
    });
  }

  /** @param {Draft} draft */
  async #delete(draft) {
    const { index } = draft;
    const [{ settings }, reports] = [this.#context, this.#reports.value ?? []];
    const name = this.#names()[index + 1];
    const back = restoration(this.#context, reports, index);
    const done = await this.#send(deletion(this.#context, settings, index));
    if (!done) return;
    this.#editor.value?.leave();
    toast(t("rule_deleted", { name }), { label: t("undo"), act: () => this.#send(back) });
  }

  // The place to which a rule steps: that of the one before or behind it in the list.
  /** @param {number} from @param {-1 | 1} way */
  #neighbour(from, way) {
    const places = numberRules(this.#context.settings.rules).map(({ number }) => number - 1);
    return places[places.indexOf(from) + way];
  }

  /** @param {number} from @param {number | undefined} to */
  async #move(from, to) {
    if (to === undefined) return;
    const item = this.#context.commands.get("rulemove").query({ A: from, B: to });
    if (await this.#send([item])) document.getElementById(`rule-${to + 1}`)?.focus();
  }

  // What is open stays open at its new place.
  /** @param {number} from @param {-1 | 1} way */
  async #moveOpened(from, way) {
    const to = this.#neighbour(from, way);
    await this.#move(from, to);
    if (to === undefined || this.#task.refusal() !== null) return;
    this.#edit(to);
    note("rules", { edit: to + 1 });
  }

  /** @param {number} index @param {HTMLInputElement} box */
  async #enable(index, box) {
    const item = this.#context.commands.get("eventon").query({ A: index, B: box.checked });
    // The box shows what is stored until the controller says otherwise.
    if (!(await this.#send([item]))) box.checked = !box.checked;
  }

  // All of it in one request.
  /** @param {string[]} items */
  #send(items) {
    const { path } = this.#context.commands.get("event");
    return this.#perform(() => api.send(`${path}?${items.join("&")}`));
  }

  // False where it was refused.
  /** @param {() => Promise<unknown>} act */
  async #perform(act) {
    const isDone = await this.#task.run(async () => {
      await act();
      await this.#context.readSettings();
    });
    await this.#read();
    return isDone;
  }

  view() {
    if (this.#reports.value === null) return html`<p class="note">${t("reading")}</p>`;
    const count = this.#reports.value.length;
    const editor = this.#editor.value;
    // What is being saved is what changes the rules.
    if (editor && !editor.saving) editor.draft.keepPlace(this.#context.settings);
    const shown = this.#filterReports(this.#reports.value);
    return html`
      ${this.#task.view()}
      ${this.#isAdding.value || (count === 0 && !editor) ? this.#templates(count) : nothing}
      <ul class="rules card" role="list" ?hidden=${count === 0 && !editor}>
        ${shown.map((report) => this.#rule(report))}
        ${count > 0 && shown.length === 0
          ? html`<li class="empty">${t("no_such_rule")}</li>`
          : nothing}
        ${editor && !this.#report(editor.draft.index)
          ? html`<li class="open">
              <h2>${t("add_rule")}</h2>
              ${editor.view()}
            </li>`
          : nothing}
      </ul>
      ${count > 1
        ? html`<p class="note order">
            ${t("order_note")} <span class="keys">${t("order_keys")}</span>
          </p>`
        : nothing}
      <details class="further all">
        <summary>${t("what_if_title")}</summary>
        ${this.#whatIf.view()}
      </details>
    `;
  }

  tools() {
    const reports = this.#reports.value;
    if (reports === null) return nothing;
    const met = reports.filter((report) => this.#explanation(report).met).length;
    return html`<small>${t("rules_counted", { count: reports.length, met })}</small>
      <input
        type="search"
        aria-label=${t("filter")}
        placeholder=${t("filter")}
        .value=${this.#filter.value}
        @input=${(event) => (this.#filter.value = event.target.value)}
      />
      ${this.#newButton(reports.length)}`;
  }

  /** @param {number} count */
  #newButton(count) {
    const max = this.#context.commands.get("event").schema("A").maximum + 1;
    if (count >= max) return html`<small>${t("all_used", { max })}</small>`;
    return html`<button
      type="button"
      class="primary"
      aria-expanded=${this.#isAdding.value ? "true" : "false"}
      @click=${() => (this.#isAdding.value = !this.#isAdding.value)}
    >
      ${icon("plus", "s")} ${t("add_rule")}
    </button>`;
  }

  // What is typed stands in the name or in the sentence.
  /** @param {Api.RuleReport[]} reports */
  #filterReports(reports) {
    const typed = this.#filter.value.trim().toLowerCase();
    if (!typed) return reports;
    return reports.filter((report) => {
      const text = `${ruleName(report)} ${shortSentence(this.#context, report.settings)}`;
      return text.toLowerCase().includes(typed) || this.#isOpen(report);
    });
  }

  /** @param {Api.RuleReport} report */
  #isOpen({ number }) {
    return this.#editor.value !== null && this.#editor.value.draft.index === number - 1;
  }

  /** @param {Api.RuleReport} report */
  #explanation({ number, explanation }) {
    const { rules = [] } = this.#context.live.state;
    return rules.find((one) => one.number === number) ?? explanation;
  }

  /** @param {Api.RuleReport} report */
  #rule(report) {
    const isOpen = this.#isOpen(report);
    const row = ruleRow(
      this.#context,
      report,
      this.#explanation(report),
      {
        enable: (index, box) => this.#enable(index, box),
        move: (from, to) => this.#move(from, to),
        step: (from, way) => this.#move(from, this.#neighbour(from, way)),
      },
      isOpen,
    );
    return html`<li class=${isOpen ? "open" : ""} @click=${(event) => this.#onPress(event, report)}>
      ${row} ${isOpen ? this.#editor.value?.view() : nothing}
    </li>`;
  }

  // The whole row opens the rule, and its name closes it; what can be operated does its own.
  /** @param {MouseEvent} event @param {Api.RuleReport} report */
  #onPress(event, report) {
    const { target } = event;
    if (!(target instanceof Element)) return;
    if (this.#isOpen(report)) this.#closeByName(event, target.closest("a.name"));
    else if (!target.closest("a, input, button, select")) go("rules", { edit: report.number });
  }

  // What is typed is asked about on the way of the link; else nothing is left to go back to.
  /** @param {MouseEvent} event @param {Element | null} name */
  #closeByName(event, name) {
    const isElsewhere = event.ctrlKey || event.metaKey || event.shiftKey;
    if (!name || isElsewhere || this.#editor.value?.isChanged) return;
    event.preventDefault();
    this.#editor.value?.leave();
  }

  /** @param {number} count */
  #templates(count) {
    const max = this.#context.commands.get("event").schema("A").maximum + 1;
    return html`<section class="card templates">
      <h2>${t("add_rule")}</h2>
      ${count === 0 ? html`<p class="note">${t("no_rules")}</p>` : nothing}
      <p class="note">${t("places_left", { left: max - count, max })}</p>
      <div class="choices-of-templates">
        ${Object.keys(TEMPLATES).map((name) => this.#template(name))} ${this.#template("empty")}
      </div>
    </section>`;
  }

  /** @param {string} name */
  #template(name) {
    return html`<button type="button" @click=${() => this.#begin(name)}>
      <strong>${t(`template_${name}`)}</strong>
      <small>${t(`about_${name}`)}</small>
    </button>`;
  }
}
