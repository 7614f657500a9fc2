// The step response, drawn for the gains as they are typed and a plant that can be described.

import { html, svg } from "../../vendor/lit-html.js";
import { numberOf } from "../../lib/numbers.js";
import { decimal, t } from "../../lib/words.js";
import { judged, stepResponse } from "./step.js";

/** @import { Gains } from "./step.js" */

const [WIDTH, HEIGHT] = [480, 160];
const ROOM = 8;
const STEP = 1;
const MINUTE_S = 60;

export class StepCard {
  #context;
  #gains;
  #unit;
  #typed = { gain: "40", lag: "10" };

  // `gains()` are those that are typed, `unit()` is that of the input.
  /** @param {AdminContext} context @param {() => Gains} gains @param {() => string} unit */
  constructor(context, gains, unit) {
    this.#context = context;
    this.#gains = gains;
    this.#unit = unit;
  }

  view() {
    const plant = { gain: numberOf(this.#typed.gain), lag: numberOf(this.#typed.lag) * MINUTE_S };
    const gains = this.#gains();
    const isDrawn = [...Object.values(gains), ...Object.values(plant)].every(Number.isFinite);
    const unit = this.#unit();
    return html`<section class="card step">
      <h2>${t("step_title")}</h2>
      <p class="note">${t("step_note", { step: `${STEP} ${unit}`.trim() })}</p>
      <div class="plant">${this.#field("gain", unit)} ${this.#field("lag", "min")}</div>
      ${isDrawn && plant.lag > 0 ? this.#picture(gains, plant) : html`<p>${t("step_unknown")}</p>`}
    </section>`;
  }

  /** @param {"gain" | "lag"} part @param {string} unit */
  #field(part, unit) {
    return html`<label class="field"
      ><small>${[t(`step_${part}`), unit].filter(Boolean).join(", ")}</small>
      <input
        inputmode="decimal"
        autocomplete="off"
        .value=${this.#typed[part]}
        @input=${(event) => {
          this.#typed[part] = event.target.value;
          this.#context.redraw();
        }}
      />
    </label>`;
  }

  /** @param {Gains} gains @param {import("./step.js").Plant} plant */
  #picture(gains, plant) {
    const response = stepResponse(gains, plant, STEP);
    const { overshoot, settled } = judged(response, STEP);
    const most = Math.max(STEP * 1.2, ...response.values);
    const least = Math.min(0, ...response.values);
    const span = response.times.at(-1) ?? 1;
    /** @param {number} value */
    const y = (value) => HEIGHT - ROOM - ((value - least) / (most - least)) * (HEIGHT - 2 * ROOM);
    const line = response.values
      .map((value, at) => [(response.times[at] / span) * WIDTH, y(value)])
      .map((point) => point.map((one) => one.toFixed(1)).join(" "))
      .join("L");
    const told =
      settled === null
        ? t("step_never", { minutes: decimal(span / MINUTE_S, 0) })
        : t("step_settles", {
            minutes: decimal(settled / MINUTE_S, 1),
            percent: decimal(overshoot * 100, 0),
          });
    const quarters = [0, 1, 2, 3, 4].map((quarter) => (quarter * span) / (4 * MINUTE_S));
    const marks = quarters.map((minutes) => decimal(minutes, Number.isInteger(minutes) ? 0 : 1));
    return html`<svg
        viewBox="0 0 ${WIDTH} ${HEIGHT}"
        preserveAspectRatio="none"
        role="img"
        aria-label=${told}
      >
        ${svg`<path class="wanted" d=${`M0 ${y(STEP)}H${WIDTH}`} />
          <path class="answer" d=${`M${line}`} />`}
      </svg>
      <p class="axis" aria-hidden="true">
        ${marks.map((minutes) => html`<span>${t("in_minutes", { count: minutes })}</span>`)}
      </p>
      <p class="outcome" role="status">${told}</p>`;
  }
}
