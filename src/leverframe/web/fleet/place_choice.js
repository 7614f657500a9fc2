// An address and a port for one controller alone.

import { html } from "../vendor/lit-html.js";
import { t } from "../lib/words.js";

// How the node is told that a controller has none.
const TAKEN_AWAY = { address: "none", port: "0" };

/** @typedef {keyof typeof TAKEN_AWAY} Part of a place */

export class PlaceChoice {
  #page;
  #changed;
  // What somebody has typed; a field that nobody has touched stays what it is.
  /** @type {Partial<Record<Part, string>>} */
  #typed = {};

  /** @param {FleetPageLike} page @param {() => void} changed */
  constructor(page, changed) {
    this.#page = page;
    this.#changed = changed;
  }

  forget() {
    this.#typed = {};
  }

  get isMade() {
    return Object.keys(this.#typed).length > 0;
  }

  /** @returns {Params} */
  get params() {
    const typed = /** @type {[Part, string][]} */ (Object.entries(this.#typed));
    return Object.fromEntries(typed.map(([part, text]) => [part, text.trim() || TAKEN_AWAY[part]]));
  }

  /** @param {FleetRow | undefined} row undefined while it is not in view */
  view(row) {
    return html`${this.#field("address", row?.address ?? "", { size: 14 })}
    ${this.#field("port", String(row?.port ?? ""), { size: 6, inputmode: "numeric" })}`;
  }

  /** @param {Part} part @param {string} now @param {{ size: number, inputmode?: string }} how */
  #field(part, now, { size, inputmode = "text" }) {
    return html`<label class="sure"
      >${t(`text_${part}`)}
      <input
        name=${part}
        size=${size}
        inputmode=${inputmode}
        autocomplete="off"
        .value=${this.#typed[part] ?? now}
        @input=${(event) => {
          this.#typed[part] = event.target.value;
          this.#changed();
          this.#page.redraw();
        }}
    /></label>`;
  }
}
