// The last 24 hours of a thing: bars by cause for what is switched, a line for what is measured,
// with the thresholds of the rules that look at it.

import { html, nothing, svg } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { shortMoment } from "../../lib/format/moments.js";
import { durationText, setText } from "../../lib/format/numbers.js";
import { clock, t } from "../../lib/format/words.js";
import * as api from "../../lib/live/api.js";
import { numberRules } from "../../lib/live/tree.js";
import { tableOf } from "../../lib/things/history.js";
import { isState } from "../../lib/things/labels.js";
import { causeOf, CAUSES } from "../../lib/things/signs.js";
import { kindOf } from "../../lib/things/things.js";

/** @import { CauseName } from "../../lib/things/signs.js" */

const SPAN_S = 86_400;
const MINUTE_S = 60;
const POINTS = 240;
const TICKS = 4;
const LANE_PX = 20;
const LINE_HEIGHT = 100;
// Least width of a bar in percent, about 4 px.
const MIN_SHARE = 0.8;

/** @typedef {Api.LeverTimeline["lanes"][number]["bars"][number]} LaneBar */

export class Day {
  #context;
  #label;
  /** @type {Signal<LaneBar[] | null>} */
  #bars = signal(null);
  // Since when anything was recorded; null where nothing is.
  /** @type {Signal<number | null>} */
  #since = signal(null);
  /** @type {Signal<HistoryReply | null>} */
  #history = signal(null);
  #to = signal(0);
  // The state that was drawn last: another one makes another picture.
  /** @type {number | null | undefined} */
  #seen;
  #wasLost = false;

  /** @param {Context} context @param {string} label */
  constructor(context, label) {
    this.#context = context;
    this.#label = label;
  }

  get history() {
    return this.#history.value;
  }

