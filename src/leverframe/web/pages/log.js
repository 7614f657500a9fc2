// The journal: what happened and why, by day; and who changed what, from where.

import { html, nothing } from "../vendor/lit-html.js";
import { moment } from "../lib/format/moments.js";
import { t } from "../lib/format/words.js";
import { chooser } from "../lib/forms/controls.js";
import { note } from "../lib/frame/router.js";
import * as api from "../lib/live/api.js";
import { Followed } from "../lib/live/live.js";
import {
  groupName,
  groupOf,
  journalList,
  JournalReader,
  plainText,
  thingsOf,
} from "../lib/things/journal.js";
import { thingName } from "../lib/things/things.js";
import { asEntries, auditWords, causeName, why } from "./log/entries.js";

/** @import { JournalEntry } from "../lib/things/journal.js" */
/** @import { Entry } from "./log/entries.js" */

const STEP = 100;

export class Page {
  #context;
  #journal = new JournalReader();
  /** @type {AuditEntries} */
  #changes = [];
  /** @type {Followed<unknown> | null} */
  #followed = null;
  #list = "log";
  // The label of a thing; "thing" is the drawer's own word in an address.
  #about = "";
  #cause = "";
  #text = "";
  #shown = STEP;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
  }

  /** @param {URLSearchParams} params */
  async open(params) {
    this.#list = params.get("list") === "audit" ? "audit" : "log";
    this.#about = params.get("about") ?? "";
    this.#cause = params.get("cause") ?? "";
    this.#text = params.get("text") ?? "";
    await this.#follow();
  }

  close() {
    this.#followed?.close();
  }

  async #follow() {
    this.#followed?.close();
    const read = async () => {
      if (this.#list === "log") return this.#journal.read();
      this.#changes = await api.audit();
      return auditWords(this.#changes);
    };
    this.#followed = new Followed(this.#context, read);
    await this.#followed.open();
  }

  view() {
    return html`<section class="card">
      <h2 class="unseen">${t(`list_${this.#list}`)}</h2>
      <p class="note">${t(`about_${this.#list}`)}</p>
      ${this.#list === "audit" ? this.#audit() : this.#told()}
    </section>`;
  }

  // ---- what happened -------------------------------------------------------------------------

  #told() {
    const { entries } = this.#journal;
    const wanted = entries.filter((entry) => this.#isWanted(entry));
    const labels = new Set(entries.flatMap(thingsOf));
    if (this.#about) labels.add(this.#about);
    const things = this.#offered([...labels], (label) => thingName(this.#context, label));
    const groups = this.#offered([...new Set(entries.map(groupOf))], groupName);
    return html`${this.#filters([
        this.#chooser("about", things, this.#about),
        this.#chooser("cause", groups, this.#cause),
      ])}
      ${wanted.length === 0
        ? html`<p class="empty">${t("nothing_found")}</p>`
        : journalList(this.#context, wanted, this.#shown)}
      ${wanted.length > this.#shown || this.#journal.hasOlder
        ? html`<button type="button" @click=${() => this.#older(wanted.length)}>
            ${t("older")}
          </button>`
        : nothing}`;
  }

  /** @param {JournalEntry} entry */
  #isWanted(entry) {
    if (this.#about && !thingsOf(entry).includes(this.#about)) return false;
    if (this.#cause && groupOf(entry) !== this.#cause) return false;
    if (!this.#text) return true;
    const text = plainText(this.#context, entry, this.#journal.entries);
    return text.toLowerCase().includes(this.#text.toLowerCase());
  }

  /** @param {number} count */
  async #older(count) {
    this.#shown += STEP;
    if (this.#shown > count && this.#journal.hasOlder) {
      await this.#journal.readOlder().catch(() => {});
    }
    this.#context.redraw();
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
  #offered(values, nameOf) {
    /** @type {[string, string][]} */
    const named = values.map((value) => [value, nameOf(value)]);
    return [["", t("all")], ...named.sort(([, a], [, b]) => a.localeCompare(b))];
  }

  /** @param {Template[]} choosers */
  #filters(choosers) {
    /** @type {[string, string][]} */
    const lists = ["log", "audit"].map((list) => [list, t(`list_${list}`)]);
    return html`<div class="filters">
      ${this.#chooser("list", lists, this.#list)}
      ${choosers}
      <div class="field">
        <label for="log-text">${t("text")}</label>
        <input
          id="log-text"
          type="search"
          .value=${this.#text}
          @input=${(event) => this.#choose("text", event.target.value)}
        />
      </div>
    </div>`;
  }

  /** @param {"list" | "about" | "cause" | "text"} part @param {string} value */
  #choose(part, value) {
    this.#shown = STEP;
    if (part === "list") {
      this.#list = value;
      this.#about = this.#cause = "";
      this.#follow().catch(() => {});
    } else if (part === "about") this.#about = value;
    else if (part === "cause") this.#cause = value;
    else this.#text = value;
    const chosen = { list: this.#list, about: this.#about, cause: this.#cause, text: this.#text };
    note("log", Object.fromEntries(Object.entries(chosen).filter(([, one]) => one)));
    this.#context.redraw();
  }

  // ---- who changed what ----------------------------------------------------------------------

  #audit() {
    const entries = asEntries(this.#context, this.#changes);
    const causes = this.#offered([...new Set(entries.map(({ cause }) => cause))], causeName);
    const wanted = entries.filter((entry) => this.#isAuditWanted(entry));
    const { time: now } = this.#context.live.state;
    return html`${this.#filters([
        this.#chooser("cause", causes, this.#cause),
      ])}
      ${wanted.length === 0 ? html`<p class="empty">${t("nothing_found")}</p>` : nothing}
      <ol class="log">
        ${wanted.slice(0, this.#shown).map(
          ({ time, cause, who, lines }) => html`<li>
            <time>${moment(time, now)}</time>
            <span>${lines.map((line) => html`<span class="happened">${line}</span>`)}</span>
            ${why({ cause, who })}
          </li>`,
        )}
      </ol>
      ${wanted.length > this.#shown
        ? html`<button type="button" @click=${() => this.#older(Infinity)}>${t("older")}</button>`
        : nothing}`;
  }

  /** @param {Entry} entry */
  #isAuditWanted({ cause, who, lines }) {
    if (this.#cause && cause !== this.#cause) return false;
    const wanted = this.#text.toLowerCase();
    return [causeName(cause), who, ...lines].join(" ").toLowerCase().includes(wanted);
  }
}
