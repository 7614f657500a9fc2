// A page of groups: first an overview with the state of each, then what is in one, which has an
// address of its own. That are the cards of a module of settings/, with the words of the same name.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { fetchWords, speaking, t } from "../format/words.js";
import { icon } from "../things/signs.js";
import { NO_STATE, overview } from "./overview.js";
import { address } from "./router.js";

/** @import { RowState } from "./overview.js" */

export class PartsPage {
  #context;
  #page;
  #states;
  /** @type {Signal<string | null>} */
  #name = signal(null);
  /** @type {Signal<Card[]>} */
  #cards = signal([]);
  // Whether the words and cards of what the address names are there.
  #isThere = signal(false);

  // `states` gives the state of each group in the overview.
  /**
   * @param {Context} context
   * @param {PageEntry} page
   * @param {Record<string, (context: AdminContext) => RowState>} states
   */
  constructor(context, page, states) {
    this.#context = context;
    this.#page = page;
    this.#states = states;
  }

  get #offered() {
    return partsOf(this.#context, this.#page);
  }

  get isOverview() {
    return this.#name.value === null;
  }

  /** @param {URLSearchParams} params */
  async open(params) {
    const wanted = params.get("open") ?? "";
    const name = this.#offered.includes(wanted) ? wanted : this.#onlyOne;
    if (name === null) {
      await fetchWords("overview");
      this.#isThere.value = true;
      return;
    }
    const [{ partOf }] = await Promise.all([import(`../../settings/${name}.js`), fetchWords(name)]);
    /** @type {Card[]} */
    const cards = partOf(this.#context);
    [this.#name.value, this.#cards.value, this.#isThere.value] = [name, cards, true];
    await Promise.all(cards.map((card) => card.open?.(params)));
  }

  // A single group needs no overview.
  get #onlyOne() {
    const offered = this.#offered;
    return offered.length === 1 ? offered[0] : null;
  }

  close() {
    for (const card of this.#cards.value) card.close?.();
    [this.#name.value, this.#cards.value, this.#isThere.value] = [null, [], false];
  }

  view() {
    const name = this.#name.value;
    if (!this.#isThere.value) return nothing;
    return name === null ? this.#overview() : this.#part(name);
  }

  #overview() {
    const rows = this.#offered.map((name) => ({
      name,
      title: t(`page_${name}`),
      address: address(this.#page.name, { open: name }),
      state: speaking("overview", () => this.#stateOf(name)),
    }));
    return html`<section class="card list">${overview(this.#context, rows)}</section>`;
  }

  /** @param {string} name @returns {RowState} */
  #stateOf(name) {
    if (!this.#context.isAdmin) return NO_STATE;
    return this.#states[name]?.(/** @type {AdminContext} */ (this.#context)) ?? NO_STATE;
  }

  /** @param {string} name */
  #part(name) {
    const title = t(`page_${this.#page.name}`);
    return html`<section data-part=${name} data-open>
      <header class="part">
        ${this.#onlyOne === null
          ? html`<a href=${address(this.#page.name)}>${icon("down", "s")}<span>${title}</span></a>`
          : nothing}
        <h2>${t(`page_${name}`)}</h2>
      </header>
      ${speaking(
        name,
        () => html`<div class="cards">${this.#cards.value.map((card) => card.view())}</div>`,
      )}
    </section>`;
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
