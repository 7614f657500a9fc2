// Routes are hash addresses: `#/charts?labels=DS1,T1` is the page "charts" with its parameters.

export function here() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { name: path, params: new URLSearchParams(query) };
}

export function address(name, params = {}) {
  const query = new URLSearchParams(params).toString();
  return `#/${name}${query ? `?${query}` : ""}`;
}

export function go(name, params) {
  location.hash = address(name, params);
}

// Keeps the address in step with what a page shows, without opening the page again.
export function note(name, params) {
  history.replaceState(null, "", address(name, params));
}

// Calls `open(route)` for every new address, unless `mayLeave()` holds the person back: then the
// old address returns and `held(proceed)` is told how to go on nevertheless.
export class Router {
  #shown = location.hash;
  #open;
  #guard;

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

  #show(wanted) {
    this.#shown = wanted;
    this.#open(here());
  }
}
