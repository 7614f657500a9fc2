// A template for settings: a file, or another controller.

import { html, nothing } from "../vendor/lit-html.js";
import { optionsOf } from "../lib/options.js";
import { t } from "../lib/words.js";

export const FACTORY = "";
const FILE = "*file";

export class TemplateChoice {
  #page;
  #changed;
  // A controller, a file, or the factory settings.
  #begin = FACTORY;
  /** @type {File | null} */
  #file = null;

  /** @param {FleetPageLike} page @param {() => void} [changed] */
  constructor(page, changed = () => {}) {
    this.#page = page;
    this.#changed = changed;
  }

  /** @param {string} begin */
  choose(begin) {
    this.#begin = begin;
    this.#file = null;
  }

  // The name of a controller; "" for none.
  get like() {
    return this.#begin === FILE ? "" : this.#begin;
  }

  get file() {
    return this.#begin === FILE ? this.#file : null;
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
            this.#page.redraw();
          }}
        >
          ${optionsOf(
            [
              [FACTORY, first],
              [FILE, t("from_file")],
              ...others.map((name) => [name, t("like", { name })]),
            ],
            this.#begin,
          )}
        </select>
      </label>
      ${this.#begin === FILE ? this.#fileField() : nothing}`;
  }

  #fileField() {
    return html`<label
      ><span>${t("make_file")}</span>
      <input
        type="file"
        name="file"
        accept=".json,.toml"
        required
        @change=${(event) => {
          this.#file = event.target.files?.[0] ?? null;
        }}
      /><small>${t("hint_file")}</small></label
    >`;
  }
}
