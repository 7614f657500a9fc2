// Who changed what on the controllers that are looked for, newest first.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { moment } from "../lib/format/moments.js";
import { contextOf } from "../lib/format/setting_words.js";
import { clock, fetchWords, speaking, t } from "../lib/format/words.js";
import { optionsOf } from "../lib/forms/controls.js";
import { refusalView, whyNot } from "../lib/forms/task.js";
import { icon } from "../lib/things/signs.js";
import { asEntries, auditWords, causeName, changedView, why } from "../pages/log/entries.js";
import * as node from "./node_api.js";
import { addressWith } from "./view.js";

/** @import { Entry } from "../pages/log/entries.js" */

/** @typedef {Entry & { change: FleetChange }} ChangeGroup */

const CONTEXT = contextOf();
// Number of changes read at first, at most, and drawn together.
const READ = 200;
const MAX_READ = 1000;
const STEP = 50;
const LINES = 5;
// What is new is read for a twentieth of the time: of thousands of controllers it takes long.
const PAUSE = 19;

export class Changes {
  #page;
  // What they were read for; null before that.
  /** @type {string | null} */
  #readFor = null;
  /** @type {Signal<FleetChange[] | null>} */
  #changes = signal(null);
  #count = signal(READ);
  #shown = signal(STEP);
  // By the node's clock, not the reader's.
  #readAt = signal(0);
  // Names of nodes whose part is missing.
  #silent = signal("");
  // What was new when they were read, and when the next news may be.
  #readOf = "";
  #pausedUntil = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #isReading = signal(false);
  // Accounts seen so far, also while changes of one account are shown.
  /** @type {Set<string>} */
  #accounts = new Set();
  /** @type {Signal<string | null>} */
  #refusal = signal(null);

  /** @param {FleetPageLike} page */
  constructor(page) {
    this.#page = page;
  }

  // On return, changes made in between are read.
  forget() {
    this.#readFor = null;
    this.#count.value = READ;
    this.#shown.value = STEP;
  }

  /**
   * @param {FleetWanted} wanted
   * @param {FleetLooked} looked
   * @param {Template} choices of controllers
   * @param {number} time
   * @param {string} news another text when there is something new
   */
  view(wanted, { by, text }, choices, time, news) {
    const about = { ...wanted, health: "", order: "", finding: "", by };
    if (JSON.stringify(about) !== this.#readFor) {
      this.forget();
      this.#readFor = JSON.stringify(about);
      this.#read(about, news);
    } else if (news !== this.#readOf && !this.#isReading.value) {
      this.#readSoon(about, news);
    }
    return html`<div class="filters-of-fleet">${choices} ${this.#filters(by, text)}</div>
      <section
        class="card list"
        aria-label=${t("changes")}
        aria-busy=${String(!this.#changes.value)}
      >
        ${refusalView(this.#refusal.value)}
        ${this.#silent.value
          ? html`<p class="notice" role="status">
              ${icon("attention", "s")} ${t("changes_missing", { nodes: this.#silent.value })}
            </p>`
          : nothing}
        ${this.#changes.value ? this.#list(this.#changes.value, about, text, time) : nothing}
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
        ${optionsOf([["", t("every_by")], ...accounts.map((name) => [name, name])], by)}
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
    const groups = speaking("log", () =>
      changes.map(groupOf).filter((one) => textOf(one).includes(text.toLowerCase())),
    );
    const hasMore = changes.length === this.#count.value && this.#count.value < MAX_READ;
    return html`${groups.length
        ? html`<ol class="log changes">
            ${groups.slice(0, this.#shown.value).map((one) => row(one, time))}
          </ol>`
        : html`<p class="empty">${t("no_changes")}</p>`}
      <p class="offer">
        <small>${t("read_at", { time: clock(this.#readAt.value).slice(0, 5) })}</small>
        <button type="button" data-do="read" @click=${() => this.#read(about, this.#readOf)}>
          ${t("read_again")}
        </button>
        ${groups.length > this.#shown.value || hasMore
          ? html`<button type="button" data-do="older" @click=${() => this.#older(groups, about)}>
              ${t("older_changes")}
            </button>`
          : nothing}
      </p>`;
  }

  /** @param {ChangeGroup[]} groups @param {FleetChangesOf} about */
  #older(groups, about) {
    this.#shown.value += STEP;
    if (groups.length >= this.#shown.value || this.#count.value === MAX_READ) {
      return;
    }
    this.#count.value = Math.min(MAX_READ, this.#count.value + READ);
    this.#read(about, this.#readOf);
  }

  // Others may change more until then: that is read with it.
  /** @param {FleetChangesOf} about @param {string} news */
  #readSoon(about, news) {
    const readFor = this.#readFor;
    clearTimeout(this.#timer);
    const wait = Math.max(0, this.#pausedUntil - performance.now());
    this.#timer = setTimeout(() => {
      if (this.#readFor === readFor) this.#read(about, news);
    }, wait);
  }

  /** @param {FleetChangesOf} about @param {string} news */
  async #read(about, news) {
    const readFor = this.#readFor;
    const begun = performance.now();
    clearTimeout(this.#timer);
    this.#readOf = news;
    this.#isReading.value = true;
    try {
      const { changes, silent } = await node.changes(about, this.#count.value);
      const entries = changes.map(({ entry }) => entry);
      await Promise.all([fetchWords("log"), auditWords(entries)]);
      // Something else may be looked for by now.
      if (this.#readFor !== readFor) return;
      this.#changes.value = changes;
      this.#silent.value = silent;
      this.#refusal.value = null;
      this.#readAt.value = this.#page.time;
      for (const { account } of entries) if (account) this.#accounts.add(account);
    } catch (error) {
      const refusal = whyNot(error);
      if (this.#readFor !== readFor) return;
      this.#changes.value = null;
      this.#silent.value = "";
      this.#refusal.value = refusal;
    } finally {
      if (this.#readFor === readFor) this.#isReading.value = false;
      this.#pausedUntil = performance.now() + PAUSE * (performance.now() - begun);
    }
  }
}

/** @param {FleetChange} change @returns {ChangeGroup} */
const groupOf = (change) => ({ ...asEntries(CONTEXT, [change.entry])[0], change });

/** @param {ChangeGroup} group */
const namedIn = ({ change }) => [change, ...change.others];

/** @param {ChangeGroup} group */
function textOf(group) {
  const { cause, who, lines, details } = group;
  const names = namedIn(group).map(({ name }) => name);
  return [causeName(cause), who, ...lines, ...details, ...names].join(" ").toLowerCase();
}

/** @param {ChangeGroup} group @param {number} now */
function row(group, now) {
  const { time, lines, more, change } = group;
  const named = namedIn(group);
  const left = change.count - named.length;
  const hidden = Math.max(0, lines.length - LINES) + more;
  return html`<li data-names=${named.map(({ name }) => name).join(" ")}>
    <time>${moment(time, now)}</time>
    <span class="whose">
      ${named.map(({ name, url }) => html`<a class="name" href=${url || nothing}>${name}</a>`)}
      ${left > 0 ? html`<small>${t("more", { count: left })}</small>` : nothing}
    </span>
    <span>
      ${changedView(group, LINES)}
      ${hidden > 0
        ? html`<a href=${`${change.url}#/log?list=audit`}>${t("more", { count: hidden })}</a>`
        : nothing}
    </span>
    ${speaking("log", () => why(group))}
  </li>`;
}
