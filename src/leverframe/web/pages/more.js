// More: every page, by group, with its state. A phone's bar has room for a few only.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { fetchWords, speaking, t } from "../lib/format/words.js";
import { listGroups, ownChoices } from "../lib/frame/frame.js";
import { overview } from "../lib/frame/overview.js";
import { address } from "../lib/frame/router.js";
import { pageState } from "./overview/states.js";

export class Page {
  #context;
  #hasWords = signal(false);

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
  }

  async open() {
    await fetchWords("overview");
    this.#hasWords.value = true;
  }

  view() {
    if (!this.#hasWords.value) return nothing;
    const groups = listGroups(this.#context);
    const single = groups.filter(([, pages]) => pages.length === 1).flatMap(([, pages]) => pages);
    const several = groups.filter(([, pages]) => pages.length > 1);
    return html`<div class="cards">
      <section class="card list" aria-label=${t("navigation_short")}>${this.#rows(single)}</section>
      ${several.map(
        ([group, pages]) => html`<section class="card list">
          <header><h2>${t(`group_${group}`)}</h2></header>
          ${this.#rows(pages)}
        </section>`,
      )}
      <section class="card">${ownChoices(this.#context)}</section>
    </div>`;
  }

  /** @param {PageEntry[]} pages */
  #rows(pages) {
    const rows = pages.map(({ name }) => ({
      name,
      title: t(`page_${name}`),
      address: address(name),
      state: speaking("overview", () => pageState(this.#context, name)),
    }));
    return overview(this.#context, rows);
  }
}
