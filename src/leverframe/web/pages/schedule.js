// Schedule: the week as a picture, or every entry as a sentence, with its next and its last run.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { shortMoment } from "../lib/format/moments.js";
import { t } from "../lib/format/words.js";
import { Action } from "../lib/forms/action.js";
import { toast } from "../lib/forms/draft_form.js";
import { refusalView, Task, whyNot } from "../lib/forms/task.js";
import { go, leave, note, step } from "../lib/frame/router.js";
import * as api from "../lib/live/api.js";
import { ShownMap } from "../lib/live/drawing.js";
import { icon } from "../lib/things/signs.js";
import { watchers, WEEKEND, windowOf, WORKDAYS } from "./rules/window.js";
import { EntryEditor } from "./schedule/editor.js";
import { spanOf, spanText } from "./schedule/drawn_span.js";
import { dayName, EntryDraft, entrySentence, hoursOf, WEEKDAYS, wireOf } from "./schedule/entry.js";
import { missedText } from "./schedule/missed.js";
import { copyTo, dayCopied, entriesOf, groupsOf, toEntries } from "./schedule/week.js";
import { WeekGrid } from "./schedule/week_grid.js";

/** @import { Span } from "./schedule/drawn_span.js" */
/** @import { Chosen } from "./schedule/week_grid.js" */
/** @import { Piece, Stored } from "./schedule/week.js" */

