// Routes are hash addresses: `#/charts?labels=DS1,T1` is the page "charts" with its parameters.
//
// The parameter `thing` is no part of the page: it opens the drawer of a thing over it, and goes
// with Back.

import { queryOf } from "../live/api.js";

/** @typedef {{ mayLeave(isPage: boolean): boolean, held(proceed: () => void): void }} Guard */
/**
 * What the browser keeps with an entry of its history: its place there, and how many entries down
 * the page is without the drawers, and without anything over it. Null where no entry is.
 * @typedef {{ at: number, drawers: number | null, over: number | null }} Entry
 */

const THING = "thing";
// Parameters that open an editor on their page.
const EDITORS = ["edit", "new", "copy", "source"];

// The address of what is shown: it is ahead of the router where a page has noted something.
let shown = "";
/** @type {Entry} */
let entry = { at: 0, drawers: 0, over: 0 };
// The end of the way through the history that is under way.
/** @type {Promise<unknown>} */
let arrival = Promise.resolve();

/** @param {string} hash */
export function routeOf(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const params = new URLSearchParams(query);
  const thing = params.get(THING);
  params.delete(THING);
  return { name: path, params, thing };
}

export const here = () => routeOf(location.hash);

/** @param {string} name @param {Params} [params] */
export function address(name, params = {}) {
  const query = queryOf(params);
  return `#/${name}${query ? `?${query}` : ""}`;
}

// The open page with the drawer of another thing over it, or none.
/** @param {string | null} thing */
export function addressWith(thing) {
  const { name, params } = here();
  return address(name, { ...Object.fromEntries(params), ...(thing ? { [THING]: thing } : {}) });
}

/** @param {string} name @param {Params} params */
export function go(name, params) {
  location.hash = address(name, params);
}

// Keeps the address in step with what a page shows, without opening the page again.
/** @param {string} name @param {Params} params */
export function note(name, params) {
  const { thing } = here();
  replace(address(name, thing ? { ...params, [THING]: thing } : params));
}

// The same as a step of its own, which Back takes back.
/** @param {string} name @param {Params} params */
export function step(name, params) {
  const { thing } = here();
  const hash = address(name, thing ? { ...params, [THING]: thing } : params);
  entry = entryAbove(hash);
  history.pushState(entry, "", hash);
  shown = location.hash;
}

// Leaves an editor for its page. The steps into it are taken back: Back would lead to what is
// closed already.
/** @param {string} name @param {Params} params */
export function leave(name, params) {
  const hash = address(name, params);
  shown = hash;
  if (!entry.over) {
    replace(hash);
    return;
  }
  travel(-entry.over, () => {
    entry = keptState() ?? entry;
    replace(hash);
  });
}

// Moves through the history; `arrive()` is called before all listeners.
/** @param {number} steps */
function travel(steps, arrive = () => {}) {
  arrival = new Promise((arrived) => {
    const there = () => {
      arrive();
      arrived(null);
    };
    addEventListener("popstate", there, { once: true });
  });
  history.go(steps);
}

/** @param {string} hash */
function replace(hash) {
  shown = hash;
  const drawers = routeOf(hash).thing ? entry.drawers : 0;
  entry = { ...entry, drawers, over: hasOver(hash) ? entry.over : 0 };
  history.replaceState(entry, "", hash);
}

/** @returns {Entry | null} */
const keptState = () => (history.state?.at === undefined ? null : history.state);

// A new entry over the one of what is shown.
/** @param {string} hash @returns {Entry} */
function entryAbove(hash) {
  const drawers = pageOf(hash) === pageOf(shown) ? above(entry.drawers) : null;
  const over = routeOf(hash).name === routeOf(shown).name ? above(entry.over) : null;
  return {
    at: entry.at + 1,
    drawers: routeOf(hash).thing ? drawers : 0,
    over: hasOver(hash) ? over : 0,
  };
}

/** @param {number | null} below */
const above = (below) => (below === null ? null : below + 1);

// Is a drawer or an editor open on the page?
/** @param {string} hash */
function hasOver(hash) {
  const { params, thing } = routeOf(hash);
  return thing !== null || EDITORS.some((name) => params.has(name));
}

/** @param {string} hash */
const pageOf = (hash) => {
  const { name, params } = routeOf(hash);
  return `${name}?${params}`;
};

// Calls `open(route)` for every new page and `turn(thing)` where only the drawer changes. Where
// `mayLeave(isPage)` forbids leaving, the old address returns and `held(proceed)` is called.
export class Router {
  #open;
  #guard;
  #turn;
  // The user has confirmed leaving.
  #isSure = false;

  /**
   * @param {(route: Route) => void} open
   * @param {Guard} guard
   * @param {(thing: string | null) => void} [turn]
   */
  constructor(open, guard, turn = () => {}) {
    this.#open = open;
    this.#guard = guard;
    this.#turn = turn;
  }

  // Gives a function that ends it.
  start() {
    shown = location.hash;
    const drawers = here().thing ? null : 0;
    entry = keptState() ?? { at: 0, drawers, over: hasOver(shown) ? null : 0 };
    history.replaceState(entry, "");
    const onMove = () => this.#onMove();
    addEventListener("hashchange", onMove);
    this.#open(here());
    return () => removeEventListener("hashchange", onMove);
  }

  // Opens another page in the place of the one that was asked for.
  /** @param {string} hash */
  redirect(hash) {
    entry = { ...entryAbove(hash), at: entry.at };
    replace(hash);
    this.#open(here());
  }

  // Back to the page below the drawers, by the history where they are in it.
  closeDrawer() {
    if (!this.#guard.mayLeave(false)) this.#guard.held(() => this.closeDrawer());
    else if (entry.drawers) history.go(-entry.drawers);
    else {
      replace(addressWith(null));
      this.#turn(null);
    }
  }

  #onMove() {
    const wanted = location.hash;
    if (wanted === shown) return;
    const isPage = pageOf(wanted) !== pageOf(shown);
    if (this.#isSure || this.#guard.mayLeave(isPage)) {
      this.#isSure = false;
      this.#show(wanted, isPage);
      return;
    }
    const { at } = keptState() ?? {};
    travel(entry.at - (at ?? entry.at + 1));
    this.#guard.held(() => this.#goOn(wanted, at));
  }

  // To an entry that was held back, or to the same address as a new one.
  /** @param {string} wanted @param {number | undefined} at */
  async #goOn(wanted, at) {
    await arrival;
    // What was saved on the way may have led there.
    if (wanted === shown) return;
    this.#isSure = true;
    if (at === undefined) location.hash = wanted;
    else history.go(at - entry.at);
  }

  /** @param {string} wanted @param {boolean} isPage */
  #show(wanted, isPage) {
    entry = keptState() ?? entryAbove(wanted);
    shown = wanted;
    history.replaceState(entry, "", wanted);
    if (isPage) this.#open(here());
    else this.#turn(here().thing);
  }
}
