// The search over everything: typed words, the best answers, arrow keys and Enter.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { currentLanguage, t } from "../../lib/format/words.js";
import { useStyle } from "../../lib/frame/look.js";
import { icon } from "../../lib/things/signs.js";
import { allEntries, bestOf, nearEntries } from "./entries.js";

/** @import { IconName } from "../../lib/things/signs.js" */
/** @import { SearchEntry } from "./entries.js" */

const MAX_SHOWN = 12;
/** @type {Record<SearchEntry["kind"], IconName>} */
const ICONS = {
  thing: "things",
  rule: "rule",
  page: "timeline",
  setting: "pencil",
  command: "request",
};

export class SearchDialog {
  #context;
  /** @type {Signal<SearchEntry[]>} */
  #entries = signal([]);
  #isComplete = signal(false);
  #language = signal("");
  #typed = signal("");
  #chosen = signal(0);
  #isOpen = signal(false);
  // Is the search a step of the browser's history, which Back takes back?
  #isStep = false;
  /** @type {Promise<unknown>} */
  #goneBack = Promise.resolve();

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
  }

  async open() {
    this.#typed.value = "";
    this.#chosen.value = 0;
    await Promise.all([useStyle("search"), this.#goneBack]);
    this.#isOpen.value = true;
    this.#takeStep();
    // Names and values are those of this moment, texts those of the present language.
    this.#entries.value = nearEntries(this.#context);
    this.#isComplete.value = false;
    this.#language.value = currentLanguage();
    this.#entries.value = await allEntries(this.#context);
    this.#isComplete.value = true;
  }

  #takeStep() {
    if (this.#isStep) return;
    this.#isStep = true;
    history.pushState(history.state, "");
    const onLeave = () => {
      this.#isStep = false;
      this.#element?.close();
    };
    addEventListener("popstate", onLeave, { once: true });
  }

  // The page that was found comes in the place of the search.
  /** @param {Event} event @param {string} address */
  #choose(event, address) {
    event.preventDefault();
    const isHere = address === location.hash;
    // What is open already needs no second entry: the step into the search is taken back.
    this.#isStep &&= isHere;
    this.#element?.close();
    if (!isHere) location.replace(address);
  }

  get #found() {
    return bestOf(this.#entries.value, this.#typed.value, MAX_SHOWN);
  }

  view() {
    if (!this.#isOpen.value) return nothing;
    const found = this.#found;
    const chosen = Math.min(this.#chosen.value, found.length - 1);
    return html`<dialog
      class="search"
      aria-label=${t("search_all")}
      @close=${() => this.#close()}
      @click=${(event) => event.target === event.currentTarget && this.#element?.close()}
    >
      <div class="typed">
        ${icon("search")}
        <input
          role="combobox"
          aria-label=${t("search_for")}
          aria-expanded=${found.length > 0}
          aria-controls="search-found"
          aria-activedescendant=${found.length ? `search-${chosen}` : nothing}
          autocomplete="off"
          spellcheck="false"
          placeholder=${t("search_for")}
          .value=${this.#typed.value}
          @input=${(event) => this.type(event.target.value)}
          @keydown=${(event) => this.#onKeydown(event, found, chosen)}
        />
      </div>
      <ul id="search-found" role="listbox" aria-label=${t("found")} lang=${this.#language.value}>
        ${found.map((one, index) => this.#row(one, index, index === chosen))}
      </ul>
      <p class="note" role="status">${this.#statusText(found.length)}</p>
    </dialog>`;
  }

  /** @param {SearchEntry} searchEntry @param {number} index @param {boolean} isChosen */
  #row({ kind, name, beside, address }, index, isChosen) {
    return html`<li role="presentation">
      <a
        id="search-${index}"
        role="option"
        aria-selected=${isChosen}
        href=${address}
        tabindex="-1"
        @click=${(event) => this.#choose(event, address)}
      >
        ${icon(ICONS[kind])}<b>${name}</b><span>${beside}</span><small>${t(`kind_${kind}`)}</small>
      </a>
    </li>`;
  }

  /** @param {number} count */
  #statusText(count) {
    if (this.#typed.value.trim() === "") {
      return html`${t("how_to")} <span class="keys">${t("how_to_keys")}</span>`;
    }
    if (!this.#isComplete.value) return t("reading_index");
    return count === 0 ? t("found_nothing", { typed: this.#typed.value }) : "";
  }

  /** @param {string} typed */
  type(typed) {
    const input = this.#element?.querySelector("input");
    // Immediately: a key that is pressed before the next drawing continues it.
    if (input && input.value !== typed) input.value = typed;
    this.#typed.value = typed;
    this.#chosen.value = 0;
  }

  /** @param {KeyboardEvent} event @param {SearchEntry[]} found @param {number} chosen */
  #onKeydown(event, found, chosen) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && found.length > 0) {
      this.#chosen.value = (chosen + step + found.length) % found.length;
      event.preventDefault();
    } else if (event.key === "Enter" && found[chosen]) this.#choose(event, found[chosen].address);
  }

  get #element() {
    return /** @type {HTMLDialogElement | null} */ (document.querySelector("dialog.search"));
  }

  #close() {
    this.#isOpen.value = false;
    if (this.#isStep) {
      // A search that is opened again waits for it, or this would close it.
      this.#goneBack = new Promise((gone) => addEventListener("popstate", gone, { once: true }));
      history.back();
    }
  }

  // Returns whether it is there to be typed into.
  onDrawn() {
    const element = this.#element;
    if (element && !element.open) element.showModal();
    element?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
    return element !== null;
  }
}

// Shows what a search led to: the field, card or button that bears a text, on the page or in a
// drawer over it. A drawer draws its settings when they have come.

const BEARERS = "label, legend, h2, h3, summary, button, th, dt";
const PATIENCE_MS = 3000;

/** @param {string} text */
export async function reveal(text) {
  const until = performance.now() + PATIENCE_MS;
  let found = bearerOf(text);
  while (!found && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    found = bearerOf(text);
  }
  if (found) show(found);
}

/** @param {string} text */
function bearerOf(text) {
  const places = document.querySelectorAll(`:is(main, dialog.drawer) :is(${BEARERS})`);
  const found = [...places].find((one) => ownText(one).includes(text));
  return found instanceof HTMLElement ? found : null;
}

/** @param {HTMLElement} found */
function show(found) {
  for (let above = found.parentElement; above; above = above.parentElement) {
    if (above instanceof HTMLDetailsElement) above.open = true;
  }
  found.scrollIntoView({ block: "center" });
  const control = found instanceof HTMLLabelElement ? found.control : null;
  const place = control ?? found;
  if (place === found && !found.matches("button, summary")) found.tabIndex = -1;
  place.focus({ preventScroll: true });
}

/** @param {Element} element */
const ownText = (element) => (element.textContent ?? "").trim().replace(/\s+/g, " ");
