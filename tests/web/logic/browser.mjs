// As much of a browser as the logic of the pages touches, and a controller that answers it.
//
// Loaded before each test: `node --import tests/web/logic/browser.mjs --test ...`; all: all.mjs.

import { readFileSync } from "node:fs";
import { register } from "node:module";

// The pages are modules without a package around them; node has to load them as such.
const hook = `export const load = (url, context, next) =>
  next(url, /[/](web|logic)[/].*[.]js$/.test(url) ? { ...context, format: "module" } : context);`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);

// The reader's clocks show UTC, whatever those of this machine do.
process.env.TZ = "UTC";

const PROJECT = new URL("../../../", import.meta.url);
const read = (path) => JSON.parse(readFileSync(new URL(path, PROJECT), "utf8"));

// What tools/pages.py writes: command tables by version, settings of the factory, limits.
export const facts = (name) => read(`build/pages/${name}.json`);

// The controller. `sent` are the requests that change something: { target, body }.
export const controller = {
  sent: [],
  // By path, instead of what is answered else; a function may throw or give a promise.
  answers: {},
  // The problem with which the next change is refused.
  refusal: null,
  settings: facts("settings"),
  reset() {
    Object.assign(this, { sent: [], answers: {}, refusal: null, settings: facts("settings") });
  },
};

const STATE = { profile: { hw: "3.9", sw: "1.75" }, time: 0, virtual_time: true, rules: [] };
const ACCOUNT = { name: "", role: "admin", language: "EN", refresh: 30 };

function answerTo(path, target) {
  if (path in controller.answers) return controller.answers[path](target);
  if (path.startsWith("/web/words/")) return read(`src/leverframe${path}`);
  if (path === "/api/commands") return facts("commands")["3.9 1.75"];
  const { settings } = controller;
  return { state: STATE, account: ACCOUNT, settings, board: "simulated", status: {}, labels: {} };
}

async function fetch(target, { method = "GET", body } = {}) {
  const [path] = target.split("?");
  if (method === "GET") return Response.json(await answerTo(path, target));
  if (controller.refusal) return Response.json(controller.refusal, { status: 400 });
  controller.sent.push({ target, body });
  return path in controller.answers ? Response.json(answerTo(path, target)) : new Response("");
}

// The history of a tab. Events come later, as they do in a browser.
class History {
  entries = [{ hash: "", state: null }];
  place = 0;

  reset(hash = "") {
    this.entries = [{ hash, state: null }];
    this.place = 0;
  }

  get here() {
    return this.entries[this.place];
  }

  get state() {
    return this.here.state;
  }

  replaceState(state, _, hash = this.here.hash) {
    this.entries[this.place] = { hash, state };
  }

  pushState(state, _, hash = this.here.hash) {
    this.entries = [...this.entries.slice(0, ++this.place), { hash, state }];
  }

  back() {
    this.go(-1);
  }

  go(by) {
    setTimeout(() => {
      const { hash } = this.here;
      if (!this.entries[this.place + by]) return;
      this.place += by;
      this.#notify(hash);
    });
  }

  follow(hash) {
    const before = this.here.hash;
    if (hash === before) return;
    this.pushState(null, "", hash);
    setTimeout(() => this.#notify(before));
  }

  #notify(before) {
    dispatchEvent(new Event("popstate"));
    if (this.here.hash !== before) dispatchEvent(new Event("hashchange"));
  }
}

const kept = new Map();
const events = new EventTarget();
const pages = {
  fetch,
  localStorage: {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, value) => kept.set(name, value),
    clear: () => kept.clear(),
  },
  navigator: { languages: ["en-GB"] },
  location: {
    origin: "http://controller",
    get hash() {
      return history.here.hash;
    },
    set hash(hash) {
      history.follow(hash);
    },
  },
  history: new History(),
  document: {
    documentElement: { dataset: {} },
    createComment: () => ({}),
    createTreeWalker: () => ({}),
    createElement: () => ({}),
    getElementById: () => null,
  },
  addEventListener: (...listener) => events.addEventListener(...listener),
  removeEventListener: (...listener) => events.removeEventListener(...listener),
  dispatchEvent: (event) => events.dispatchEvent(event),
  matchMedia: () => ({ matches: true }),
  requestAnimationFrame: () => {},
};
for (const [name, value] of Object.entries(pages)) {
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}

// Browsers have it since 2024, node since version 21.
Map.groupBy ??= (items, keyOf) => {
  const groups = new Map();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
};
