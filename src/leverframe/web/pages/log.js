// What happened, and who changed what: both lists live, by cause and by text.

import { html, nothing } from "../vendor/lit-html.js";
import * as api from "../lib/api.js";
import { chooser } from "../lib/chooser.js";
import { Followed } from "../lib/followed.js";
import { moment } from "../lib/moments.js";
import { note } from "../lib/router.js";
import { t } from "../lib/words.js";
import { asEntries, causeName } from "./log/entries.js";

/** @import { Entry } from "./log/entries.js" */

/** @type {Record<"log" | "audit", () => Promise<LogEntries | AuditEntries>>} */
const LISTS = { log: api.log, audit: api.audit };
const STEP = 100;

export class Page {
  #context;
  /** @type {Followed<LogEntries | AuditEntries> | null} */
  #followed = null;
  /** @type {keyof typeof LISTS} */
  #list = "log";
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
    this.#cause = params.get("cause") ?? "";
    this.#text = params.get("text") ?? "";
    await this.#follow();
  }

  close() {
    this.#followed?.close();
  }

  async #follow() {
    this.#followed?.close();
    this.#followed = new Followed(this.#context, LISTS[this.#list]);
    await this.#followed.open();
  }

  view() {
    const entries = asEntries(this.#followed?.value ?? []);
    return html`<section class="card">
      <p class="note">${t(`about_${this.#list}`)}</p>
      ${this.#filters(entries)} ${this.#entries(entries.filter((entry) => this.#isWanted(entry)))}
    </section>`;
  }

  /** @param {Entry[]} entries */
  #filters(entries) {
    const present = new Set([...entries.map(({ cause }) => cause), this.#cause]);
    const causes = [...present].filter(Boolean).sort();
    /** @type {[string, string][]} */
    const named = causes.map((cause) => [cause, causeName(cause)]);
    /** @type {[string, string][]} */
    const offered = [["", t("all")], ...named];
    /** @type {[string, string][]} */
    const lists = Object.keys(LISTS).map((list) => [list, t(`list_${list}`)]);
    return html`<div class="filters">
      ${chooser("log-list", t("list"), lists, this.#list, (one) => this.#choose("list", one))}
      ${chooser("log-cause", t("cause"), offered, this.#cause, (one) => this.#choose("cause", one))}
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

  /** @param {string} part @param {string} value */
  #choose(part, value) {
    this.#shown = STEP;
    if (part === "list") {
      this.#list = value === "audit" ? "audit" : "log";
      this.#cause = "";
      this.#follow().catch(() => {});
    } else if (part === "cause") this.#cause = value;
    else this.#text = value;
    const chosen = { list: this.#list, cause: this.#cause, text: this.#text };
    note("log", Object.fromEntries(Object.entries(chosen).filter(([, one]) => one)));
    this.#context.redraw();
  }

  /** @param {Entry} entry */
  #isWanted({ cause, who, lines }) {
    if (this.#cause && cause !== this.#cause) return false;
    const wanted = this.#text.toLowerCase();
    return [causeName(cause), who, ...lines].join(" ").toLowerCase().includes(wanted);
  }

  /** @param {Entry[]} entries */
  #entries(entries) {
    if (entries.length === 0) return html`<p class="empty">${t("nothing_found")}</p>`;
    const hidden = entries.length - this.#shown;
    const { time: now } = this.#context.live.state;
    return html`<ol class="log">
        ${entries.slice(0, this.#shown).map(
          ({ time, cause, who, lines }) => html`<li>
            <time>${moment(time, now)}</time>
            <span>${lines.map((line) => html`<span class="happened">${line}</span>`)}</span>
            <small>${[causeName(cause), who].filter(Boolean).join(" · ")}</small>
          </li>`,
        )}
      </ol>
      ${hidden > 0
        ? html`<button type="button" @click=${() => this.#more()}>
            ${t("older", { hidden })}
          </button>`
        : nothing}`;
  }

  #more() {
    this.#shown += STEP;
    this.#context.redraw();
  }
}
