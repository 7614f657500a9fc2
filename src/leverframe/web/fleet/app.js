// The page "Fleet" of a node: all its controllers, and what is done with many of them.

import { html, nothing, render } from "../vendor/lit-html.js";
import { icon } from "../lib/icon.js";
import { closeMenusOutside } from "../lib/menu.js";
import { applyTheme } from "../lib/theme.js";
import { clock, serverText, startWords, t, useCodes, usePageWords } from "../lib/words.js";
import { addressWith, readAddress } from "./address.js";
import { Bulk } from "./bulk.js";
import { GroupTime } from "./group_time.js";
import { header } from "./header.js";
import { list, sums } from "./list.js";
import { Making } from "./making.js";
import { Nodes } from "./nodes.js";
import { paging } from "./paging.js";
import { Rollouts } from "./rollouts.js";
import { Tenants } from "./tenants.js";
import { FleetStream } from "./view.js";

const TYPING_MS = 200;
const SECOND_MS = 1000;

class FleetPage {
  #stream = new FleetStream(() => this.redraw());
  #bulk = new Bulk(this);
  #making = new Making(this);
  #time = new GroupTime(this);
  #nodes = new Nodes(this);
  #rollouts = new Rollouts(this);
  #tenants = new Tenants(this);
  /** @type {Set<string>} */
  #names = new Set();
  // All that are looked for are chosen, also those that are not in view.
  #isAll = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #typing;
  #address = readAddress();
  // As it was typed, perhaps with a space at its end.
  #searchText = this.#address.wanted.search;

  async start() {
    applyTheme();
    await Promise.all([startWords(), usePageWords("fleet"), useCodes()]);
    closeMenusOutside();
    addEventListener("hashchange", () => this.#look());
    setInterval(() => this.redraw(), SECOND_MS);
    this.#look();
  }

  #look() {
    const before = JSON.stringify(this.#address.wanted);
    this.#address = readAddress();
    if (JSON.stringify(this.#address.wanted) !== before) this.#isAll = false;
    const { search } = this.#address.wanted;
    if (this.#searchText.trim() !== search) this.#searchText = search;
    this.#stream.look(this.#address);
    this.redraw();
  }

  // --- what is chosen ---

  /** @returns {FleetChoice} */
  get choice() {
    return this.#isAll ? { wanted: this.#address.wanted } : { names: [...this.#names] };
  }

  get count() {
    return this.#isAll ? (this.#stream.view?.matching ?? 0) : this.#names.size;
  }

  get node() {
    return this.#stream.view?.node ?? null;
  }

  get cluster() {
    return this.#stream.view?.cluster ?? null;
  }

  get rowNames() {
    return this.#stream.view?.order ?? [];
  }

  /** @param {string[]} names @param {boolean} on */
  #choose(names, on) {
    if (this.#isAll) this.#names = new Set(this.rowNames);
    this.#isAll = false;
    for (const name of names) {
      if (on) this.#names.add(name);
      else this.#names.delete(name);
    }
    this.#bulk.forget();
    this.redraw();
  }

  chooseNone() {
    this.#names.clear();
    this.#isAll = false;
    this.#bulk.forget();
    this.redraw();
  }

  #chooseAll() {
    this.#isAll = true;
    this.#bulk.forget();
    this.redraw();
  }

  fork() {
    const [name] = this.#names;
    this.#making.open(name, []);
    return null;
  }

  // --- what is shown ---

  redraw() {
    document.title = `${t("fleet")} · Leverframe`;
    const redraw = () => this.redraw();
    const top = header(this.#stream, this.#address.view, redraw);
    render(html`${top}${this.#lost()}${this.#main()}`, document.body);
  }

  #lost() {
    const { lostSince } = this.#stream;
    if (lostSince === null) return nothing;
    return html`<p class="lost" role="alert">
      ${t("connection_lost", { time: clock(lostSince) })}
    </p>`;
  }

  #main() {
    const { view, connection, isStale } = this.#stream;
    if (!view) return html`<main aria-busy="true"></main>`;
    return html`<main aria-busy=${String(isStale)} ?data-lost=${connection === "lost"}>
      ${this.#content(view)}
    </main>`;
  }

  /** @param {FleetView} view */
  #content(view) {
    const { time } = this.#stream;
    const problems = view.node.troubles.map(
      (sentence) =>
        html`<p class="problem" role="alert">${icon("attention")} ${serverText(sentence)}</p>`,
    );
    switch (this.#address.view) {
      case "rollouts":
        return html`<h1>${t("rollouts")}</h1>
          ${problems} ${this.#rollouts.view(view.rollouts, time ?? 0)}`;
      case "tenants":
        return html`<h1>${t("tenants")}</h1>
          ${problems} ${this.#tenants.view()}`;
      case "nodes":
        return html`<h1>${t("nodes")}</h1>
          ${problems}
          ${view.cluster ? this.#nodes.view(view.cluster, time ?? 0) : nothing}`;
      default:
        return this.#controllers(view, problems);
    }
  }

  /** @param {FleetView} view @param {Template[]} problems */
  #controllers(view, problems) {
    const { time, page } = this.#stream;
    const { wanted } = this.#address;
    const isChosen = (/** @type {string} */ name) => this.#isAll || this.#names.has(name);
    return html`<div class="head">
        <h1>${t("controllers")}</h1>
        ${sums(view, wanted)} ${this.#search()}
        ${view.node.role === "administrator" ? this.#add() : nothing}
      </div>
      ${problems} ${this.#time.view()} ${this.#making.view()} ${this.#filters(view, wanted)}
      <section class="card list">
        <div class="rows">
          ${view.rows.length
            ? list(view, isChosen, (names, on) => this.#choose(names, on), time ?? 0)
            : html`<p class="empty">
                ${t(view.node.controllers ? "nothing_found" : "nothing_yet")}
              </p>`}
        </div>
        ${this.#offerAll(view, isChosen)} ${paging(view.matching, page)} ${this.#bulk.view()}
      </section>`;
  }

