// More: every page, by group. A phone's bar has room for a few only.

import { html } from "../vendor/lit-html.js";
import { t } from "../lib/format/words.js";
import { listGroups, ownChoices } from "../lib/frame/frame.js";
import { address } from "../lib/frame/router.js";

export class Page {
  #context;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
  }

  view() {
    const groups = listGroups(this.#context);
    const single = groups.filter(([, pages]) => pages.length === 1).flatMap(([, pages]) => pages);
    const several = groups.filter(([, pages]) => pages.length > 1);
    return html`<div class="cards">
      <section class="card" aria-label=${t("navigation_short")}>${links(single)}</section>
      ${several.map(
        ([group, pages]) => html`<section class="card">
          <h2>${t(`group_${group}`)}</h2>
          ${links(pages)}
        </section>`,
      )}
      <section class="card">${ownChoices(this.#context)}</section>
    </div>`;
  }
}

/** @param {PageEntry[]} pages */
const links = (pages) =>
  html`<ul class="links">
    ${pages.map(({ name }) => html`<li><a href=${address(name)}>${t(`page_${name}`)}</a></li>`)}
  </ul>`;
