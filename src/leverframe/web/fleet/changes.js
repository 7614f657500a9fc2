// Who changed what on the controllers that are looked for, newest first.

import { html, nothing } from "../vendor/lit-html.js";
import * as api from "../lib/api.js";
import { contextOf } from "../lib/foreign_context.js";
import { moment } from "../lib/moments.js";
import { clock, fetchWords, speaking, t } from "../lib/words.js";
import { asEntries, auditWords, causeName } from "../pages/log/entries.js";
import { addressWith } from "./address.js";
import * as node from "./node_api.js";

/** @import { Entry } from "../pages/log/entries.js" */
/** @typedef {Entry & { changes: FleetChange[] }} Told of one controller, or of several alike */

const CONTEXT = contextOf();
// So many are read at first, and at most; so many are drawn at once.
const READ = 200;
const MAX_READ = 1000;
const STEP = 50;
// What the same person did to several within this time is told once.
const TOGETHER_S = 120;
const NAMED = 3;
const LINES = 5;

export class Changes {
  #page;
  // What they were read for; null before that.
  /** @type {string | null} */
  #readFor = null;
  /** @type {FleetChange[] | null} */
  #changes = null;
  #count = READ;
  #shown = STEP;
  #readAt = 0;
  // Whoever was seen to change something, also while changes of one of them are shown.
  /** @type {Set<string>} */
  #accounts = new Set();
  /** @type {string | null} */
  #refusal = null;

  /** @param {FleetPageLike} page */
  constructor(page) {
    this.#page = page;
  }

  // Whoever comes back wants to see what happened meanwhile.
  forget() {
    this.#readFor = null;
    this.#count = READ;
    this.#shown = STEP;
  }

