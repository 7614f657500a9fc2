// Schedule: the week as a picture, or every entry as a sentence, with its next and its last run.

import { html, nothing } from "../vendor/lit-html.js";
import { Action } from "../lib/action.js";
import * as api from "../lib/api.js";
import { icon } from "../lib/icon.js";
import { shortMoment } from "../lib/moments.js";
import { note } from "../lib/router.js";
import { toast } from "../lib/toast.js";
import { t } from "../lib/words.js";
import { WORKDAYS, watchers } from "./rules/window.js";
import { EntryEditor } from "./schedule/editor.js";
import { EntryDraft, WEEKDAYS, wireOf } from "./schedule/entry.js";
import { dayName, entrySentence } from "./schedule/sentences.js";
import { copied, dayCopied, entriesOf } from "./schedule/week.js";
import { WeekGrid } from "./schedule/week_grid.js";

/** @import { Chosen } from "./schedule/week_grid.js" */
/** @import { Piece, Stored } from "./schedule/week.js" */

export class Page {
  #context;
  // By index: what is being edited, the buttons that delete, and what was refused.
  /** @type {Map<number, EntryEditor>} */
  #editors = new Map();
  /** @type {Map<number, Action>} */
  #removers = new Map();
  /** @type {Map<number, string>} */
  #refusals = new Map();
  #isList = false;
  // Entries that were written last: they stay beside the week.
  /** @type {Set<number>} */
  #written = new Set();
  // What stands beside the week, and on which day it was chosen.
  /** @type {Chosen | null} */
  #chosen = null;
  /** @type {string | null} */
  #refusal = null;
  #grid;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#grid = new WeekGrid(context, {
      choose: (chosen) => this.#choose(chosen),
      store: (piece) => this.#store(piece),
      chosen: () => this.#chosen,
    });
  }

  /** @param {URLSearchParams} params */
  async open(params) {
    this.#isList = params.get("view") === "list";
    const edited = Number(params.get("edit"));
    if (params.has("edit") && this.#entries()[edited]) this.#edit(edited);
    if (params.has("new")) this.#add();
  }

  close() {}

  #entries() {
    return this.#context.settings.schedule;
  }

  get #command() {
    return this.#context.commands.get("sched_save");
  }

  // The request that sets one entry, or deletes it: what others have changed meanwhile stays.
  /** @param {number} index @param {Api.ScheduleEntry | null} entry */
  #request(index, entry) {
    const { commands } = this.#context;
    return entry
      ? commands.get("schedset").request(wireOf(index, entry))
      : commands.get("scheddel").request({ A: index });
  }

  /** @param {Stored[]} entries */
  #requestOfAll(entries) {
    const [set, remove] = ["schedset", "scheddel"].map((name) => this.#context.commands.get(name));
    const items = entries.map(([place, entry]) =>
      entry ? set.query(wireOf(place, entry)) : remove.query({ A: place }),
    );
    return { target: `${set.path}?${items.join("&")}` };
  }

  /** @param {Chosen} chosen */
  #choose(chosen) {
    this.#chosen = chosen;
    this.#written.clear();
    this.#refusal = null;
    this.#context.redraw();
  }

  // Both entries of a span in one request; the way back is offered.
  /** @param {Piece} piece */
  async #store(piece) {
    const name = piece.name || t("unnamed");
    const entries = entriesOf(this.#entries(), piece);
    if (!(await this.#storedWithWayBack(entries, t("entry_moved", { name })))) return;
    if (this.#chosen) this.#chosen = { ...this.#chosen, piece };
    this.#context.redraw();
  }

  /** @param {string} from @param {string} to */
  async #copyDay(from, to) {
    const entries = dayCopied(this.#entries(), from, to);
    if (entries === null) {
      this.#refusal = t("no_room_for_day", { day: dayName(from) });
      this.#context.redraw();
      return;
    }
    const done = t("day_copied", { day: dayName(from), to: dayName(to) });
    if (await this.#storedWithWayBack(entries, done)) this.#chosen = null;
    this.#context.redraw();
  }

  /** @param {Stored[]} entries @param {string} done */
  async #storedWithWayBack(entries, done) {
    const held = this.#entries();
    const before = entries.map(([place]) => /** @type {Stored} */ ([place, held[place]]));
    if (!(await this.#stored(entries))) return false;
    toast(done, { label: t("undo"), act: () => this.#stored(before) });
    return true;
  }

  /** @param {Stored[]} entries */
  async #stored(entries) {
    try {
      await this.#send(this.#requestOfAll(entries));
      this.#refusal = null;
    } catch (error) {
      this.#refusal = error instanceof api.Refused ? error.message : t("not_reached");
    }
    this.#context.redraw();
    return this.#refusal === null;
  }

  /** @param {number} index */
  async #delete(index) {
    const entry = this.#entries()[index];
    await this.#send(this.#request(index, null));
    if (!entry) return;
    const name = entry.name || t("unnamed");
    const act = () => this.#stored([[index, entry]]);
    toast(t("entry_deleted", { name }), { label: t("undo"), act });
  }

  /** @param {CommandRequest} request */
  async #send({ target, body }) {
    await api.send(target, body);
    await this.#context.readSettings();
  }

  /** @param {number} index */
  #edit(index) {
    note("schedule", { edit: index });
    this.#openEditor(new EntryDraft(this.#command, index, this.#entries()[index]));
  }

  #add() {
    const free = this.#entries().findIndex((entry, index) => !entry && !this.#editors.has(index));
    if (free >= 0) this.#openEditor(new EntryDraft(this.#command, free, null));
  }

  /** @param {EntryDraft} draft */
  #openEditor(draft) {
    const { index } = draft;
    const editor = new EntryEditor(this.#context, draft, {
      send: (request) => this.#send(request),
      request: () => this.#request(index, draft.entry()),
      left: () => {
        this.#editors.delete(index);
        this.#written.add(index);
        note("schedule", this.#isList ? { view: "list" } : {});
        this.#context.redraw();
      },
    });
    this.#editors.set(index, editor);
    this.#context.redraw();
    setTimeout(() => {
      const first = document.querySelector(`#edit-entry-${index} input`);
      /** @type {HTMLElement | null} */ (first)?.focus();
    });
  }

  view() {
    return html`
    ${this.#refusal ? html`<p class="refusal" role="alert">${this.#refusal}</p>` : nothing}
    ${this.#isList ? this.#list() : this.#week()}`;
  }

  tools() {
    const entries = this.#entries();
    const used = entries.filter(Boolean).length;
    /** @param {boolean} isList @param {string} key */
    const choice = (isList, key) =>
      html`<button
        type="button"
        aria-pressed=${this.#isList === isList ? "true" : "false"}
        @click=${() => this.#look(isList)}
      >
        ${t(key)}
      </button>`;
    return html`<small>
        ${used < entries.length
          ? t("places_left", { left: entries.length - used })
          : t("all_used", { max: entries.length })}
      </small>
      <span class="group" role="group" aria-label=${t("view")}>
        ${choice(false, "view_week")} ${choice(true, "view_list")}
      </span>
      ${used < entries.length
        ? html`<button type="button" class="primary" @click=${() => this.#add()}>
            ${icon("plus", "s")} ${t("add_entry")}
          </button>`
        : nothing}`;
  }

  /** @param {boolean} isList */
  #look(isList) {
    this.#isList = isList;
    note("schedule", isList ? { view: "list" } : {});
    this.#context.redraw();
  }

  #list() {
    const entries = this.#entries();
    const used = entries.flatMap((entry, index) =>
      entry || this.#editors.has(index) ? [index] : [],
    );
    return html`<div class="entries">
      ${used.length ? nothing : html`<p class="empty">${t("no_entries")}</p>`}
      ${used.map((index) => this.#cardOrEditor(index))}
    </div>`;
  }

  /** @param {number} index */
  #cardOrEditor(index) {
    const entry = this.#entries()[index];
    return this.#editors.get(index)?.view() ?? (entry ? this.#card(index, entry) : nothing);
  }

  // Beside the week stands what is chosen, and what is being written.
  #week() {
    const places = (this.#chosen?.piece.places ?? []).filter((place) => this.#entries()[place]);
    const written = [...this.#written].filter((place) => this.#entries()[place]);
    const shown = [...new Set([...this.#editors.keys(), ...written, ...places])];
    return html`<div class="sheet">
      ${this.#grid.view()}
      ${shown.length
        ? html`<aside aria-label=${t("chosen_entry")}>
            ${places.length ? this.#copying() : nothing}
            ${shown.map((place) => this.#cardOrEditor(place))}
          </aside>`
        : nothing}
    </div>`;
  }

  #copying() {
    const chosen = this.#chosen;
    if (!chosen) return nothing;
    const { piece, day } = chosen;
    const after = WEEKDAYS[(WEEKDAYS.indexOf(day) + 1) % WEEKDAYS.length];
    /** @type {[string, string[]][]} */
    const offers = [
      [dayName(after), [after]],
      [t("days_work"), WORKDAYS],
      [t("days_every"), WEEKDAYS],
    ];
    const further = offers.filter(([, days]) => days.some((one) => !piece.days.includes(one)));
    /** @param {string} text @param {() => void} act */
    const button = (text, act) => html`<button type="button" @click=${act}>${text}</button>`;
    return html`<section class="card">
      <h3>${t("copy_day", { day: dayName(day) })}</h3>
      <div class="copying">
        ${WEEKDAYS.filter((one) => one !== day).map((one) =>
          button(dayName(one), () => this.#copyDay(day, one)),
        )}
      </div>
      ${further.length === 0
        ? nothing
        : html`<h3>${t("also_on", { name: piece.name || t("unnamed") })}</h3>
            <div class="copying">
              ${further.map(([name, days]) => button(name, () => this.#store(copied(piece, days))))}
            </div>`}
    </section>`;
  }

  /** @param {number} index @param {Api.ScheduleEntry} entry */
  #card(index, entry) {
    const runs = this.#context.live.state.schedule?.find((one) => one.index === index);
    const title = entry.name || t("unnamed");
    return html`<article class="card rule" aria-labelledby="entry-${index}">
      <header>
        <h2 id="entry-${index}">${title}</h2>
        <label class="toggle">
          <input
            type="checkbox"
            role="switch"
            aria-label=${t("entry_active", { name: title })}
            .checked=${entry.active}
            @change=${(event) => this.#activate(index, event.target)}
          />
          <span>${t("active")}</span>
        </label>
      </header>
      <p class="sentence">${entrySentence(entry, this.#context)}</p>
      ${this.#runs(entry, runs)}
      ${this.#refusals.get(index)
        ? html`<p class="refusal" role="alert">${this.#refusals.get(index)}</p>`
        : nothing}
      <footer>
        <button type="button" @click=${() => this.#edit(index)}>${t("edit")}</button>
        ${this.#remover(index).view()}
      </footer>
    </article>`;
  }

  /** @param {Api.ScheduleEntry} entry @param {Api.ScheduleExplanation | undefined} runs */
  #runs(entry, runs) {
    const next = !entry.active
      ? t("not_active")
      : runs?.next_run
        ? t("next_run", { time: this.#moment(runs.next_run) })
        : t("never_runs");
    const last = runs?.last_run ? t("last_run", { time: this.#moment(runs.last_run) }) : "";
    return html`<p class="next" ?data-never=${entry.active && !runs?.next_run}>
      ${next} ${last ? html`<small>${last}</small>` : nothing}
    </p>`;
  }

  /** @param {number} time */
  #moment(time) {
    return shortMoment(time, this.#context.live.state.time);
  }

  /** @param {number} index */
  #remover(index) {
    const remover =
      this.#removers.get(index) ??
      new Action(this.#context, {
        label: "delete_entry",
        danger: this.#danger(index),
        perform: () => this.#delete(index),
      });
    this.#removers.set(index, remover);
    return remover;
  }

  // Rules that look at what it switches are named.
  /** @param {number} index @returns {Named} */
  #danger(index) {
    const { settings } = this.#context;
    const label = settings.schedule[index]?.action ?? "";
    const rules = watchers(settings, label).map(
      (one) => settings.rules[one].name || t("rule_number", { number: one + 1 }),
    );
    return rules.length ? ["delete_used", { rules: rules.join(", ") }] : "delete_danger";
  }

  /** @param {number} index @param {HTMLInputElement} box */
  async #activate(index, box) {
    const command = this.#context.commands.get("schedon");
    try {
      await this.#send(command.request({ A: index, B: box.checked }));
      this.#refusals.delete(index);
    } catch (error) {
      box.checked = !box.checked;
      const refused = error instanceof api.Refused;
      this.#refusals.set(index, refused ? error.message : t("not_reached"));
    }
    this.#context.redraw();
  }
}
