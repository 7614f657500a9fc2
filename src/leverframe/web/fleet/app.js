// The page "Fleet" of a node: all its controllers, and what is done with many of them.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { fullMoment, zoneNote } from "../lib/format/moments.js";
import { serverText, t } from "../lib/format/words.js";
import { optionsOf } from "../lib/forms/controls.js";
import { keepPageDrawn, connectionView, startFrame } from "../lib/frame/several.js";
import { isSame } from "../lib/live/tree.js";
import { icon } from "../lib/things/signs.js";
import { Bulk } from "./bulk.js";
import { Changes } from "./changes.js";
import { GroupTime } from "./group_time.js";
import { fleetHeader } from "./header.js";
import { list, sharedByControllers, sums } from "./list.js";
import { Making } from "./making.js";
import { Nodes } from "./nodes.js";
import { Rollouts } from "./rollouts.js";
import { StartAgain } from "./start_again.js";
import { Tenants } from "./tenants.js";
import { addressWith, FleetStream, paging, readAddress } from "./view.js";

const TYPING_MS = 200;
const SECOND_MS = 1000;
const MINUTE_S = 60;
// Number of new rows drawn together; the rest follow in turns. Fifty rows block a slow browser for
// 0.6 s; sixteen fill a screen.
const ROWS_ADDED = 16;

class FleetPage {
  #stream = new FleetStream();
  #bulk = new Bulk(this);
  #making = new Making(this);
  #time = new GroupTime(this);
  #startAgain = new StartAgain();
  #nodes = new Nodes();
  #rollouts = new Rollouts();
  #tenants = new Tenants();
  #changes = new Changes(this);
  /** @type {Signal<Set<string>>} */
  #names = signal(new Set());
  // All that are looked for are chosen, also those that are not in view.
  #isAll = signal(false);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #typing;
  #address = signal(readAddress());
  // As it was typed, perhaps with a space at its end.
  #searchText = signal(this.#address.value.wanted.search);
  // How many rows stand on the page, null where it shows no list.
  /** @type {number | null} */
  #rows = null;
  // Time that passes is seen by the minute, but where a roll-out waits.
  #ticks = signal(0);
  #minute = 0;

