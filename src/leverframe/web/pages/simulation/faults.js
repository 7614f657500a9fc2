// Faults on purpose: what is set and how often it acted, and a form that sets another. How requests
// call a field stands small behind what it means.

import { html } from "../../vendor/lit-html.js";
import { kindOf, thingName } from "../../lib/things.js";
import { serverText, t } from "../../lib/words.js";
import { KindForm, spokenValue, takenApart } from "./kind_form.js";

/** @import { Bench } from "./bench.js" */

const SHOWN_LETTERS = 200;

/** @param {AdminContext} context @param {Bench} bench */
export function faultsCard(context, bench) {
  /** @param {string} option */
  const optionName = (option) => {
    const isThing = kindOf(option).kind !== null || option in bench.report.readings;
    return isThing ? thingName(context, option) : t(`option_${option.replace(" ", "_")}`);
  };
  // "sensor_85*label:DS2" -> "thermometer shows 85 °C · the reading: Thermometer 2"
  /** @param {string} text */
  const inWords = (text) => {
    const [kind, given] = takenApart(text);
    const { fields } = bench.report.faults.kinds[kind];
    const told = given.map(([name, value]) => {
      const isOption = fields[name].labels?.includes(value);
      // An own answer may be a whole page.
      const decoded = decodeURIComponent(value).slice(0, SHOWN_LETTERS);
      const shown = isOption ? optionName(value) : spokenValue(fields[name], decoded);
      return `${serverText(fields[name].doc)}: ${shown}`;
    });
    return [t(`fails_${kind}`), ...told].join(" · ");
  };
  const form = new KindForm(context, bench, {
    item: "fault",
    kinds: () => bench.report.faults.kinds,
    kindTitle: "fault_kind",
    button: "set_fault",
    kindName: (kind) => t(`fails_${kind}`),
    fieldName: (name, { doc }) => html`${asTitle(serverText(doc))} <code>${name}</code>`,
    optionName,
  });
  const view = () => {
    const { set, kinds } = bench.report.faults;
    const { doc, real } = kinds[form.kind];
    return html`<section class="card across">
      <h2>${t("faults_title")}</h2>
      <p class="note">${t("faults_note")}</p>
      ${set.length
        ? html`<ul class="wired">
            ${set.map(
              ({ number, text, acted }) => html`<li class="pin">
                <span class="name">${inWords(text)} <small>${t("acted", { acted })}</small></span>
                <button type="button" @click=${() => bench.send(["fault", `end:${number}`])}>
                  ${t("end_fault", { number })}
                </button>
              </li>`,
            )}
          </ul>`
        : html`<p class="empty">${t("no_faults")}</p>`}
      ${form.view(html`<p class="note">${serverText(doc)} ${serverText(real)}</p>`)}
    </section>`;
  };
  return { view };
}

/** @param {string} text */
const asTitle = (text) => text.charAt(0).toLocaleUpperCase() + text.slice(1);
