// A choice that is no setting, such as a filter: what is chosen is told at once.

import { html } from "../vendor/lit-html.js";
import { optionsOf } from "./options.js";

// `offered`: [value, shown text] each.
/**
 * @param {string} id
 * @param {string} label
 * @param {[string, string | number][]} offered
 * @param {string} current
 * @param {(value: string) => void} choose
 */
export function chooser(id, label, offered, current, choose) {
  return html`<div class="field">
    <label for=${id}>${label}</label>
    <select id=${id} @change=${(event) => choose(event.target.value)}>
      ${optionsOf(offered, current)}
    </select>
  </div>`;
}