  async start() {
    // The browser's dates take a slow one 0.15 s the first time: not while the list is drawn.
    setTimeout(() => fullMoment(0, { dateStyle: "medium" }));
    await startFrame("fleet");
    addEventListener("hashchange", () => this.#look());
    setInterval(() => this.#tick(), SECOND_MS);
    this.#look();
    keepPageDrawn("fleet", () => this.#view());
  }

  #look() {
    const before = this.#address.value;
    this.#address.value = readAddress();
    if (!isSame(this.#address.value.wanted, before.wanted)) this.#isAll.value = false;
    if (this.#address.value.view !== before.view) this.#changes.forget();
    const { search } = this.#address.value.wanted;
    if (this.#searchText.value.trim() !== search) this.#searchText.value = search;
    const { wanted, page } = this.#address.value;
    const isElsewhere = !isSame([wanted, page], [before.wanted, before.page]);
    if (isElsewhere || !this.#stream.view) this.#stream.look({ wanted, page });
  }

  #tick() {
    const isWaiting = this.#stream.view?.rollouts.some(({ go_on_at: at }) => at !== null);
    const isCounted = isWaiting && this.#address.value.view === "rollouts";
    if (isCounted || minuteOf(this.#stream.time) !== this.#minute) this.#ticks.value++;
  }

  // --- what is chosen ---

  /** @returns {FleetChoice} */
  get choice() {
    if (this.#isAll.value) return { wanted: this.#address.value.wanted };
    return { names: [...this.#names.value] };
  }

  get count() {
    return this.#isAll.value ? (this.#stream.view?.matching ?? 0) : this.#names.value.size;
  }

  get node() {
    return this.#stream.view?.node ?? null;
  }

  get time() {
    return this.#stream.time ?? 0;
  }

  get cluster() {
    return this.#stream.view?.cluster ?? null;
  }

  get rows() {
    return this.#stream.view?.rows ?? [];
  }

  get rowNames() {
    return this.#stream.view?.order ?? [];
  }

  /** @param {string[]} names @param {boolean} on */
  #choose(names, on) {
    const chosen = new Set(this.#isAll.value ? this.rowNames : this.#names.value);
    for (const name of names) {
      if (on) chosen.add(name);
      else chosen.delete(name);
    }
    this.#names.value = chosen;
    this.#isAll.value = false;
    this.#bulk.forChoice();
  }

  chooseNone() {
    this.#names.value = new Set();
    this.#isAll.value = false;
    this.#bulk.forChoice();
  }

  #chooseAll() {
    this.#isAll.value = true;
    this.#bulk.forChoice();
  }

  fork() {
    const [name] = this.#names.value;
    this.#making.open(name, []);
    return null;
  }

  // --- what is shown ---

  #view() {
    this.#ticks.value;
    const top = fleetHeader(this.#stream, this.#address.value.view);
    this.#minute = minuteOf(this.#stream.time);
    const main = this.#main();
    if (this.#rows !== null && this.#rows < (this.#stream.view?.rows.length ?? 0)) {
      setTimeout(() => this.#ticks.value++);
    }
    return html`${top}${connectionView(this.#stream.lostSince)}${main}`;
  }

  #main() {
    const { view, connection, isStale } = this.#stream;
    if (!view) return html`<main aria-busy="true"></main>`;
    return html`<main aria-busy=${String(isStale)} ?data-lost=${connection === "lost"}>
      ${zoneNote(this.#stream.time)} ${this.#content(view)}
    </main>`;
  }

  /** @param {FleetView} view */
  #content(view) {
    const { time } = this.#stream;
    const problems = view.node.troubles.map(
      (sentence) =>
        html`<p class="problem" role="alert">${icon("attention")} ${serverText(sentence)}</p>`,
    );
    problems.push(this.#startAgain.view(view.node));
    const { starting } = view.node;
    if (starting) {
      problems.unshift(html`<p class="note" role="status">${t("starting", starting)}</p>`);
    }
    const before = this.#rows ?? 0;
    this.#rows = null;
    switch (this.#address.value.view) {
      case "rollouts":
        return html`<h1>${t("rollouts")}</h1>
          ${problems} ${this.#rollouts.view(view.rollouts, time ?? 0)}`;
      case "changes":
        return this.#onStreamChange(view, problems, time ?? 0);
      case "tenants":
        return html`<h1>${t("tenants")}</h1>
          ${problems} ${this.#tenants.view()}`;
      case "nodes":
        return html`<h1>${t("nodes")}</h1>
          ${problems} ${view.cluster ? this.#nodes.view(view.cluster, time ?? 0) : nothing}`;
      default:
        this.#rows = Math.min(view.rows.length, before + ROWS_ADDED);
        return this.#controllers(view, problems, this.#rows);
    }
  }

  /** @param {FleetView} view @param {Template[]} problems @param {number} time */
  #onStreamChange(view, problems, time) {
    const { wanted, looked } = this.#address.value;
    // A node that falls silent takes its part along, and brings it back.
    const news = JSON.stringify([view.changes, view.node.troubles]);
    return html`<div class="head">
        <h1>${t("changes")}</h1>
        ${this.#search()}
      </div>
      ${problems} ${this.#changes.view(wanted, looked, this.#choices(view, wanted), time, news)}`;
  }

  /** @param {FleetView} view @param {Template[]} problems @param {number} shown */
  #controllers(view, problems, shown) {
    const { time, page } = this.#stream;
    const { wanted } = this.#address.value;
    const isChosen = (/** @type {string} */ name) =>
      this.#isAll.value || this.#names.value.has(name);
    return html`<div class="head">
        <h1>${t("controllers")}</h1>
        ${sums(view, wanted)} ${this.#search()}
        ${view.node.role === "administrator" ? this.#add() : nothing}
      </div>
      ${problems} ${this.#time.view()} ${this.#making.view()}
      ${view.node.controllers ? this.#filters(view, wanted) : nothing}
      ${sharedByControllers(view, wanted)}
      <section class="card list">
        <div class="rows">
          ${view.rows.length
            ? list(view, shown, isChosen, (names, on) => this.#choose(names, on), time ?? 0)
            : html`<p class="empty">${t(whyEmpty(view.node))}</p>`}
        </div>
        ${this.#offerAll(view, isChosen)} ${paging(view.matching, page)} ${this.#bulk.view()}
      </section>`;
  }

  #add() {
    return html`<button
      type="button"
      data-do="add"
      @click=${() => this.#making.open(null, this.#isAll.value ? [] : [...this.#names.value])}
    >
      ${icon("plus")}${t("add")}
    </button>`;
  }

  #search() {
    const onType = (/** @type {string} */ text) => {
      this.#searchText.value = text;
      clearTimeout(this.#typing);
      this.#typing = setTimeout(() => {
        location.replace(addressWith({ search: text.trim(), page: 1 }));
      }, TYPING_MS);
    };
    return html`<input
      type="search"
      aria-label=${t("search_for")}
      placeholder=${t("search_for")}
      .value=${this.#searchText.value}
      @input=${(event) => onType(event.target.value)}
    />`;
  }

  /** @param {FleetView} view @param {FleetWanted} wanted */
  #choices({ node }, { tag, owner, version }) {
    return html`${this.#filter("tag", node.tags, tag)} ${this.#filter("owner", node.tenants, owner)}
    ${this.#filter("version", node.versions, version)}`;
  }

  /** @param {FleetView} view @param {FleetWanted} wanted */
  #filters(view, wanted) {
    const { order } = wanted;
    return html`<div class="filters-of-fleet">
      ${this.#choices(view, wanted)}
      <select
        aria-label=${t("order")}
        @change=${(event) => location.assign(addressWith({ order: event.target.value, page: 1 }))}
      >
        ${optionsOf(
          [
            ["", t("worst_first")],
            ["name", t("by_name")],
          ],
          order,
        )}
      </select>
    </div>`;
  }

  // Only where there is something to choose from.
  /**
   * @param {"tag" | "owner" | "version"} key
   * @param {Record<string, number>} counts
   * @param {string} current
   */
  #filter(key, counts, current) {
    const names = Object.keys(counts);
    if (current && !names.includes(current)) names.push(current);
    if (names.length < (key === "version" ? 2 : 1) && !current) return nothing;
    const labels = names.map((name) => `${name.replace("/", " / ")} (${counts[name] ?? 0})`);
    return html`<select
      aria-label=${t(`filter_${key}`)}
      data-filter=${key}
      @change=${(event) => location.assign(addressWith({ [key]: event.target.value, page: 1 }))}
    >
      ${optionsOf([["", t(`every_${key}`)], ...names.map((name, i) => [name, labels[i]])], current)}
    </select>`;
  }

  /** @param {FleetView} view @param {(name: string) => boolean} isChosen */
  #offerAll({ matching, order }, isChosen) {
    if (this.#isAll.value || matching <= order.length || !order.every(isChosen)) return nothing;
    return html`<p class="offer">
      <button type="button" data-do="all" @click=${() => this.#chooseAll()}>
        ${t("choose_all", { count: matching })}
      </button>
    </p>`;
  }
}

/** @param {FleetNode} node */
function whyEmpty({ controllers, starting }) {
  if (controllers) return "nothing_found";
  return starting ? "not_started_yet" : "nothing_yet";
}

/** @param {number | null} time */
const minuteOf = (time) => Math.floor((time ?? 0) / MINUTE_S);

new FleetPage().start();
