// The journal: what happened and why, by day; and who changed what, from where.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { moment } from "../lib/format/moments.js";
import { t } from "../lib/format/words.js";
import { chooser } from "../lib/forms/controls.js";
import { note } from "../lib/frame/router.js";
import * as api from "../lib/live/api.js";
import { Followed } from "../lib/live/live.js";
import {
  emptyJournal,
  groupName,
  groupOf,
  journalList,
  JournalReader,
  plainText,
  thingsOf,
} from "../lib/things/journal.js";
import { thingName } from "../lib/things/things.js";
import { asEntries, auditWords, causeName, changedView, why } from "./log/entries.js";

/** @import { JournalEntry } from "../lib/things/journal.js" */
/** @import { Entry } from "./log/entries.js" */

const STEP = 100;

export class Page {
  #context;
  #journal = new JournalReader();
  /** @type {Signal<AuditEntries>} */
  #changes = signal([]);
  /** @type {Signal<Followed<unknown> | null>} */
  #followed = signal(null);
  #list = signal("log");
  // The label of a thing; "thing" is the drawer's own word in an address.
  #about = signal("");
  #cause = signal("");
  #text = signal("");
  #shown = signal(STEP);

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
  }

  /** @param {URLSearchParams} params */
  async open(params) {
    this.#list.value = params.get("list") === "audit" ? "audit" : "log";
    this.#about.value = params.get("about") ?? "";
    this.#cause.value = params.get("cause") ?? "";
    this.#text.value = params.get("text") ?? "";
    await this.#follow();
  }

  close() {
    this.#followed.value?.close();
  }

  async #follow() {
    this.#followed.value?.close();
    const read = async () => {
      if (this.#list.value === "log") return this.#journal.read();
      this.#changes.value = await api.audit();
      return auditWords(this.#changes.value);
    };
    this.#followed.value = new Followed(this.#context, read);
    await this.#followed.value.open();
  }

  view() {
    return html`<section class="card">
      <h2 class="unseen">${t(`list_${this.#list.value}`)}</h2>
      <p class="note">${t(`about_${this.#list.value}`)}</p>
      ${this.#list.value === "audit" ? this.#audit() : this.#journalView()}
    </section>`;
  }

  // ---- what happened -------------------------------------------------------------------------

  #journalView() {
    const { entries } = this.#journal;
    const wanted = entries.filter((entry) => this.#isWanted(entry));
    const labels = new Set(entries.flatMap(thingsOf));
    if (this.#about.value) labels.add(this.#about.value);
    const things = this.#listOptions([...labels], (label) => thingName(this.#context, label));
    const groups = this.#listOptions([...new Set(entries.map(groupOf))], groupName);
    return html`${this.#filters([
      this.#chooser("about", things, this.#about.value),
      this.#chooser("cause", groups, this.#cause.value),
    ])}
    ${wanted.length === 0
      ? emptyJournal(this.#journal, t("nothing_found"))
      : journalList(this.#context, wanted, this.#shown.value)}
    ${wanted.length > this.#shown.value || this.#journal.hasOlder
      ? html`<button type="button" @click=${() => this.#older(wanted.length)}>
          ${t("older")}
        </button>`
      : nothing}`;
  }

  /** @param {JournalEntry} entry */
  #isWanted(entry) {
    if (this.#about.value && !thingsOf(entry).includes(this.#about.value)) return false;
    if (this.#cause.value && groupOf(entry) !== this.#cause.value) return false;
    if (!this.#text.value) return true;
    const text = plainText(this.#context, entry, this.#journal.entries);
    return text.toLowerCase().includes(this.#text.value.toLowerCase());
  }

  /** @param {number} count */
  async #older(count) {
    this.#shown.value += STEP;
    if (this.#shown.value > count && this.#journal.hasOlder) {
      await this.#journal.readOlder().catch(() => {});
    }
  }

  // ---- filters -------------------------------------------------------------------------------

  /**
   * @param {"list" | "about" | "cause"} part
   * @param {[string, string][]} offered
   * @param {string} now
   */
  #chooser(part, offered, now) {
    return chooser(`log-${part}`, t(part), offered, now, (one) => this.#choose(part, one));
  }

  /**
   * @param {string[]} values
   * @param {(value: string) => string} nameOf
   * @returns {[string, string][]}
   */
  #listOptions(values, nameOf) {
    /** @type {[string, string][]} */
    const named = values.map((value) => [value, nameOf(value)]);
    return [["", t("all")], ...named.sort(([, a], [, b]) => a.localeCompare(b))];
  }

  /** @param {Template[]} choosers */
  #filters(choosers) {
    /** @type {[string, string][]} */
    const lists = ["log", "audit"].map((list) => [list, t(`list_${list}`)]);
    return html`<div class="filters">
      ${this.#chooser("list", lists, this.#list.value)} ${choosers}
      <div class="field">
        <label for="log-text">${t("text")}</label>
        <input
          id="log-text"
          type="search"
          .value=${this.#text.value}
          @input=${(event) => this.#choose("text", event.target.value)}
        />
      </div>
    </div>`;
  }

  /** @param {"list" | "about" | "cause" | "text"} part @param {string} value */
  #choose(part, value) {
    this.#shown.value = STEP;
    if (part === "list") {
      this.#list.value = value;
      this.#about.value = this.#cause.value = "";
      this.#follow().catch(() => {});
    } else if (part === "about") this.#about.value = value;
    else if (part === "cause") this.#cause.value = value;
    else this.#text.value = value;
    const chosen = {
      list: this.#list.value,
      about: this.#about.value,
      cause: this.#cause.value,
      text: this.#text.value,
    };
    note("log", Object.fromEntries(Object.entries(chosen).filter(([, one]) => one)));
  }

  // ---- who changed what ----------------------------------------------------------------------

  #audit() {
    const entries = asEntries(this.#context, this.#changes.value);
    const causes = this.#listOptions([...new Set(entries.map(({ cause }) => cause))], causeName);
    const wanted = entries.filter((entry) => this.#isAuditWanted(entry));
    const { time: now } = this.#context.live.state;
    return html`${this.#filters([this.#chooser("cause", causes, this.#cause.value)])}
      ${wanted.length === 0 ? html`<p class="empty">${t("nothing_found")}</p>` : nothing}
      <ol class="log">
        ${wanted.slice(0, this.#shown.value).map(
          (entry) =>
            html`<li>
              <time>${moment(entry.time, now)}</time>
              <span>
                ${changedView(entry)}
                ${entry.more
                  ? html`<span class="happened">${t("not_listed", { more: entry.more })}</span>`
                  : nothing}
              </span>
              ${why(entry)}
            </li>`,
        )}
      </ol>
      ${wanted.length > this.#shown.value
        ? html`<button type="button" @click=${() => this.#older(Infinity)}>${t("older")}</button>`
        : nothing}`;
  }

  /** @param {Entry} entry */
  #isAuditWanted({ cause, who, lines, details }) {
    if (this.#cause.value && cause !== this.#cause.value) return false;
    const wanted = this.#text.value.toLowerCase();
    const texts = [causeName(cause), who, ...lines, ...details];
    return texts.join(" ").toLowerCase().includes(wanted);
  }
}
