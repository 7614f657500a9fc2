// A page of groups: each is a row with its state that opens in place and has an address of its own.
// What is in a group are the cards of a module of settings/, with the words of the same name.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { fetchWords, speaking, t } from "../format/words.js";
import { address } from "./router.js";

export class PartsPage {
  #context;
  #page;
  #states;
  /** @type {Signal<string | null>} */
  #name = signal(null);
  /** @type {Signal<Card[]>} */
  #cards = signal([]);

  // `states` gives the state shown beside a closed group.
  /**
   * @param {Context} context
   * @param {PageEntry} page
   * @param {Record<string, (context: AdminContext) => string>} states
   */
  constructor(context, page, states) {
    this.#context = context;
    this.#page = page;
    this.#states = states;
  }

  /** @param {URLSearchParams} params */
  async open(params) {
    const offered = partsOf(this.#context, this.#page);
    const wanted = params.get("open") ?? "";
    const name = offered.includes(wanted) ? wanted : offered[0];
    const [{ partOf }] = await Promise.all([import(`../../settings/${name}.js`), fetchWords(name)]);
    /** @type {Card[]} */
    const cards = partOf(this.#context);
    [this.#name.value, this.#cards.value] = [name, cards];
    await Promise.all(cards.map((card) => card.open?.(params)));
  }

  close() {
    for (const card of this.#cards.value) card.close?.();
    [this.#name.value, this.#cards.value] = [null, []];
  }

  view() {
    return html`<div class="parts">
      ${partsOf(this.#context, this.#page).map((name) => this.#row(name))}
    </div>`;
  }

  /** @param {string} name */
  #row(name) {
    const isOpen = name === this.#name.value;
    const state = this.#context.isAdmin
      ? this.#states[name]?.(/** @type {AdminContext} */ (this.#context))
      : "";
    return html`<section data-part=${name} ?data-open=${isOpen}>
      <h2>
        <a
          href=${address(this.#page.name, { open: name })}
          aria-current=${isOpen ? "true" : nothing}
          >${t(`page_${name}`)}</a
        >
        ${state && !isOpen ? html`<small>${state}</small>` : nothing}
      </h2>
      ${isOpen ? speaking(name, () => this.#onOpen()) : nothing}
    </section>`;
  }

  #onOpen() {
    return html`<div class="cards">${this.#cards.value.map((card) => card.view())}</div>`;
  }
}

// Every user has an account; the rest is the administrator's.
const FOR_ALL = ["accounts"];
// A certificate is nothing to people who came without TLS.
const FOR_TLS = ["certificate"];

/** @param {Context} context @param {PageEntry} page */
export const partsOf = ({ isAdmin }, { parts = [] }) =>
  parts.filter(
    (name) =>
      (isAdmin || FOR_ALL.includes(name)) &&
      (location.protocol === "https:" || !FOR_TLS.includes(name)),
  );
