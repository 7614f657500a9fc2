// Routes are hash addresses: `#/charts?labels=DS1,T1` is the page "charts" with its parameters.

import { queryOf } from "./api.js";

/** @typedef {{ mayLeave(): boolean, held(proceed: () => void): void }} Guard */

export function here() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { name: path, params: new URLSearchParams(query) };
}

/** @param {string} name @param {Params} [params] */
export function address(name, params = {}) {
  const query = queryOf(params);
  return `#/${name}${query ? `?${query}` : ""}`;
}

/** @param {string} name @param {Params} params */
export function go(name, params) {
  location.hash = address(name, params);
}

// Keeps the address in step with what a page shows, without opening the page again.
/** @param {string} name @param {Params} params */
export function note(name, params) {
  history.replaceState(null, "", address(name, params));
}

// Calls `open(route)` for every new address, unless `mayLeave()` holds the person back: then the
// old address returns and `held(proceed)` is told how to go on nevertheless.
export class Router {
  #shown = location.hash;
  #open;
  #guard;

  /** @param {(route: Route) => void} open @param {Guard} guard */
  constructor(open, guard) {
    this.#open = open;
    this.#guard = guard;
  }

  start() {
    addEventListener("hashchange", () => this.#moved());
    this.#open(here());
  }

  #moved() {
    const wanted = location.hash;
    if (wanted === this.#shown) return;
    if (this.#guard.mayLeave()) {
      this.#show(wanted);
      return;
    }
    history.replaceState(null, "", this.#shown || "#/");
    this.#guard.held(() => {
      history.pushState(null, "", wanted);
      this.#show(wanted);
    });
  }

  /** @param {string} wanted */
  #show(wanted) {
    this.#shown = wanted;
    this.#open(here());
  }
}
