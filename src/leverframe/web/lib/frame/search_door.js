// The way to the search: the key `/`, or the button in the header. The search itself and all that
// it looks through are fetched when it is first opened.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { fetchWords, speaking, t } from "../format/words.js";
import * as api from "../live/api.js";
import { icon } from "../things/signs.js";

/** @import { SearchDialog } from "../../pages/search/dialog.js" */

const TYPED_IN = "input, textarea, select, [contenteditable]";

export class SearchDoor {
  #context;
  /** @type {Signal<SearchDialog | null>} */
  #dialog = signal(null);
  // What was typed since the search was asked for; null when it takes the keys itself.
  /** @type {string | null} */
  #early = null;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    addEventListener("keydown", (event) => this.#onKeydown(event));
  }

  /** @param {KeyboardEvent} event */
  #onKeydown(event) {
    const isTyped = event.target instanceof Element && event.target.matches(TYPED_IN);
    if (event.ctrlKey || event.altKey || event.metaKey || isTyped) return;
    if (this.#early !== null && event.key.length === 1) this.#early += event.key;
    else if (event.key !== "/" || document.querySelector("dialog[open]")) return;
    else this.open();
    event.preventDefault();
  }

  async open() {
    this.#early = "";
    try {
      const [{ SearchDialog: Dialog }] = await Promise.all([
        import("../../pages/search/dialog.js"),
        fetchWords("search"),
      ]);
      this.#dialog.value ??= new Dialog(this.#context);
      await this.#dialog.value.open();
    } catch (error) {
      this.#early = null;
      // The banner says why nothing opens.
      if (!api.isLoss(error)) throw error;
    }
  }

  button() {
    return html`<button
      type="button"
      class="find"
      aria-label=${t("search_all")}
      @click=${() => this.open()}
    >
      ${icon("search")}<span>${t("search_all")}</span><kbd>/</kbd>
    </button>`;
  }

  view() {
    return this.#dialog.value ? speaking("search", () => this.#dialog.value?.view()) : nothing;
  }

  onDrawn() {
    if (!this.#dialog.value?.onDrawn() || this.#early === null) return;
    const typed = this.#early;
    this.#early = null;
    if (typed) this.#dialog.value.type(typed);
  }
}
