// A text that can be copied with one press, such as a request for a terminal.

import { html } from "../vendor/lit-html.js";
import { t } from "./words.js";

/** @param {string} shown */
export const copyable = (shown) =>
  html`<pre tabindex="0">${shown}</pre>
    <button type="button" @click=${(event) => copy(event.target.previousElementSibling)}>
      ${t("copy")}
    </button>`;

// Browsers let pages write to the clipboard only over TLS; elsewhere the text is marked for that.
/** @param {Element | null} shown */
function copy(shown) {
  if (!shown) return;
  if (navigator.clipboard) navigator.clipboard.writeText(shown.textContent);
  else getSelection()?.selectAllChildren(shown);
}
