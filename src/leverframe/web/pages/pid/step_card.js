// The step response, drawn for the gains as they are typed and a plant that can be described.

import { html, svg } from "../../vendor/lit-html.js";
import { numberOf } from "../../lib/format/numbers.js";
import { decimal, t } from "../../lib/format/words.js";
import { observeMembers } from "../../lib/live/drawing.js";

const [WIDTH, HEIGHT] = [480, 160];
const ROOM = 8;
const STEP = 1;
const MINUTE_S = 60;

export class StepCard {
  #gains;
  #unit;
  #typed = observeMembers({ gain: "40", lag: "10" });

  // `gains()` are those that are typed, `unit()` is that of the input.
  /** @param {() => Gains} gains @param {() => string} unit */
  constructor(gains, unit) {
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
        @input=${(event) => (this.#typed[part] = event.target.value)}
      />
    </label>`;
  }

  /** @param {Gains} gains @param {import("./step_card.js").Plant} plant */
  #picture(gains, plant) {
    const response = stepResponse(gains, plant, STEP);
    const { overshoot, settled } = judge(response, STEP);
    const most = Math.max(STEP * 1.2, ...response.values);
    const least = Math.min(0, ...response.values);
    const span = response.times.at(-1) ?? 1;
    /** @param {number} value */
    const y = (value) => HEIGHT - ROOM - ((value - least) / (most - least)) * (HEIGHT - 2 * ROOM);
    const line = response.values
      .map((value, at) => [(response.times[at] / span) * WIDTH, y(value)])
      .map((point) => point.map((one) => one.toFixed(1)).join(" "))
      .join("L");
    const outcome =
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
        aria-label=${outcome}
      >
        ${svg`<path class="wanted" d=${`M0 ${y(STEP)}H${WIDTH}`} />
          <path class="answer" d=${`M${line}`} />`}
      </svg>
      <p class="axis" aria-hidden="true">
        ${marks.map((minutes) => html`<span>${t("in_minutes", { count: minutes })}</span>`)}
      </p>
      <p class="outcome" role="status">${outcome}</p>`;
  }
}

// What the loop would make of a step of its target: the regulator as the controller has it, and a
// plant that follows full duty by `gain`, 63 % of it after `lag` seconds.

/** @typedef {{ kp: number, ki: number, kd: number }} Gains */
/** @typedef {{ gain: number, lag: number }} Plant */
/** @typedef {{ times: number[], values: number[], duties: number[] }} Response */

// Enough to see a plant settle, or not.
const LAGS = 6;
const MAX_POINTS = 400;
const HALF = 50;

// From rest at half duty, the target goes up by `step`; values are those above the rest.
/** @param {Gains} gains @param {Plant} plant @param {number} step @returns {Response} */
export function stepResponse({ kp, ki, kd }, { gain, lag }, step) {
  const span = Math.max(60, Math.round(lag * LAGS));
  const every = Math.max(1, Math.ceil(span / MAX_POINTS));
  /** @type {Response} */
  const response = { times: [], values: [], duties: [] };
  let [value, before, integral] = [0, 0, HALF];
  for (let second = 0; second <= span; second++) {
    const error = step - value;
    const others = kp * error - kd * (value - before) + (ki === 0 ? HALF : 0);
    const wanted = others + integral * Number(ki !== 0) + ki * error;
    // As in the controller, nothing is summed up that would drive the duty further past a limit.
    const added = ki * error;
    if ((wanted <= 100 || added < 0) && (wanted >= 0 || added > 0)) integral += added;
    const duty = Math.min(100, Math.max(0, others + integral * Number(ki !== 0)));
    before = value;
    value += ((gain * (duty - HALF)) / 100 - value) / Math.max(lag, 1);
    if (second % every === 0) {
      response.times.push(second);
      response.values.push(value);
      response.duties.push(duty);
    }
  }
  return response;
}

// How far it goes past the target, in parts of the step, and when it stays within a twentieth.
/** @param {Response} response @param {number} step */
export function judge({ times, values }, step) {
  const last = values.findLastIndex((value) => Math.abs(value - step) > Math.abs(step) / 20);
  return {
    overshoot: Math.max(0, ...values.map((value) => value / step - 1)),
    settled: last + 1 < times.length ? times[last + 1] : null,
  };
}
