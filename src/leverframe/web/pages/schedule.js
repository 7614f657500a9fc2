// Schedule: every entry as a sentence, with its next and its last run.

import { html, nothing } from "../vendor/lit-html.js";
import { Action } from "../lib/action.js";
import * as api from "../lib/api.js";
import { note } from "../lib/router.js";
import { t } from "../lib/words.js";
import { EntryEditor } from "./schedule/editor.js";
import { EntryDraft, wireOf } from "./schedule/entry.js";
import { entrySentence, moment } from "./schedule/sentences.js";

export class Page {
  #context;
  // By index: what is being edited, the buttons that delete, and what was refused.
  /** @type {Map<number, EntryEditor>} */
  #editors = new Map();
  /** @type {Map<number, Action>} */
  #removers = new Map();
  /** @type {Map<number, string>} */
  #refusals = new Map();

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
  }

  /** @param {URLSearchParams} params */
  async open(params) {
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

  // The request that stores the schedule with one entry changed, or without it.
  /** @param {number} index @param {Api.ScheduleEntry | null} entry */
  #request(index, entry) {
    const entries = this.#entries().map((stored, place) => (place === index ? entry : stored));
    return this.#command.listRequest(
      entries.flatMap((one, place) => (one ? [wireOf(place, one)] : [])),
    );
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
        note("schedule", {});
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
    const entries = this.#entries();
    const used = entries.flatMap((entry, index) =>
      entry || this.#editors.has(index) ? [index] : [],
    );
    return html`<div class="cards wide">
      ${used.length ? nothing : html`<p class="empty">${t("no_entries")}</p>`}
      ${used.map((index) => {
        const entry = entries[index];
        return this.#editors.get(index)?.view() ?? (entry ? this.#card(index, entry) : nothing);
      })}
      ${used.length < entries.length
        ? html`<p>
            <button type="button" class="primary" @click=${() => this.#add()}>
              ${t("add_entry")}
            </button>
            <small>${t("places_left", { left: entries.length - used.length })}</small>
          </p>`
        : html`<p class="note">${t("all_used", { max: entries.length })}</p>`}
    </div>`;
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
      <p class="sentence">${entrySentence(entry, this.#context.settings)}</p>
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
        ? t("next_run", { time: moment(runs.next_run) })
        : t("never_runs");
    const last = runs?.last_run ? t("last_run", { time: moment(runs.last_run) }) : "";
    return html`<p class="next" ?data-never=${entry.active && !runs?.next_run}>
      ${next} ${last ? html`<small>${last}</small>` : nothing}
    </p>`;
  }

  /** @param {number} index */
  #remover(index) {
    const remover =
      this.#removers.get(index) ??
      new Action(this.#context, {
        label: "delete_entry",
        danger: "delete_danger",
        perform: () => this.#send(this.#request(index, null)),
      });
    this.#removers.set(index, remover);
    return remover;
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
