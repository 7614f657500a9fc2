// A text that can be copied with one press, such as a request for a terminal.

import { html } from "../vendor/lit-html.js";
import { t } from "./words.js";

export const copyable = (shown) =>
  html`<pre tabindex="0">${shown}</pre>
    <button type="button" @click=${(event) => copy(event.target.previousElementSibling)}>
      ${t("copy")}
    </button>`;

// Browsers let pages write to the clipboard only over TLS; elsewhere the text is marked for that.
function copy(shown) {
  if (navigator.clipboard) navigator.clipboard.writeText(shown.textContent);
  else getSelection().selectAllChildren(shown);
}