  /**
   * @param {FleetWanted} wanted
   * @param {FleetLooked} looked
   * @param {Template} choices of controllers
   * @param {number} time
   */
  view(wanted, { by, text }, choices, time) {
    const about = { ...wanted, health: "", order: "", by };
    if (JSON.stringify(about) !== this.#readFor) {
      this.forget();
      this.#readFor = JSON.stringify(about);
      this.#read(about);
    }
    return html`<div class="filters-of-fleet">${choices} ${this.#filters(by, text)}</div>
      <section class="card list" aria-label=${t("changes")} aria-busy=${String(!this.#changes)}>
        ${this.#refusal ? html`<p class="refusal" role="alert">${this.#refusal}</p>` : nothing}
        ${this.#changes ? this.#list(this.#changes, about, text, time) : nothing}
      </section>`;
  }

  /** @param {string} by @param {string} text */
  #filters(by, text) {
    const accounts = [...new Set([...this.#accounts, ...(by ? [by] : [])])].sort();
    return html`<select
        aria-label=${t("filter_by")}
        data-filter="by"
        @change=${(event) => location.assign(addressWith({ by: event.target.value }))}
      >
        <option value="" .selected=${by === ""}>${t("every_by")}</option>
        ${accounts.map(
          (name) => html`<option value=${name} .selected=${name === by}>${name}</option>`,
        )}
      </select>
      <input
        type="search"
        data-filter="text"
        aria-label=${t("filter_text")}
        placeholder=${t("filter_text")}
        .value=${text}
        @input=${(event) => location.replace(addressWith({ text: event.target.value }))}
      />`;
  }

  /**
   * @param {FleetChange[]} changes
   * @param {FleetChangesOf} about
   * @param {string} text
   * @param {number} time
   */
  #list(changes, about, text, time) {
    const told = speaking("log", () =>
      together(changes).filter((one) => textOf(one).includes(text.toLowerCase())),
    );
    const hasMore = changes.length === this.#count && this.#count < MAX_READ;
    return html`${told.length
        ? html`<ol class="log changes">
            ${told.slice(0, this.#shown).map((one) => row(one, time))}
          </ol>`
        : html`<p class="empty">${t("no_changes")}</p>`}
      <p class="offer">
        <small>${t("read_at", { time: clock(this.#readAt).slice(0, 5) })}</small>
        <button type="button" data-do="read" @click=${() => this.#read(about)}>
          ${t("read_again")}
        </button>
        ${told.length > this.#shown || hasMore
          ? html`<button type="button" data-do="older" @click=${() => this.#older(told, about)}>
              ${t("older_changes")}
            </button>`
          : nothing}
      </p>`;
  }

  /** @param {Told[]} told @param {FleetChangesOf} about */
  #older(told, about) {
    this.#shown += STEP;
    if (told.length >= this.#shown || this.#count === MAX_READ) {
      this.#page.redraw();
      return;
    }
    this.#count = Math.min(MAX_READ, this.#count + READ);
    this.#read(about);
  }

  /** @param {FleetChangesOf} about */
  async #read(about) {
    const readFor = this.#readFor;
    try {
      const changes = await node.changes(about, this.#count);
      const entries = changes.map(({ entry }) => entry);
      await Promise.all([fetchWords("log"), auditWords(entries)]);
      // Something else may be looked for by now.
      if (this.#readFor !== readFor) return;
      this.#changes = changes;
      this.#refusal = null;
      this.#readAt = Date.now() / 1000;
      for (const { account } of entries) if (account) this.#accounts.add(account);
    } catch (error) {
      if (!api.mayPass(error)) throw error;
      if (this.#readFor !== readFor) return;
      this.#changes = null;
      this.#refusal = /** @type {Error} */ (error).message;
    }
    this.#page.redraw();
  }
}

// What is the same for several at nearly the same time is told once.
/** @param {FleetChange[]} changes newest first @returns {Told[]} */
export function together(changes) {
  /** @type {Told[]} */
  const told = [];
  for (const change of changes) {
    const [entry] = asEntries(CONTEXT, [change.entry]);
    const alike = told.slice(firstAfter(told, change)).find((one) => isAlike(one, entry));
    if (alike) alike.changes.push(change);
    else told.push({ ...entry, changes: [change] });
  }
  return told;
}

// Where those begin that are near in time and tell nothing of the same controller: its own changes
// stay in their order.
/** @param {Told[]} told @param {FleetChange} change */
const firstAfter = (told, { name, entry }) =>
  told.findLastIndex(
    ({ time, changes }) =>
      time - entry.time >= TOGETHER_S || changes.some((one) => one.name === name),
  ) + 1;

/** @param {Entry} one @param {Entry} other */
const isAlike = (one, other) =>
  one.cause === other.cause &&
  one.who === other.who &&
  one.lines.join("\n") === other.lines.join("\n");

/** @param {Told} told */
const textOf = ({ cause, who, lines, changes }) =>
  [causeName(cause), who, ...lines, ...changes.map(({ name }) => name)].join(" ").toLowerCase();

/** @param {Told} told @param {number} now */
function row({ time, cause, who, lines, changes }, now) {
  const [first] = changes;
  const left = changes.length - NAMED;
  const hidden = lines.length - LINES;
  const why = speaking("log", () => causeName(cause));
  return html`<li data-names=${changes.map(({ name }) => name).join(" ")}>
    <time>${moment(time, now)}</time>
    <span class="whose">
      ${changes
        .slice(0, NAMED)
        .map(({ name, url }) => html`<a class="name" href=${url || nothing}>${name}</a>`)}
      ${left > 0 ? html`<small>${t("more", { count: left })}</small>` : nothing}
    </span>
    <span>
      ${lines.slice(0, LINES).map((line) => html`<span class="happened">${line}</span>`)}
      ${hidden > 0
        ? html`<a href=${`${first.url}#/log?list=audit`}>${t("more", { count: hidden })}</a>`
        : nothing}
    </span>
    <small>${[why, who].filter(Boolean).join(" · ")}</small>
  </li>`;
}