  #add() {
    return html`<button
      type="button"
      data-do="add"
      @click=${() => this.#making.open(null, this.#isAll ? [] : [...this.#names])}
    >
      ${icon("plus")}${t("add")}
    </button>`;
  }

  #search() {
    const typed = (/** @type {string} */ text) => {
      this.#searchText = text;
      clearTimeout(this.#typing);
      this.#typing = setTimeout(() => {
        location.replace(addressWith({ search: text.trim(), page: 1 }));
      }, TYPING_MS);
    };
    return html`<input
      type="search"
      aria-label=${t("search_for")}
      placeholder=${t("search_for")}
      .value=${this.#searchText}
      @input=${(event) => typed(event.target.value)}
    />`;
  }

  /** @param {FleetView} view @param {FleetWanted} wanted */
  #filters({ node }, { tag, order }) {
    const tags = Object.entries(node.tags);
    return html`<div class="filters-of-fleet">
      ${tags.length || tag
        ? html`<select
            aria-label=${t("tag_filter")}
            @change=${(event) => location.assign(addressWith({ tag: event.target.value, page: 1 }))}
          >
            <option value="" .selected=${tag === ""}>${t("every_tag")}</option>
            ${tags.map(
              ([name, count]) =>
                html`<option value=${name} .selected=${name === tag}>${name} (${count})</option>`,
            )}
          </select>`
        : nothing}
      <select
        aria-label=${t("order")}
        @change=${(event) => location.assign(addressWith({ order: event.target.value, page: 1 }))}
      >
        <option value="" .selected=${order === ""}>${t("worst_first")}</option>
        <option value="name" .selected=${order === "name"}>${t("by_name")}</option>
      </select>
    </div>`;
  }

  /** @param {FleetView} view @param {(name: string) => boolean} isChosen */
  #offerAll({ matching, order }, isChosen) {
    if (this.#isAll || matching <= order.length || !order.every(isChosen)) return nothing;
    return html`<p class="offer">
      <button type="button" data-do="all" @click=${() => this.#chooseAll()}>
        ${t("choose_all", { count: matching })}
      </button>
    </p>`;
  }
}

new FleetPage().start();
