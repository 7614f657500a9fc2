// A text that can be copied with one press, such as a request for a terminal.

import { html } from "../vendor/lit-html.js";
import { t } from "./words.js";

/** @param {string} shown */
export const copyable = (shown) =>
  html`<pre tabindex="0">${shown}</pre>
    <button type="button" @click=${(event) => copy(event.target.previousElementSibling)}>
      ${t("copy")}
    </button>`;

// What saving would send. While something is refused there may be nothing to send.
/** @param {string} shown */
export const copyableRequest = (shown) =>
  shown ? copyable(shown) : html`<p class="note">${t("no_request")}</p>`;

// Browsers let pages write to the clipboard only over TLS; elsewhere the text is marked for that.
/** @param {Element | null} shown */
function copy(shown) {
  if (!shown) return;
  if (navigator.clipboard) navigator.clipboard.writeText(shown.textContent);
  else getSelection()?.selectAllChildren(shown);
}
