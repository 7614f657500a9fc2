// The way through a list that has more controllers than are in view.

import { html, nothing } from "../vendor/lit-html.js";
import { t } from "../lib/words.js";
import { addressWith } from "./address.js";
import { ROWS } from "./view.js";

/** @param {number} matching @param {number} page */
export function paging(matching, page) {
  const pages = Math.max(1, Math.ceil(matching / ROWS));
  if (pages === 1 && page === 1) return nothing;
  const first = (page - 1) * ROWS + 1;
  const last = Math.min(matching, page * ROWS);
  /** @param {number} to @param {string} word */
  const step = (to, word) =>
    to >= 1 && to <= pages
      ? html`<a href=${addressWith({ page: to })}>${word}</a>`
      : html`<span class="quiet">${word}</span>`;
  return html`<nav class="paging" aria-label=${t("paging")}>
    ${step(page - 1, t("earlier"))}
    <span>${t("in_view", { first: Math.min(first, last), last, matching })}</span>
    ${step(page + 1, t("later"))}
  </nav>`;
}
