// Under each chart: which line is what, its values within the time shown and at the cursor.

import { html, nothing, svg } from "../../vendor/lit-html.js";
import { DASHES, TOKENS } from "../../lib/chart/lines.js";
import { summaryOf } from "../../lib/chart/table.js";
import { onWord } from "../../lib/level_words.js";
import { fullMoment } from "../../lib/moments.js";
import { thingAddress, thingName } from "../../lib/things.js";
import { clock, t } from "../../lib/words.js";

/** @import { Course } from "./course.js" */

export class Legend {
  #context;
  #overview;
  #course;
  // The time under the cursor; null where there is none.
  /** @type {number | null} */
  #time = null;

  /** @param {Context} context @param {Course} course */
  constructor(context, course) {
    this.#context = context;
    this.#overview = context.overview;
    this.#course = course;
  }

  // True if that is news.
  /** @param {number | null} time */
  point(time) {
    const isNew = time !== this.#time;
    this.#time = time;
    return isNew;
  }

  /** @param {string[]} labels @param {boolean} areStates @param {string | null} [behind] */
  view(labels, areStates, behind = null) {
    const { history } = this.#course;
    return html`<div class="scrolling">
      <table class="courses">
        <thead>
          <tr>
            <th>${t("line")}</th>
            ${areStates
              ? nothing
              : html`<th class="number">${t("lowest")}</th>
                  <th class="number">${t("highest")}</th>`}
            <th class="number">${this.#time === null ? t("last") : this.#moment(this.#time)}</th>
            ${behind ? html`<th class="number">${t(`behind_${behind}`)}</th>` : nothing}
          </tr>
        </thead>
        <tbody>
          ${labels.map((label, index) => this.#row(history, label, index, areStates))}
        </tbody>
      </table>
    </div>`;
  }

  // What was then, some time before.
  /** @param {string} label @param {boolean} isStates */
  #before(label, isStates) {
    const { behind, history } = this.#course;
    if (behind === null || history === null) return "–";
    const at = this.#time ?? Math.min(history.to, history.now);
    const value = valueAt(behind, label, at);
    if (isStates) return this.#word(label, value, behind.step);
    return this.#overview.shown(label, value).text;
  }

  // On and off, of contacts open and closed; of reduced values, how much of the time.
  /** @param {string} label @param {number | null | undefined} level @param {number} step */
  #word(label, level, step) {
    if (level === null || level === undefined) return "–";
    const share = this.#overview.isInverted(label) ? 1 - level : level;
    if (step > 0 && share > 0 && share < 1) return `${Math.round(share * 100)} %`;
    return onWord(label, share > 0);
  }

  /** @param {number} time */
  #moment(time) {
    return `${fullMoment(time, { day: "numeric", month: "short" })} ${clock(time)}`;
  }

  /**
   * @param {HistoryReply | null} history Null before it has come: the row keeps its room.
   * @param {string} label
   * @param {number} index
   * @param {boolean} isStates
   */
  #row(history, label, index, isStates) {
    const name = thingName(this.#context, label);
    const { min, max, last } = history ? summaryOf(history, label) : NOTHING_YET;
    const present = this.#time && history ? valueAt(history, label, this.#time) : last;
    const said = isStates
      ? this.#word(label, present, history?.step ?? 0)
      : this.#overview.shown(label, present).text;
    /** @param {number | null} number */
    const value = (number) =>
      html`<td class="number">${this.#overview.shown(label, number).text}</td>`;
    return html`<tr>
      <td>
        ${isStates ? nothing : sample(index)} <a href=${thingAddress(label)}>${name}</a>
      </td>
      ${isStates ? nothing : html`${value(min)}${value(max)}`}
      <td class="number">${said}</td>
      ${this.#course.behind
        ? html`<td class="number">${this.#before(label, isStates)}</td>`
        : nothing}
    </tr>`;
  }
}

const NOTHING_YET = { min: null, max: null, last: null };

/** @param {number} index */
function sample(index) {
  const place = index % TOKENS.length;
  return html`<svg class="sample" viewBox="0 0 32 8" aria-hidden="true" data-line=${place + 1}>
    ${svg`<path d="M0 4h32" stroke-dasharray=${DASHES[place].join(" ")} />`}
  </svg>`;
}

// What held at a time, by halving; null where nothing is known.
/** @param {HistoryReply} history @param {string} label @param {number} time */
function valueAt({ series, step, times }, label, time) {
  const column = series[label];
  if (!column) return null;
  const begins = step === 0 ? column.times : times;
  let [low, high] = [0, begins.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (begins[middle] <= time) low = middle + 1;
    else high = middle;
  }
  if (low === 0) return null;
  return (step === 0 ? column.values : column.mean)[low - 1];
}
