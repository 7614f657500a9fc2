// A text that can be copied with one press, such as a request for a terminal.

import { html, nothing } from "../vendor/lit-html.js";
import { t } from "./words.js";

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
