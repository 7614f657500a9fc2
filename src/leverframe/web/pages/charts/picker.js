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
import { t } from "../../lib/words.js";

const GROUPS = {
  readings: READINGS,
  meters: METERS.flatMap((meter) => [meter, energyOf(meter)]),
  states: [...OUTPUTS, ...PWMS, ...INPUTS, ...VARIABLES],
  duties: PWMS.map(dutyOf),
};
const SUGGESTED = 3;

export class Picker {
  #overview;
  #toggle;

  /** @param {Overview} overview @param {(label: string, wanted: boolean) => void} toggle */
  constructor(overview, toggle) {
    this.#overview = overview;
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
    return html`<details class="picker" ?open=${chosen.length === 0}>
      <summary>${t("choose_labels", { count: chosen.length })}</summary>
      ${Object.entries(GROUPS).map(([name, labels]) => this.#group(name, labels, chosen))}
    </details>`;
  }

  /** @param {string} name @param {string[]} labels @param {string[]} chosen */
  #group(name, labels, chosen) {
    const offered = labels.filter(
      (label) => chosen.includes(label) || this.#overview.isPresent(label),
    );
    if (offered.length === 0) return nothing;
    return html`<fieldset>
      <legend>${t(`group_of_${name}`)}</legend>
      <div class="ticks">${offered.map((label) => this.#tick(label, chosen))}</div>
    </fieldset>`;
  }

  /** @param {string} label @param {string[]} chosen */
  #tick(label, chosen) {
    const name = this.#overview.name(label);
    return html`<label>
      <input
        type="checkbox"
        .checked=${chosen.includes(label)}
        @change=${(event) => this.#toggle(label, event.target.checked)}
      />
      <span>${name || label}${name ? html` <small>${label}</small>` : nothing}</span>
    </label>`;
  }
}
