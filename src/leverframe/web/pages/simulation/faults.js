// Faults on purpose: what is set and how often it acted, and a form that sets another. Kinds,
// fields are called as in the requests; what they do, and real units do, is told in words.

import { html } from "../../vendor/lit-html.js";
import { serverText, t } from "../../lib/words.js";
import { KindForm } from "./kind_form.js";

/** @import { Bench } from "./bench.js" */
/** @typedef {BenchReport["faults"]["set"][number]} SetFault */

export class Faults {
  #bench;
  #form;

  /** @param {AdminContext} context @param {Bench} bench */
  constructor(context, bench) {
    this.#bench = bench;
    this.#form = new KindForm(context, bench, {
      item: "fault",
      kinds: () => bench.report.faults.kinds,
      kindTitle: "fault_kind",
      button: "set_fault",
      kindName: (kind) => kind,
      fieldName: (name) => name,
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
      <span class="name">
        ${text.split("*").join(" · ")} <small>${t("acted", { acted })}</small>
      </span>
      <button type="button" @click=${() => this.#bench.send(["fault", `end:${number}`])}>
        ${t("end_fault", { number })}
      </button>
    </li>`;
  }
}
