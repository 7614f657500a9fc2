// A live value at the head of a card: what is measured now, big, and in small what it is made of.

import { html, nothing } from "../vendor/lit-html.js";

/**
 * @param {{ name: string, value: string, unit?: string, absent?: boolean, detail?: string }} one
 */
export function reading({ name, value, unit = "", absent = false, detail = "" }) {
  return html`<div class="reading" ?data-absent=${absent}>
    <span class="name">${name}</span>
    <span class="value">${value}${unit ? html`<small>${unit}</small>` : nothing}</span>
    ${detail ? html`<small class="since">${detail}</small>` : nothing}
  </div>`;
}
