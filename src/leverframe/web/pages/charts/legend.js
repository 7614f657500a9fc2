// Under each chart: which line is what, its values within the time shown and at the cursor.

import { html, nothing, svg } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { fullMoment } from "../../lib/format/moments.js";
import { clock, t } from "../../lib/format/words.js";
import * as api from "../../lib/live/api.js";
import { observe } from "../../lib/live/drawing.js";
import { DASHES, TOKENS } from "../../lib/things/charts.js";
import { shift, summaryOf } from "../../lib/things/history.js";
import {
  dutyOf,
  energyOf,
  INPUTS,
  METERS,
  onWord,
  OUTPUTS,
  PWMS,
  READINGS,
  VARIABLES,
} from "../../lib/things/labels.js";
import { isUsed, thingAddress, thingName } from "../../lib/things/things.js";

export class Legend {
  #context;
  #overview;
  #course;
  // The time under the cursor; null where there is none.
  /** @type {Signal<number | null>} */
  #time = signal(null);

  /** @param {Context} context @param {Course} course */
  constructor(context, course) {
    this.#context = context;
    this.#overview = context.overview;
    this.#course = course;
  }

  /** @param {number | null} time */
  point(time) {
    this.#time.value = time;
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
            <th class="number">
              ${this.#time.value === null ? t("last") : this.#moment(this.#time.value)}
            </th>
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
    const at = this.#time.value ?? Math.min(history.to, history.now);
    const value = valueAt(behind, label, at);
    if (isStates) return this.#word(label, value, behind.step);
    return this.#overview.formatValue(label, value).text;
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
    const present = this.#time.value && history ? valueAt(history, label, this.#time.value) : last;
    const text = isStates
      ? this.#word(label, present, history?.step ?? 0)
      : this.#overview.formatValue(label, present).text;
    /** @param {number | null} number */
    const value = (number) =>
      html`<td class="number">${this.#overview.formatValue(label, number).text}</td>`;
    return html`<tr>
      <td>${isStates ? nothing : sample(index)} <a href=${thingAddress(label)}>${name}</a></td>
      ${isStates ? nothing : html`${value(min)}${value(max)}`}
      <td class="number">${text}</td>
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

// What was, for the labels and the time that are shown: read from the controller, extended by what
// is heard.

// Points for each pixel of the widest charts, so that nothing is lost to the eye.
const POINTS = 1500;
// Reduced values grow by whole intervals; they are read again when one is over, but not too often.
const READ_AGAIN_S = 5;
// The comparison is read a little further than shown, because time advances.
const AHEAD = 0.1;

export class Course {
  /** @type {HistoryReply | null} */
  history = null;
  // The same labels some time before, as if it were now.
  /** @type {HistoryReply | null} */
  behind = null;
  /** @type {string[]} */
  #labels = [];

  constructor() {
    observe(this, "history", "behind");
  }

  /** @param {string[]} labels @param {[number, number]} span */
  query(labels, [from, to]) {
    return { labels: labels.join(","), from, to, points: POINTS };
  }

  /** @param {string[]} labels @param {[number, number]} span @param {number} [before] */
  async read(labels, span, before = 0) {
    this.#labels = labels;
    const [history, behind] = await Promise.all([
      labels.length > 0 ? api.history(this.query(labels, span)) : null,
      labels.length > 0 && before ? this.#readBehind(labels, span, before) : null,
    ]);
    // Other labels may have been chosen since then.
    if (labels === this.#labels) [this.history, this.behind] = [history, behind];
    return labels === this.#labels;
  }

  /** @param {string[]} labels @param {[number, number]} span @param {number} before */
  async #readBehind(labels, [from, to], before) {
    const end = to - before + (to - from) * AHEAD;
    return shift(await api.history(this.query(labels, [from - before, end])), before);
  }

  // Pending answers are ignored.
  leave() {
    this.#labels = [];
  }

  // Takes in what the state says now; false where it must be read again: what was in between is not
  // known after a leap, and a clock may be set back.
  /** @param {State} state @param {[number, number]} span */
  extend(state, [from]) {
    const { history } = this;
    if (history === null) return true;
    const known = Math.min(history.to, history.now);
    if (Math.abs(state.time - known) >= Math.max(READ_AGAIN_S, history.step)) return false;
    if (history.step > 0) return true;
    // Several messages may be about one moment, and a late one about an earlier moment.
    const now = Math.max(state.time, known);
    for (const [label, series] of Object.entries(history.series)) {
      const { times, values } = series;
      const value = state[label] ?? null;
      if (values.length === 0 ? value !== null : values.at(-1) !== value) {
        times.push(now);
        values.push(value);
      }
      forget(series, from);
    }
    Object.assign(history, { from, to: now, now });
    return true;
  }
}

// Leaves out what ended before the beginning; the value that held then begins there.
/** @param {RawSeries} series @param {number} from */
function forget({ times, values }, from) {
  let gone = 0;
  while (gone + 1 < times.length && times[gone + 1] <= from) gone++;
  times.splice(0, gone);
  values.splice(0, gone);
  if (times.length > 0 && times[0] < from) times[0] = from;
}

// Which labels are drawn: ticks for all that there is, in groups.

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

  // The lines drawn before the user chooses.
  suggestLabels() {
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
