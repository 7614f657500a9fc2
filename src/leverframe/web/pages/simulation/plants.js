// Plants between outputs and inputs: what is wired, and a form that wires another.

import { html } from "../../vendor/lit-html.js";
import { t } from "../../lib/words.js";
import { KindForm, named, spokenValue, takenApart } from "./kind_form.js";

/** @import { Bench } from "./bench.js" */

/** @param {AdminContext} context @param {Bench} bench */
export function plantsCard(context, bench) {
  const form = new KindForm(context, bench, {
    item: "plant",
    kinds: () => bench.report.plants.kinds,
    kindTitle: "plant_kind",
    button: "wire",
    kindName: (kind) => t(`plant_${kind}`),
    fieldName: (name) => t(`field_${name}`),
    optionName: (option) => named(context, option),
  });
  const view = () => {
    const { wired } = bench.report.plants;
    return html`<section class="card across">
      <h2>${t("plants_title")}</h2>
      <p class="note">${t("plants_note")}</p>
      ${wired.length
        ? html`<ul class="wired">
              ${wired.map((wiring) => html`<li>${inWords(context, bench, wiring)}</li>`)}
            </ul>
            <button type="button" @click=${() => bench.send(["plant", "none"])}>
              ${t("remove_all")}
            </button>`
        : html`<p class="empty">${t("no_plants")}</p>`}
      ${form.view()}
    </section>`;
  };
  return { view };
}

// "load*switch:OUT0*on:5" -> "measured load · Switch: Pump · Reading with power: 5"
/** @param {AdminContext} context @param {Bench} bench @param {string} wiring */
function inWords(context, bench, wiring) {
  const [kind, given] = takenApart(wiring);
  const { fields } = bench.report.plants.kinds[kind];
  const told = given.map(
    ([name, value]) =>
      `${t(`field_${name}`)}: ${named(context, spokenValue(fields[name], value))}`,
  );
  return [t(`plant_${kind}`), ...told].join(" · ");
}
