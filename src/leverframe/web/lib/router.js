// Routes are hash addresses: `#/charts?labels=DS1,T1` is the page "charts" with its parameters.
//
// The parameter `thing` is no part of the page: it opens the drawer of a thing over it, and goes
// with Back.

import { queryOf } from "./api.js";

/** @typedef {{ mayLeave(isPage: boolean): boolean, held(proceed: () => void): void }} Guard */

const THING = "thing";

// The address of what is shown: it is ahead of the router where a page has noted something.
let shown = "";

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
  history.pushState({ drawers: 0 }, "", hash);
  shown = location.hash;
}

/** @param {string} hash */
function replace(hash) {
  history.replaceState(history.state, "", hash);
  shown = hash;
}

/** @param {string} hash */
const pageOf = (hash) => {
  const { name, params } = routeOf(hash);
  return `${name}?${params}`;
};

// Calls `open(route)` for every new page and `turn(thing)` where only the drawer changes, unless
// `mayLeave(isPage)` holds the person back: then the old address returns and `held(proceed)` is
// told how to go on nevertheless.
export class Router {
  #open;
  #guard;
  #turn;
  // How many entries of the browser's history are drawers over the open page; null where it was
  // opened with one, so that no entry is without.
  /** @type {number | null} */
  #drawers = 0;

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
    this.#drawers = this.#kept(here().thing ? null : 0);
    const moved = () => this.#moved();
    addEventListener("hashchange", moved);
    this.#open(here());
    return () => removeEventListener("hashchange", moved);
  }

  // Back to the page below the drawers, by the history where they are in it.
  closeDrawer() {
    if (!this.#guard.mayLeave(false)) this.#guard.held(() => this.closeDrawer());
    else if (this.#drawers) history.go(-this.#drawers);
    else {
      replace(addressWith(null));
      this.#turn(null);
    }
  }

  // The entry's own number, or that of a new one.
  /** @param {number | null} fresh */
  #kept(fresh) {
    return history.state?.drawers === undefined ? fresh : history.state.drawers;
  }

  #moved() {
    const wanted = location.hash;
    if (wanted === shown) return;
    const isPage = pageOf(wanted) !== pageOf(shown);
    if (this.#guard.mayLeave(isPage)) {
      this.#show(wanted, isPage);
      return;
    }
    this.#drawers = null;
    history.replaceState({ drawers: null }, "", shown || "#/");
    this.#guard.held(() => {
      history.pushState(null, "", wanted);
      this.#show(wanted, isPage);
    });
  }

  /** @param {string} wanted @param {boolean} isPage */
  #show(wanted, isPage) {
    shown = wanted;
    const { thing } = here();
    const below = isPage ? null : this.#drawers;
    this.#drawers = this.#kept(!thing ? 0 : below === null ? null : below + 1);
    history.replaceState({ drawers: this.#drawers }, "", wanted);
    if (isPage) this.#open(here());
    else this.#turn(thing);
  }
}
