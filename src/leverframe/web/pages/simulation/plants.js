// Plants between outputs and inputs: what is wired, and a form that wires another.

import { html, nothing } from "../../vendor/lit-html.js";
import { t } from "../../lib/words.js";

/** @import { Bench } from "./bench.js" */
/** @typedef {BenchReport["plants"]["kinds"][string]["fields"][string]} PlantField */

export class Plants {
  #context;
  #bench;
  /** @type {string | null} */
  #kind = null;
  /** @type {Record<string, string>} */
  #typed = {};
  /** @type {string | null} */
  #problem = null;

  /** @param {AdminContext} context @param {Bench} bench */
  constructor(context, bench) {
    this.#context = context;
    this.#bench = bench;
  }

  view() {
    const { wired, kinds } = this.#bench.report.plants;
    this.#kind ??= Object.keys(kinds)[0];
    return html`<section class="card across">
      <h2>${t("plants_title")}</h2>
      <p class="note">${t("plants_note")}</p>
      ${wired.length ? this.#wired(wired) : html`<p class="empty">${t("no_plants")}</p>`}
      <form class="ask" novalidate @submit=${(event) => this.#wire(event)}>
        ${this.#choice("kind", t("plant_kind"), Object.keys(kinds), this.#kind, (kind) =>
          this.#choose(kind),
        )}
        ${Object.entries(kinds[this.#kind].fields).map(([name, field]) => this.#field(name, field))}
        <footer><button class="primary">${t("wire")}</button></footer>
        ${this.#problem ? html`<p class="refusal" role="alert">${this.#problem}</p>` : nothing}
      </form>
    </section>`;
  }

  /** @param {string[]} wired */
  #wired(wired) {
    return html`<ul class="wired">
        ${wired.map((wiring) => html`<li>${wiring.split("*").join(" · ")}</li>`)}
      </ul>
      <button type="button" @click=${() => this.#send(["plant", "none"])}>
        ${t("remove_all")}
      </button>`;
  }

  /** @param {string} name @param {PlantField} field */
  #field(name, { labels, least, most, required, default: usual }) {
    const title = t(`field_${name}`);
    const typed = this.#typed[name] ?? "";
    /** @param {string} text */
    const change = (text) => this.#type(name, text);
    // What must be chosen starts with the first label, so that a form is never half empty.
    if (labels && least === undefined) {
      return this.#choice(name, title, [...(required ? [] : [""]), ...labels], typed, change);
    }
    const names = labels ? `, ${labels[0]}–${labels.at(-1)}` : "";
    return html`<div class="field">
      <label for="plant-${name}">${title}</label>
      <input
        id="plant-${name}"
        autocomplete="off"
        placeholder=${usual}
        aria-describedby="plant-${name}-hint"
        .value=${typed}
        @input=${(event) => change(event.target.value)}
      />
      <small class="hint" id="plant-${name}-hint">${least} – ${most}${names}</small>
    </div>`;
  }

  /**
   * @param {string} name
   * @param {string} title
   * @param {string[]} options
   * @param {string | null} chosen
   * @param {(text: string) => void} change
   */
  #choice(name, title, options, chosen, change) {
    /** @param {string} option */
    const shown = (option) => (name === "kind" ? t(`plant_${option}`) : option || t("none"));
    return html`<div class="field">
      <label for="plant-${name}">${title}</label>
      <select id="plant-${name}" @change=${(event) => change(event.target.value)}>
        ${options.map(
          (option) =>
            html`<option value=${option} .selected=${option === chosen}>${shown(option)}</option>`,
        )}
      </select>
    </div>`;
  }

  /** @param {string} kind */
  #choose(kind) {
    this.#kind = kind;
    this.#typed = {};
    this.#problem = null;
    this.#context.redraw();
  }

  /** @param {string} name @param {string} typed */
  #type(name, typed) {
    this.#typed[name] = typed;
    this.#problem = null;
    this.#context.redraw();
  }

  // As it stands on the wire: KIND*FIELD:VALUE, without the fields that were left empty.
  #wiring() {
    const { fields } = this.#bench.report.plants.kinds[this.#kind ?? ""];
    const given = Object.entries(fields)
      .map(([name, { labels, least, required }]) => {
        const first = labels && least === undefined && required ? labels[0] : "";
        return [name, (this.#typed[name] ?? first).trim()];
      })
      .filter(([, value]) => value !== "");
    return [this.#kind, ...given.map(([name, value]) => `${name}:${value}`)].join("*");
  }

  /** @param {Event} event */
  #wire(event) {
    event.preventDefault();
    this.#send(["plant", this.#wiring()]);
  }

  /** @param {BenchItem} item */
  async #send(item) {
    this.#problem = await this.#bench.send(item);
    this.#context.redraw();
  }
}
