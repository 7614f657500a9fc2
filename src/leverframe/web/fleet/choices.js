// Choices in the forms of many controllers: a template, a place.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { t } from "../lib/format/words.js";
import { optionsOf } from "../lib/forms/controls.js";

// A template for settings: a file, or another controller.

export const FACTORY = "";
const FILE = "*file";

export class TemplateChoice {
  #page;
  #changed;
  // A controller, a file, or the factory settings.
  #begin = signal(FACTORY);
  /** @type {File | null} */
  #file = null;

  /** @param {FleetPageLike} page @param {() => void} [changed] */
  constructor(page, changed = () => {}) {
    this.#page = page;
    this.#changed = changed;
  }

  /** @param {string} begin */
  choose(begin) {
    this.#begin.value = begin;
    this.#file = null;
  }

  // The name of a controller; "" for none.
  get like() {
    return this.#begin.value === FILE ? "" : this.#begin.value;
  }

  get file() {
    return this.#begin.value === FILE ? this.#file : null;
  }

  /**
   * @param {string} label
   * @param {string} first what it is called that no template is chosen
   * @param {boolean} [isNeeded]
   */
  view(label, first, isNeeded = false) {
    const names = this.#page.rowNames;
    const isOther = this.like && !names.includes(this.like);
    const others = isOther ? [this.like, ...names] : names;
    return html`<label
        ><span>${label}</span>
        <select
          name="template"
          ?required=${isNeeded}
          @change=${(event) => {
            this.choose(event.target.value);
            this.#changed();
          }}
        >
          ${optionsOf(
            [
              [FACTORY, first],
              [FILE, t("from_file")],
              ...others.map((name) => [name, t("like", { name })]),
            ],
            this.#begin.value,
          )}
        </select>
      </label>
      ${this.#begin.value === FILE ? this.#fileField() : nothing}`;
  }

  #fileField() {
    return html`<label
      ><span>${t("make_file")}</span>
      <input
        type="file"
        name="file"
        accept=".json,.toml"
        required
        @change=${(event) => (this.#file = event.target.files?.[0] ?? null)}
      /><small>${t("hint_file")}</small></label
    >`;
  }
}

// An address and a port for one controller alone.

// What the node expects for a controller without address and port.
const TAKEN_AWAY = { address: "none", port: "0" };

/** @typedef {keyof typeof TAKEN_AWAY} Part of a place */

export class PlaceChoice {
  #changed;
  // What is typed; an untouched field keeps its value.
  /** @type {Signal<Partial<Record<Part, string>>>} */
  #typed = signal({});

  /** @param {() => void} changed */
  constructor(changed) {
    this.#changed = changed;
  }

  forget() {
    this.#typed.value = {};
  }

  get isMade() {
    return Object.keys(this.#typed.value).length > 0;
  }

  /** @returns {Params} */
  get params() {
    const typed = /** @type {[Part, string][]} */ (Object.entries(this.#typed.value));
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
        .value=${this.#typed.value[part] ?? now}
        @input=${(event) => {
          this.#typed.value = { ...this.#typed.value, [part]: event.target.value };
          this.#changed();
        }}
    /></label>`;
  }
}
