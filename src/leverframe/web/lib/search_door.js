// The way to the search: the key `/`, or the button in the header. The search itself and all that
// it looks through are fetched when it is first opened.

import { html, nothing } from "../vendor/lit-html.js";
import * as api from "./api.js";
import { icon } from "./icon.js";
import { fetchWords, speaking, t } from "./words.js";

/** @import { SearchDialog } from "../pages/search/dialog.js" */

const TYPED_IN = "input, textarea, select, [contenteditable]";

export class SearchDoor {
  #context;
  /** @type {SearchDialog | null} */
  #dialog = null;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    addEventListener("keydown", (event) => this.#pressed(event));
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    const isTyped = event.target instanceof Element && event.target.matches(TYPED_IN);
    if (event.key !== "/" || event.ctrlKey || event.altKey || event.metaKey || isTyped) return;
    if (document.querySelector("dialog[open]")) return;
    event.preventDefault();
    this.open();
  }

  async open() {
    try {
      const [{ SearchDialog: Dialog }] = await Promise.all([
        import("../pages/search/dialog.js"),
        fetchWords("search"),
      ]);
      this.#dialog ??= new Dialog(this.#context);
      await this.#dialog.open();
    } catch (error) {
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
    return this.#dialog ? speaking("search", () => this.#dialog?.view()) : nothing;
  }

  drawn() {
    this.#dialog?.drawn();
  }
}
