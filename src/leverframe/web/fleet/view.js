// The current view of the fleet: its stream, page and address.

import { html, nothing } from "../vendor/lit-html.js";
import { t } from "../lib/format/words.js";
import { useZone } from "../lib/format/zone.js";
import { observe } from "../lib/live/drawing.js";
import { stream } from "./node_api.js";

// What the node reports about the controllers in view, over one stream.

const RETRY_MS = 2000;
// Heartbeats come every two seconds, and later while a node waits for another one: 3 s at most, of
// which two may follow each other.
const SILENCE_MS = 10_000;
export const ROWS = 50;

export class FleetStream {
  /** @type {FleetView | null} */
  view = null;
  /** @type {"connecting" | "live" | "lost"} */
  connection = "connecting";
  /** @type {number | null} */
  lostSince = null;
  // The page of the list that the view is of, and whether another one is on its way.
  page = 1;
  isStale = true;
  /** @type {EventSource | null} */
  #stream = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {{ wanted: FleetWanted, page: number } | null} */
  #place = null;
  #heardAt = 0;
  // The common time of the last contact.
  /** @type {number | null} */
  #contact = null;

  constructor() {
    observe(this, "view", "connection", "lostSince", "page", "isStale");
    // A hidden tab needs no stream.
    document.addEventListener("visibilitychange", () => this.#listen());
  }

  /** @param {{ wanted: FleetWanted, page: number }} place */
  look(place) {
    this.#place = place;
    this.isStale = true;
    this.#listen();
  }

  // The common time; between two messages the page counts on.
  get time() {
    if (!this.view) return null;
    const { virtual, time } = this.view.node;
    return virtual ? time : time + (performance.now() - this.#heardAt) / 1000;
  }

  #listen() {
    clearTimeout(this.#timer);
    this.#stream?.close();
    if (document.hidden || !this.#place) return;
    const { wanted, page } = this.#place;
    const opened = stream(wanted, (page - 1) * ROWS, ROWS);
    this.#stream = opened;
    opened.addEventListener("view", ({ data }) => {
      this.page = page;
      this.isStale = false;
      this.#hear(JSON.parse(data));
    });
    opened.addEventListener("change", ({ data }) => {
      if (this.view) this.#hear(withChange(this.view, JSON.parse(data)));
    });
    opened.addEventListener("heartbeat", () => this.#noteContact());
    opened.onerror = () => this.#lose();
    this.#expectMessage();
  }

  /** @param {FleetView} view */
  #hear(view) {
    if (view.node !== this.view?.node) this.#heardAt = performance.now();
    this.view = view;
    useZone(view.node.timezone);
    this.connection = "live";
    this.lostSince = null;
    this.#noteContact();
  }

  #noteContact() {
    this.#contact = this.time;
    this.#expectMessage();
  }

  #expectMessage() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#lose(), SILENCE_MS);
  }

  #lose() {
    this.#stream?.close();
    this.connection = "lost";
    this.lostSince ??= this.#contact ?? Date.now() / 1000;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#listen(), RETRY_MS);
  }
}

/** @param {FleetView} view @param {Partial<FleetView>} change @returns {FleetView} */
export function withChange(view, change) {
  const known = new Map([...view.rows, ...(change.rows ?? [])].map((row) => [row.name, row]));
  const order = change.order ?? view.order;
  const rows = order.flatMap((name) => known.get(name) ?? []);
  return { ...view, ...change, order, rows };
}

// The way through a list that has more controllers than are in view.

/** @param {number} matching @param {number} page */
export function paging(matching, page) {
  const pages = Math.max(1, Math.ceil(matching / ROWS));
  if (pages === 1 && page === 1) return nothing;
  const first = (page - 1) * ROWS + 1;
  const last = Math.min(matching, page * ROWS);
  /** @param {number} to @param {string} word */
  const step = (to, word) =>
    to >= 1 && to <= pages
      ? html`<a href=${addressWith({ page: to })}>${word}</a>`
      : html`<span class="quiet">${word}</span>`;
  return html`<nav class="paging" aria-label=${t("paging")}>
    ${step(page - 1, t("earlier"))}
    <span>${t("in_view", { first: Math.min(first, last), last, matching })}</span>
    ${step(page + 1, t("later"))}
  </nav>`;
}

// The search is part of the address, so that it can be kept and shared.

/** @returns {{ wanted: FleetWanted, looked: FleetLooked, page: number, view: string }} */
export function readAddress() {
  const params = new URLSearchParams(location.hash.replace(/^#\/?\??/, ""));
  /** @param {string} name */
  const text = (name) => params.get(name) ?? "";
  return {
    wanted: {
      search: text("search"),
      health: text("health"),
      tag: text("tag"),
      owner: text("owner"),
      version: text("version"),
      order: text("order"),
      finding: text("finding"),
    },
    looked: { by: text("by"), text: text("text") },
    page: Math.max(1, Number(text("page")) || 1),
    // The controllers, or what stands beside them.
    view: text("view"),
  };
}

/** @param {Partial<FleetWanted & FleetLooked> & { page?: number, view?: string }} change */
export function addressWith(change) {
  const { wanted, looked, page, view } = readAddress();
  const params = Object.entries({ ...wanted, ...looked, page, view, ...change })
    .filter(([name, value]) => value && !(name === "page" && value === 1))
    .map(([name, value]) => [name, String(value)]);
  return `#/?${new URLSearchParams(params)}`;
}
