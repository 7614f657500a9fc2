// Plants between outputs and inputs: what is wired, and a form that wires another.

import { html } from "../../vendor/lit-html.js";
import { t } from "../../lib/words.js";
import { KindForm, named, spokenValue } from "./kind_form.js";

/** @import { Bench } from "./bench.js" */

export class Plants {
  #context;
  #bench;
  #form;

  /** @param {AdminContext} context @param {Bench} bench */
  constructor(context, bench) {
    this.#context = context;
    this.#bench = bench;
    this.#form = new KindForm(context, bench, {
      item: "plant",
      kinds: () => bench.report.plants.kinds,
      kindTitle: "plant_kind",
      button: "wire",
      kindName: (kind) => t(`plant_${kind}`),
      fieldName: (name) => t(`field_${name}`),
      optionName: (option) => named(context, option),
    });
  }

  view() {
    const { wired } = this.#bench.report.plants;
    return html`<section class="card across">
      <h2>${t("plants_title")}</h2>
      <p class="note">${t("plants_note")}</p>
      ${wired.length ? this.#wired(wired) : html`<p class="empty">${t("no_plants")}</p>`}
      ${this.#form.view()}
    </section>`;
  }

  // "load*switch:OUT0*on:5" -> "measured load · Switch: Pump · Reading with power: 5"
  /** @param {string} wiring */
  #inWords(wiring) {
    const [kind, ...given] = wiring.split("*");
    const { fields } = this.#bench.report.plants.kinds[kind];
    const told = given.map((one) => {
      const [, name, value] = /^(\w+):(.*)$/s.exec(one) ?? [];
      return `${t(`field_${name}`)}: ${named(this.#context, spokenValue(fields[name], value))}`;
    });
    return [t(`plant_${kind}`), ...told].join(" · ");
  }

  /** @param {string[]} wired */
  #wired(wired) {
    return html`<ul class="wired">
        ${wired.map((wiring) => html`<li>${this.#inWords(wiring)}</li>`)}
      </ul>
      <button type="button" @click=${() => this.#bench.send(["plant", "none"])}>
        ${t("remove_all")}
      </button>`;
  }
}
