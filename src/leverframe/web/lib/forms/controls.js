// Small parts of forms: choices, texts to copy, live values.

import { html, nothing } from "../../vendor/lit-html.js";
import { t } from "../format/words.js";

// The options of a choice: [value, shown text] each.

/** @param {(string | number)[][]} offered @param {string | number | null} current */
export const optionsOf = (offered, current) =>
  offered.map(
    ([value, shown]) =>
      html`<option value=${value} .selected=${value === current}>${shown}</option>`,
  );

// A choice that is no setting, such as a filter: it applies immediately.

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

// A text that can be copied with one press, such as a request for a terminal.

/** @param {string} shown */
export const copyable = (shown) =>
  html`<pre tabindex="0">${shown}</pre>
    <button type="button" @click=${(event) => copy(event.target.previousElementSibling)}>
      ${t("copy")}
    </button>`;

// What saving would send, and further requests. While something is refused there may be nothing to
// save.
/** @param {string} shown @param {boolean} [isRefused] */
export const copyableRequest = (shown, isRefused = !shown) =>
  html`${isRefused ? html`<p class="note">${t("no_request")}</p>` : nothing}
  ${shown ? copyable(shown) : nothing}`;

// Browsers let pages write to the clipboard only over TLS; elsewhere the text is marked for that.
/** @param {Element | null} shown */
function copy(shown) {
  if (!shown) return;
  if (navigator.clipboard) navigator.clipboard.writeText(shown.textContent);
  else getSelection()?.selectAllChildren(shown);
}

// A live value at the head of a card: what is measured now, big, and in small what it is made of.

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

// Times of day are typed at the desk, in any way that people write them: what browsers offer goes
// by their own language, with AM and PM. Under a finger it is better than a keyboard.
/** @returns {"time" | "text"} */
export const timeType = () => (matchMedia("(pointer: coarse)").matches ? "time" : "text");
