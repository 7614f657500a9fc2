// Which labels are drawn: ticks for all that there is, in groups.

import { html, nothing } from "../../vendor/lit-html.js";
import {
  INPUTS,
  METERS,
  OUTPUTS,
  PWMS,
  READINGS,
  VARIABLES,
  dutyOf,
  energyOf,
} from "../../lib/labels.js";
import { isUsed, thingName } from "../../lib/things.js";
import { t } from "../../lib/words.js";

const GROUPS = {
  readings: READINGS,
  meters: METERS.flatMap((meter) => [meter, energyOf(meter)]),
  states: [...OUTPUTS, ...PWMS, ...INPUTS, ...VARIABLES],
  duties: PWMS.map(dutyOf),
};
const SUGGESTED = 3;
const WIDE = matchMedia("(min-width: 1181px)");

export class Picker {
  #context;
  #overview;
  #toggle;

  /** @param {Context} context @param {(label: string, wanted: boolean) => void} toggle */
  constructor(context, toggle) {
    this.#context = context;
    this.#overview = context.overview;
    this.#toggle = toggle;
  }

  // What is drawn where nobody has chosen yet.
  suggested() {
    return this.#present(READINGS).slice(0, SUGGESTED);
  }

  /** @param {string[]} labels */
  #present(labels) {
    return labels.filter((label) => this.#overview.isPresent(label));
  }

  /** @param {string[]} chosen */
  view(chosen) {
    // At the side of a wide screen it is always open; a narrow one opens it when it is wanted.
    const isOpen = chosen.length === 0 || WIDE.matches;
    return html`<details class="picker card" ?open=${isOpen}>
      <summary>${t("choose_labels", { count: chosen.length })}</summary>
      ${Object.entries(GROUPS).map(([name, labels]) => this.#group(name, labels, chosen))}
    </details>`;
  }

  /** @param {string} name @param {string[]} labels @param {string[]} chosen */
  #group(name, labels, chosen) {
    const offered = labels.filter(
      (label) =>
        chosen.includes(label) ||
        (VARIABLES.includes(label)
          ? isUsed(this.#context, label)
          : this.#overview.isPresent(label)),
    );
    if (offered.length === 0) return nothing;
    return html`<fieldset>
      <legend class="q">${t(`group_of_${name}`)}</legend>
      <div class="ticks">${offered.map((label) => this.#tick(label, chosen))}</div>
    </fieldset>`;
  }

  /** @param {string} label @param {string[]} chosen */
  #tick(label, chosen) {
    const unit = this.#overview.unit(label);
    return html`<label>
      <input
        type="checkbox"
        .checked=${chosen.includes(label)}
        @change=${(event) => this.#toggle(label, event.target.checked)}
      />
      <span>${thingName(this.#context, label)} <small>${unit}</small></span>
    </label>`;
  }
}