export class Page {
  #context;
  // One at a time: each is a step of the history, and Back closes the one that is seen.
  /** @type {Signal<EntryEditor | null>} */
  #editor = signal(null);
  // By the first place: what was refused.
  /** @type {ShownMap<number, string>} */
  #refusals = new ShownMap();
  // The buttons that delete, by what they would: a question is about these entries alone.
  /** @type {Map<string, Action>} */
  #removers = new Map();
  #isList = signal(false);
  // Entries that were written last: they stay beside the week.
  /** @type {Signal<number[]>} */
  #written = signal([]);
  // What stands beside the week, and on which day it was chosen.
  /** @type {Signal<Chosen | null>} */
  #chosen = signal(null);
  #task = new Task();
  #grid;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#grid = new WeekGrid(context, {
      choose: (chosen) => this.#choose(chosen),
      store: (piece) => this.#store(piece),
      create: (span) => this.#begin(undefined, span),
      chosen: () => this.#chosen.value,
    });
  }

  /** @param {URLSearchParams} params */
  async open(params) {
    this.#isList.value = params.get("view") === "list";
    const edited = Number(params.get("edit"));
    if (params.has("edit") && this.#entries()[edited]) this.#edit(edited);
    if (params.has("new")) this.#add(spanOf(params.get("new")));
  }

  #entries() {
    return this.#context.settings.schedule;
  }

  get #command() {
    return this.#context.commands.get("sched_save");
  }

  // The places of entries that belong together with one.
  /** @param {number} place */
  #group(place) {
    return groupsOf(this.#entries()).find((places) => places.includes(place)) ?? [place];
  }

  // The request that sets or deletes entries; changes made elsewhere stay.
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
    this.#chosen.value = chosen;
    this.#written.value = [];
    this.#task.forget();
  }

  // Both entries of a span in one request; the way back is offered.
  /** @param {Piece} piece */
  async #store(piece) {
    const name = piece.name || t("unnamed");
    const entries = entriesOf(this.#entries(), piece);
    if (!(await this.#storeWithUndo(entries, t("entry_moved", { name })))) return;
    if (this.#chosen.value) this.#chosen.value = { ...this.#chosen.value, piece };
  }

  /** @param {string} from @param {string} to */
  async #copyDay(from, to) {
    const entries = dayCopied(this.#entries(), from, to);
    if (entries === null) {
      this.#task.say(t("no_room_for_day", { day: dayName(from) }));
      return;
    }
    const done = t("day_copied", { day: dayName(from), to: dayName(to) });
    if (await this.#storeWithUndo(entries, done)) this.#chosen.value = null;
  }

  /** @param {Stored[]} entries @param {string} done */
  async #storeWithUndo(entries, done) {
    const held = this.#entries();
    const before = entries.map(([place]) => /** @type {Stored} */ ([place, held[place]]));
    if (!(await this.#storeAll(entries))) return false;
    toast(done, { label: t("undo"), act: () => this.#storeAll(before) });
    return true;
  }

  /** @param {Stored[]} entries */
  #storeAll(entries) {
    return this.#task.run(() => this.#send(this.#requestOfAll(entries)));
  }

  /** @param {number[]} places */
  async #delete(places) {
    const held = this.#entries();
    const name = held[places[0]]?.name || t("unnamed");
    const before = places.map((place) => /** @type {Stored} */ ([place, held[place]]));
    await this.#send(this.#requestOfAll(places.map((place) => [place, null])));
    const act = () => this.#storeAll(before);
    toast(t("entry_deleted", { name }), { label: t("undo"), act });
  }

  /** @param {CommandRequest} request */
  async #send({ target, body }) {
    await api.send(target, body);
    await this.#context.readSettings();
  }

  // Where the last place was taken elsewhere, a new entry has none.
  /** @param {EntryDraft} draft @param {CommandRequest} request */
  async #sendDraft({ isNew, index }, request) {
    const held = this.#entries();
    if (isNew && held[index]) {
      throw new api.Refused({ status: 409, detail: t("all_used", { max: held.length }) });
    }
    await this.#send(request);
  }

  /** @param {number} index */
  #edit(index) {
    const [first, second = this.#free()[0] ?? null] = this.#group(index);
    const entries = this.#entries();
    const ending = { place: second, entry: second === null ? null : entries[second] };
    this.#openEditor(new EntryDraft(this.#command, first, entries[first], ending));
  }

  // Opens an entry, or a new one, as a step of its own: Back closes it. What is typed in another
  // one is asked about first.
  /** @param {number} [index] @param {Span | null} [span] */
  #begin(index, span = null) {
    const isNew = index === undefined;
    const { draft } = this.#editor.value ?? {};
    if (isNew && draft?.isNew) {
      if (span) draft.takeHours(span);
      return;
    }
    const isFree = !this.#editor.value?.isChanged;
    const begun = { new: span ? spanText(span) : 1 };
    const params = { ...this.#viewed, ...(isNew ? begun : { edit: index }) };
    (isFree ? step : go)("schedule", params);
    if (!isFree) return;
    this.#editor.value?.drop();
    this.#editor.value = null;
    if (isNew) this.#add(span);
    else this.#edit(index);
  }

  /** @returns {Params} */
  get #viewed() {
    return this.#isList.value ? { view: "list" } : {};
  }

  // With the hours that were drawn, where there are any.
  /** @param {Span | null} span */
  #add(span) {
    const [first, second = null] = this.#free();
    if (first === undefined) return;
    const draft = new EntryDraft(this.#command, first, null, { place: second, entry: null });
    if (span) draft.takeHours(span);
    this.#openEditor(draft);
  }

  // Places that neither entries nor the draft have.
  #free() {
    const draft = this.#editor.value?.draft;
    const drafted = [draft?.index, draft?.ending.place];
    return this.#entries().flatMap((entry, place) =>
      entry || drafted.includes(place) ? [] : [place],
    );
  }

  // Others may take the places of what is new here: it gets others.
  #keepPlaces() {
    if (!this.#editor.value || this.#editor.value.saving) return;
    const { draft } = this.#editor.value;
    const held = this.#entries();
    const { ending } = draft;
    const isEndTaken = !ending.entry && ending.place !== null && held[ending.place];
    if (isEndTaken) draft.ending = { place: this.#free()[0] ?? null, entry: null };
    const [free] = this.#free();
    if (draft.isNew && held[draft.index] && free !== undefined) draft.index = free;
  }

  // The place that is being edited, as a list.
  get #edited() {
    return this.#editor.value ? [this.#editor.value.draft.index] : [];
  }

  /** @param {EntryDraft} draft */
  #openEditor(draft) {
    this.#editor.value = new EntryEditor(this.#context, draft, {
      send: (request) => this.#sendDraft(draft, request),
      request: () => this.#requestOfAll(toEntries(draft)),
      left: () => {
        this.#editor.value = null;
        this.#written.value = [...this.#written.value, draft.index];
        leave("schedule", this.#viewed);
      },
    });
    setTimeout(() => {
      const first = document.querySelector(`#edit-entry-${draft.index} input`);
      /** @type {HTMLElement | null} */ (first)?.focus();
    });
  }

  view() {
    this.#keepPlaces();
    return html` ${this.#task.view()} ${this.#isList.value ? this.#list() : this.#week()}
    ${this.#catchUp()}`;
  }

  // Whether entries that were due while the controller was off are caught up at its start.
  #catchUp() {
    const command = this.#context.commands.get("schedcatch");
    const send = (/** @type {boolean} */ isOn) =>
      this.#task.run(() => this.#send(command.request({ A: isOn })));
    return html`<p class="catch-up">
      <label
        ><input
          type="checkbox"
          .checked=${this.#context.settings.schedule_catch_up}
          @change=${({ target }) => send(target.checked)}
        />
        ${t("catch_up")}</label
      >
    </p>`;
  }

  tools() {
    const entries = this.#entries();
    const used = entries.filter(Boolean).length;
    /** @param {boolean} isList @param {string} key */
    const choice = (isList, key) =>
      html`<button
        type="button"
        aria-pressed=${this.#isList.value === isList ? "true" : "false"}
        @click=${() => this.#look(isList)}
      >
        ${t(key)}
      </button>`;
    return html`<small>
        ${used < entries.length
          ? t("places_left", { left: entries.length - used, max: entries.length })
          : t("all_used", { max: entries.length })}
      </small>
      <span class="group" role="group" aria-label=${t("view")}>
        ${choice(false, "view_week")} ${choice(true, "view_list")}
      </span>
      ${used < entries.length
        ? html`<button type="button" class="primary" @click=${() => this.#begin()}>
            ${icon("plus", "s")} ${t("add_entry")}
          </button>`
        : nothing}`;
  }

  /** @param {boolean} isList */
  #look(isList) {
    this.#isList.value = isList;
    note("schedule", this.#viewed);
  }

  #list() {
    const firsts = groupsOf(this.#entries()).map(([first]) => first);
    const shown = [...new Set([...firsts, ...this.#edited])];
    return html`<div class="entries">
      ${shown.length ? nothing : html`<p class="empty">${t("no_entries")}</p>`}
      ${shown.sort((one, other) => one - other).map((place) => this.#cardOrEditor(place))}
    </div>`;
  }

  /** @param {number} first */
  #cardOrEditor(first) {
    const entry = this.#entries()[first];
    if (this.#edited.includes(first)) return this.#editor.value?.view();
    return entry ? this.#card(this.#group(first), entry) : nothing;
  }

  // Beside the week stands what is chosen, and what is being written.
  #week() {
    const places = (this.#chosen.value?.piece.places ?? []).filter(
      (place) => this.#entries()[place],
    );
    const written = this.#written.value.filter((place) => this.#entries()[place]);
    const firsts = [...written, ...places].map((place) => this.#group(place)[0]);
    const shown = [...new Set([...this.#edited, ...firsts])];
    return html`<div class="week-sheet">
      ${this.#grid.view()}
      ${shown.length
        ? html`<aside aria-label=${t("chosen_entry")}>
            ${shown.map((place) => this.#cardOrEditor(place))}
            ${places.length ? this.#copying() : nothing}
          </aside>`
        : nothing}
    </div>`;
  }

  #copying() {
    const chosen = this.#chosen.value;
    if (!chosen) return nothing;
    const { piece, day } = chosen;
    const after = WEEKDAYS[(WEEKDAYS.indexOf(day) + 1) % WEEKDAYS.length];
    /** @type {[string, string[]][]} */
    const offers = [
      [dayName(after), [after]],
      [t("days_work"), WORKDAYS],
      [t("days_weekend"), WEEKEND],
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
              ${further.map(([name, days]) => button(name, () => this.#store(copyTo(piece, days))))}
            </div>`}
    </section>`;
  }

  /** @param {number[]} places @param {Api.ScheduleEntry} entry */
  #card(places, entry) {
    const [index, second] = places;
    const end = second === undefined ? null : this.#entries()[second];
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
            @change=${(event) => this.#activate(places, event.target)}
          />
          <span>${t("active")}</span>
        </label>
      </header>
      <p class="sentence">${this.#sentence(entry, end)}</p>
      ${this.#runs(places, entry)} ${refusalView(this.#refusals.get(index) ?? null)}
      <footer>
        <button type="button" @click=${() => this.#begin(index)}>${t("edit")}</button>
        ${this.#remover(places).view()}
      </footer>
    </article>`;
  }

  // The hours of a rule's window are shown as such.
  /** @param {Api.ScheduleEntry} entry @param {Api.ScheduleEntry | null} end */
  #sentence(entry, end) {
    const { settings } = this.#context;
    const window = end && windowOf(settings, entry.action);
    const rules = window ? this.#watching(entry.action) : [];
    if (!window || rules.length === 0) return entrySentence(entry, this.#context, end);
    return t("entry_window", { hours: hoursOf(window), rules: rules.join(", ") });
  }

  // The rules that look at something, as people call them.
  /** @param {string} label */
  #watching(label) {
    const { settings } = this.#context;
    return watchers(settings, label).map(
      (one) => settings.rules[one]?.name || t("rule_number", { number: one + 1 }),
    );
  }

  // The nearest run of a span says which of its edges it is.
  /** @param {number[]} places @param {Api.ScheduleEntry} entry */
  #runs(places, entry) {
    const runs = (this.#context.live.state.schedule ?? []).filter(({ index }) =>
      places.includes(index),
    );
    const edge = (/** @type {number} */ index) =>
      places.length > 1 ? `, ${t(index === places[0] ? "state_on" : "state_off")}` : "";
    /** @param {"next_run" | "last_run"} key @param {number} way */
    const runText = (key, way) => {
      const [found] = runs
        .flatMap(({ index, [key]: time }) => (time ? [{ index, time }] : []))
        .sort((one, other) => way * (one.time - other.time));
      return found ? t(key, { time: this.#moment(found.time) + edge(found.index) }) : "";
    };
    const [next, last] = [runText("next_run", 1), runText("last_run", -1)];
    const missed = missedText(this.#context.live.state, places, (time) => this.#moment(time));
    return html`<p class="next" ?data-never=${entry.active && !next}>
      ${entry.active ? next || t("never_runs") : t("not_active")}
      ${last ? html`<small>${last}</small>` : nothing}
      ${missed ? html`<small class="attention">${missed}</small>` : nothing}
    </p>`;
  }

  /** @param {number} time */
  #moment(time) {
    return shortMoment(time, this.#context.live.state.time);
  }

  /** @param {number[]} places */
  #remover(places) {
    const [index] = places;
    const about = JSON.stringify(places.map((place) => [place, this.#entries()[place]]));
    const remover =
      this.#removers.get(about) ??
      new Action(this.#context, {
        label: "delete_entry",
        isQuiet: true,
        danger: this.#danger(index),
        perform: () => this.#delete(this.#group(index)),
      });
    this.#removers.set(about, remover);
    return remover;
  }

  // Rules that look at what it switches are named.
  /** @param {number} index @returns {Named} */
  #danger(index) {
    const rules = this.#watching(this.#entries()[index]?.action ?? "");
    return rules.length ? ["delete_used", { rules: rules.join(", ") }] : "delete_danger";
  }

  /** @param {number[]} places @param {HTMLInputElement} box */
  async #activate(places, box) {
    const [index] = places;
    const command = this.#context.commands.get("schedon");
    const items = places.map((place) => command.query({ A: place, B: box.checked }));
    try {
      await this.#send({ target: `${command.path}?${items.join("&")}` });
      this.#refusals.delete(index);
    } catch (error) {
      box.checked = !box.checked;
      this.#refusals.set(index, whyNot(error, "not_reached"));
    }
  }
}