  async read() {
    this.#seen = this.#context.live.state[this.#label];
    this.#to.value = this.#context.live.state.time;
    const span = { from: this.#to.value - SPAN_S, to: this.#to.value };
    if (isState(this.#label)) {
      const { lanes, since } = await api.timeline(span);
      this.#since.value = since;
      this.#bars.value = lanes.find(({ label }) => label === this.#label)?.bars ?? [];
    } else {
      this.#history.value = await api.history({ labels: this.#label, points: POINTS, ...span });
    }
  }

  view() {
    const isLane = isState(this.#label);
    const isLost = this.#context.live.connection === "lost";
    const isOld = isLane && this.#seen !== this.#context.live.state[this.#label];
    // What happened while the connection was lost is read when it is back.
    if (!isLost && (isOld || this.#wasLost)) this.read().catch(() => {});
    this.#wasLost = isLost;
    const isThere = isLane ? this.#bars.value !== null : this.#history.value !== null;
    return html`<section>
      <h2>${t("last_day")} <small>${isLane && isThere ? this.#summary() : nothing}</small></h2>
      ${!isThere
        ? html`<p class="q">${t(isLost ? "history_waits" : "reading_history")}</p>`
        : isLane
          ? this.#lane()
          : this.#line()}
    </section>`;
  }

  get #shown() {
    return (this.#bars.value ?? []).filter(({ value, planned }) => value === 1 && !planned);
  }

  #summary() {
    const seconds = this.#shown.reduce((sum, { begin, end }) => sum + (end - begin), 0);
    const count = this.#shown.reduce((sum, { count: bars = 1 }) => sum + bars, 0);
    const isInput = kindOf(this.#label).kind === "digital";
    const time = durationText(roughly(seconds));
    const said =
      count === 0
        ? t(isInput ? "never_open" : "never_on")
        : t(isInput ? "open_times" : "on_times", { count, time });
    const since = this.#since.value ?? this.#to.value;
    const isWhole = since <= this.#to.value - SPAN_S + MINUTE_S;
    return isWhole ? said : `${said}, ${t("recorded_since", { time: this.#moment(since) })}`;
  }

  /** @param {number} time */
  #moment(time) {
    return shortMoment(time, this.#to.value);
  }

  // What was recorded of the day; the rest is unknown, not off.
  #ground() {
    const [begin, end] = [this.#since.value ?? this.#to.value, this.#to.value];
    const gaps = (this.#bars.value ?? []).filter((bar) => bar.value === null && bar.end > begin);
    const least = this.#share(begin);
    return [{ begin, end }, ...gaps].map((part, index) => {
      const x = Math.max(least, this.#share(part.begin));
      const width = Math.max(0, this.#share(part.end) - x);
      return svg`<rect
        class=${index === 0 ? "lane" : "absent"}
        x=${`${x.toFixed(2)}%`}
        y="2"
        width=${`${width.toFixed(2)}%`}
        height=${LANE_PX}
      />`;
    });
  }

  #lane() {
    const isInput = kindOf(this.#label).kind === "digital";
    const used = new Set(
      this.#shown.map(({ cause }) => (cause ? causeOf(cause.kind, cause.detail).name : null)),
    );
    return html`<svg class="bars" width="100%" height="24" role="img" aria-label=${this.#summary()}>
        ${this.#ground()}
        ${this.#shown.map((bar) => this.#bar(bar, isInput))}
      </svg>
      ${this.#axis()}
      ${isInput
        ? nothing
        : html`<p class="cause-key">
            ${Object.values(CAUSES)
              .filter(({ name }) => used.has(name))
              .map(({ name, look, word }) => key(name, look, word()))}
          </p>`}`;
  }

  /** @param {LaneBar} bar @param {boolean} isInput */
  #bar({ begin, end, cause }, isInput) {
    const x = this.#share(begin);
    const width = Math.max(MIN_SHARE, this.#share(end) - x);
    const { look, name } = cause ? causeOf(cause.kind, cause.detail) : { look: "met", name: "" };
    const left = `${Math.min(x, 100 - MIN_SHARE).toFixed(2)}%`;
    return svg`<rect
        class=${isInput ? "met" : look}
        x=${left}
        y="2"
        width=${`${width.toFixed(2)}%`}
        height=${LANE_PX}
      />${name === "hand" && !isInput ? knob(left) : nothing}`;
  }

  // In percent of the day.
  /** @param {number} time */
  #share(time) {
    return Math.min(100, Math.max(0, (100 * (time - this.#to.value + SPAN_S)) / SPAN_S));
  }

  #axis() {
    const step = SPAN_S / TICKS;
    const times = Array.from(
      { length: TICKS },
      (_, index) => this.#to.value - SPAN_S + index * step,
    );
    return html`<div class="axis" aria-hidden="true">
      ${times.map((time) => html`<span>${clock(time).slice(0, 5)}</span>`)}
      <span>${t("now_short")}</span>
    </div>`;
  }

  #line() {
    const history = /** @type {HistoryReply} */ (this.#history.value);
    const { times, columns } = tableOf(history, [this.#label]);
    const values = columns[0]?.values ?? columns[0]?.mean ?? [];
    const known = values.filter((value) => value !== null && value !== undefined);
    if (known.length === 0) return html`<p class="q">${t("no_history")}</p>`;
    const limits = thresholds(this.#context, this.#label);
    const low = Math.min(...known, ...limits);
    const high = Math.max(...known, ...limits);
    const room = (high - low || 1) * 0.08;
    /** @param {number} value */
    const y = (value) => (LINE_HEIGHT * (high + room - value)) / (high - low + 2 * room);
    return html`<div class="line">
        <svg
          viewBox="0 0 100 ${LINE_HEIGHT}"
          preserveAspectRatio="none"
          role="img"
          aria-label=${this.#rangeText(Math.min(...known), Math.max(...known))}
        >
          ${limits.map((limit) => svg`<path class="limit" d="M0 ${y(limit)}H100" />`)}
          ${svg`<path d=${this.#path(times, values, y)} />`}
        </svg>
      </div>
      ${this.#axis()}
      <p class="q">
        ${this.#rangeText(Math.min(...known), Math.max(...known))}${this.#limitsSaid(limits)}
      </p>`;
  }

  /** @param {number[]} limits */
  #limitsSaid(limits) {
    if (limits.length === 0) return "";
    const texts = limits.map((limit) => setText(this.#context, this.#label, limit)).join(", ");
    return ` ${t("thresholds", { limits: texts })}`;
  }

  /** @param {number} value */
  #formatValue(value) {
    const { text, unit } = this.#context.overview.formatValue(this.#label, value);
    return `${text} ${unit}`.trim();
  }

  /** @param {number} low @param {number} high */
  #rangeText(low, high) {
    const [lowest, highest] = [this.#formatValue(low), this.#formatValue(high)];
    if (lowest === highest) return t("always", { value: lowest });
    return t("from_to", { low: lowest, high: highest });
  }

  // Raw values hold until the next; where nothing was known there is no line.
  /**
   * @param {number[]} times
   * @param {(number | null)[]} values
   * @param {(value: number) => number} y
   */
  #path(times, values, y) {
    let isDrawing = false;
    let height = 0;
    return values
      .map((value, index) => {
        const x = this.#share(times[index]).toFixed(2);
        const step =
          isDrawing && this.#history.value?.step === 0 ? `L${x} ${height.toFixed(1)}` : "";
        if (value === null || value === undefined) {
          isDrawing = false;
          return step;
        }
        height = y(value);
        const begin = `M${this.#leftEdgeOf(times, values, index)} ${height.toFixed(1)}L`;
        const drawn = `${step}${isDrawing ? "L" : begin}${x} ${height.toFixed(1)}`;
        isDrawing = true;
        return drawn;
      })
      .join("");
  }

  // Where the line begins with a value: what was known for a moment only is seen, too.
  /** @param {number[]} times @param {(number | null)[]} values @param {number} index */
  #leftEdgeOf(times, values, index) {
    const gap = values.findIndex((one, at) => at > index && (one === null || one === undefined));
    const end = this.#share(times.at(gap) ?? this.#to.value);
    return Math.max(0, Math.min(this.#share(times[index]), end - MIN_SHARE)).toFixed(2);
  }
}

/** @param {string} left */
const knob = (left) => svg`<circle class="cause-hand" cx=${left} cy="12" r="5" />`;

/** @param {CauseName} name @param {string} look @param {string} word */
const key = (name, look, word) =>
  html`<span
    ><svg class="bars" width="26" height="14" aria-hidden="true">
      ${svg`<rect class=${look} x="1" y="2" width="24" height="10" />`}
      ${name === "hand" ? svg`<circle class="cause-hand" cx="5" cy="7" r="4" />` : nothing}</svg
    >${word}</span
  >`;

// Where rules that are on begin and end to be met.
/** @param {Context} context @param {string} label */
function thresholds({ settings }, label) {
  const found = numberRules(settings?.rules)
    .filter(({ rule }) => rule.enabled)
    .flatMap(({ rule }) => [
      ...(rule.source === label ? [rule.reference] : []),
      ...(rule.source2 === label && rule.operator !== "-" ? [rule.reference2] : []),
    ]);
  return [...new Set(found)];
}

// Hours are shown without seconds.
/** @param {number} seconds */
const roughly = (seconds) => (seconds < 600 ? Math.round(seconds) : Math.round(seconds / 60) * 60);
