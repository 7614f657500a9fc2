// Faults on purpose: what is set and how often it acted, and a form that sets another. How requests
// call a field stands small behind what it means.

import { html } from "../../vendor/lit-html.js";
import { kindOf, thingName } from "../../lib/things.js";
import { serverText, t } from "../../lib/words.js";
import { KindForm, spokenValue } from "./kind_form.js";

/** @import { Bench } from "./bench.js" */
/** @typedef {BenchReport["faults"]["set"][number]} SetFault */

export class Faults {
  #context;
  #bench;
  #form;

  /** @param {AdminContext} context @param {Bench} bench */
  constructor(context, bench) {
    this.#context = context;
    this.#bench = bench;
    this.#form = new KindForm(context, bench, {
      item: "fault",
      kinds: () => bench.report.faults.kinds,
      kindTitle: "fault_kind",
      button: "set_fault",
      kindName: (kind) => t(`fails_${kind}`),
      fieldName: (name, { doc }) => html`${asTitle(serverText(doc))} <code>${name}</code>`,
      optionName: (option) => this.#optionName(option),
    });
  }

  view() {
    const { set, kinds } = this.#bench.report.faults;
    const { doc, real } = kinds[this.#form.kind];
    return html`<section class="card across">
      <h2>${t("faults_title")}</h2>
      <p class="note">${t("faults_note")}</p>
      ${set.length
        ? html`<ul class="wired">
            ${set.map((fault) => this.#row(fault))}
          </ul>`
        : html`<p class="empty">${t("no_faults")}</p>`}
      ${this.#form.view(html`<p class="note">${serverText(doc)} ${serverText(real)}</p>`)}
    </section>`;
  }

  /** @param {SetFault} fault */
  #row({ number, text, acted }) {
    return html`<li class="pin">
      <span class="name">${this.#inWords(text)} <small>${t("acted", { acted })}</small></span>
      <button type="button" @click=${() => this.#bench.send(["fault", `end:${number}`])}>
        ${t("end_fault", { number })}
      </button>
    </li>`;
  }

  // "sensor_85*label:DS2" -> "thermometer shows 85 °C · the reading: Thermometer 2"
  /** @param {string} text */
  #inWords(text) {
    const [kind, ...given] = text.split("*");
    const { fields } = this.#bench.report.faults.kinds[kind];
    const told = given.map((one) => {
      const [, name, value] = /^(\w+):(.*)$/s.exec(one) ?? [];
      const isOption = fields[name].labels?.includes(value);
      const shown = isOption ? this.#optionName(value) : spokenValue(fields[name], value);
      return `${serverText(fields[name].doc)}: ${shown}`;
    });
    return [t(`fails_${kind}`), ...told].join(" · ");
  }

  /** @param {string} option */
  #optionName(option) {
    const isThing = kindOf(option).kind !== null || option in this.#bench.report.readings;
    return isThing ? thingName(this.#context, option) : t(`option_${option.replace(" ", "_")}`);
  }
}

/** @param {string} text */
const asTitle = (text) => text.charAt(0).toLocaleUpperCase() + text.slice(1);
