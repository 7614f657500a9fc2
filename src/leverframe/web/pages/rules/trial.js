// What a rule as it is written would have done, as a picture: its reading with both thresholds, the
// hours that its window excludes, and strips of its condition, of what it would have done and of
// what was done. It is asked for again 300 ms after the last key.

import { html, nothing, svg } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { weekdayName } from "../../lib/format/moments.js";
import { roughText, setText } from "../../lib/format/numbers.js";
import { clock, t } from "../../lib/format/words.js";
import { weekdayOf } from "../../lib/format/zone.js";
import { whyNot } from "../../lib/forms/task.js";
import * as api from "../../lib/live/api.js";
import { pathOf, pointsOf } from "../../lib/things/history.js";
import { isState, stateWord } from "../../lib/things/labels.js";
import { moverName } from "../../lib/things/lever_state.js";
import { causeOf, icon } from "../../lib/things/signs.js";
import { thingName } from "../../lib/things/things.js";
import { outputOf } from "./sentence.js";
import { thresholds } from "./until.js";

/** @import { Draft } from "./draft.js" */
/** @import { Condition } from "./until.js" */

/**
 * @typedef {object} Past
 * @property {string} source
 * @property {Condition} condition  as it was tried: the typed text may be no number now
 * @property {number | null} pulse  how long its pulse was to last; null where its action is none
 * @property {Api.RuleTrial} trial
 * @property {HistoryReply} history
 * @property {Api.LaneBar[] | null} did
 */

const WAIT_MS = 300;
const POINTS = 300;
const DAY_H = 24;
const WEEK_H = 168;
const HEIGHT = 126;

export class Trial {
  #context;
  #draft;
  #hours = signal(DAY_H);
  /** @type {Signal<Past | null>} */
  #past = signal(null);
  /** @type {Signal<string | null>} */
  #refusal = signal(null);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #asked = 0;

  /** @param {AdminContext} context @param {Draft} draft */
  constructor(context, draft) {
    this.#context = context;
    this.#draft = draft;
    this.#ask();
  }

  close() {
    clearTimeout(this.#timer);
    this.#asked = -1;
  }

  // To be called with everything that is typed.
  follow() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), WAIT_MS);
  }

  /** @param {number} hours */
  #look(hours) {
    this.#hours.value = hours;
    this.#ask();
  }

  async #ask() {
    if (this.#draft.problems.length > 0) {
      this.#refusal.value = t("try_complete_first");
      return;
    }
    const request = ++this.#asked;
    try {
      const past = await this.#read();
      if (request !== this.#asked) return;
      this.#past.value = past;
      this.#refusal.value = null;
    } catch (error) {
      if (request !== this.#asked) return;
      this.#refusal.value = whyNot(error, "not_reached");
    }
  }

  /** @returns {Promise<Past>} */
  async #read() {
    const { condition, pulse, typed } = this.#draft;
    const { source, action } = typed;
    const switched = outputOf(action);
    const trial = await api.tryRule(this.#draft.trialItem(), this.#hours.value);
    const [from, to] = [Math.floor(trial.first), Math.ceil(trial.last)];
    const [history, timeline] = await Promise.all([
      api.history({ labels: source, from, to, points: POINTS }),
      switched ? api.timeline({ from, to }) : null,
    ]);
    const lane = timeline?.lanes.find(({ label }) => label === switched);
    return { source, condition, pulse, trial, history, did: lane?.bars ?? null };
  }

  view() {
    return html`<figure class="trial">
      <figcaption>
        <b>${t(this.#hours.value === DAY_H ? "trial_day" : "trial_week")}</b>
        <small>${t("trial_note")}</small>
        <span class="group" role="group" aria-label=${t("trial_span")}>
          ${this.#span(DAY_H, "day")} ${this.#span(WEEK_H, "week")}
        </span>
      </figcaption>
      ${this.#refusal.value
        ? html`<p class="note" role="status">${this.#refusal.value}</p>`
        : nothing}
      ${this.#past.value && !this.#refusal.value ? this.#picture(this.#past.value) : nothing}
    </figure>`;
  }

  /** @param {number} hours @param {string} key */
  #span(hours, key) {
    return html`<button
      type="button"
      aria-pressed=${this.#hours.value === hours ? "true" : "false"}
      @click=${() => this.#look(hours)}
    >
      ${t(key)}
    </button>`;
  }

  /** @param {Past} past */
  #picture(past) {
    const { trial, did, pulse } = past;
    if (trial.since === null) return html`<p class="note" role="status">${t("try_no_history")}</p>`;
    const { first, last } = trial;
    const since = Math.max(first, trial.since);
    const spansWould =
      pulse === null ? spansOf(trial.firings, last) : pulsesOf(trial.firings, pulse, last);
    // Before the recording began nothing is known, whatever the readings are now.
    const would = common(spansWould, [[since, last]]);
    const wanted = pulse === null && this.#draft.typed.value === "0" ? 0 : 1;
    const done = did && did.filter(({ value }) => value === wanted);
    const spans = done?.map((bar) => this.#within(bar, trial)) ?? null;
    const differing = spans ? differences(would, spans, since, last) : [];
    return html`<div class="plot">
        ${this.#readings(past)} ${this.#strips(trial, would, done, differing)} ${axis(first, last)}
      </div>
      <p class="outcome" role="status">${this.#outcomeText(would, spans, differing, did)}</p>`;
  }

  /** @param {Api.LaneBar} bar @param {Api.RuleTrial} trial @returns {Span} */
  #within({ begin, end }, { first, last }) {
    return [Math.max(begin, first), Math.min(end, last)];
  }

  // The reading as a line, with both thresholds.
  /** @param {Past} past */
  #readings({ source, condition, trial, history }) {
    const points = isState(source) ? [] : pointsOf(history, source);
    if (points.length === 0) return nothing;
    const { on, off } = thresholds(condition);
    const values = [on, off, ...points.map(([, value]) => value).filter((value) => value !== null)];
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const room = (high - low || 1) * 0.12;
    /** @param {number} value */
    const y = (value) => ((high + room - value) / (high - low + 2 * room)) * HEIGHT;
    /** @param {number} time */
    const x = (time) => Math.max(0, ((time - trial.first) / (trial.last - trial.first)) * 1000);
    return html`${this.#names(source, on, off, y)}
      <svg
        class="course"
        viewBox="0 0 1000 ${HEIGHT}"
        preserveAspectRatio="none"
        role="img"
        aria-label=${t("trial_readings", { name: thingName(this.#context, source) })}
      >
        ${this.#excludedSpans(trial).map(
          ([begin, end]) => svg`<rect x=${x(begin)} width=${x(end) - x(begin)} height=${HEIGHT} />`,
        )}
        <path class="limit" d="M0,${y(on)}H1000${off === on ? "" : `M0,${y(off)}H1000`}" />
        <path d=${pathOf(history, points, x, y)} />
      </svg>`;
  }

  // Both names stay readable where the thresholds are near each other.
  /**
   * @param {string} source
   * @param {number} on
   * @param {number} off
   * @param {(value: number) => number} y
   */
  #names(source, on, off, y) {
    const formatValue = (/** @type {number} */ value) => setText(this.#context, source, value);
    if (on === off) return name(y(on), t("on_at", { value: formatValue(on) }));
    const [one, other] = [y(on), y(off)];
    const push = Math.max(0, 18 - Math.abs(one - other)) / 2;
    const way = one > other ? 1 : -1;
    return html`${name(one + way * push, t("on_at", { value: formatValue(on) }))}
    ${name(other - way * push, t("off_at", { value: formatValue(off) }))}`;
  }

  /** @param {Api.RuleTrial} trial */
  #excludedSpans({ conditions, first, last }) {
    if (!this.#draft.typed.window || !conditions[1]) return [];
    return without(spansOf(conditions[1], last), first, last);
  }

  /**
   * @param {Api.RuleTrial} trial
   * @param {Span[]} would
   * @param {Api.LaneBar[] | null} done
   * @param {Span[]} differing
   */
  #strips(trial, would, done, differing) {
    const { first, last } = trial;
    /** @param {number} time */
    const at = (time) => ((Math.min(Math.max(time, first), last) - first) / (last - first)) * 100;
    /** @param {Span} span @param {number} y @param {string} look */
    const bar = ([begin, end], y, look) =>
      svg`<rect class=${look} x="${at(begin)}%" y=${y} height="14"
        width="${Math.max(at(end) - at(begin), 0.3)}%" />`;
    const rows = done ? 3 : 2;
    const conditions = spansOf(trial.conditions[0] ?? [], last);
    return html`<div class="strip-names">
        <span>${t("strip_condition")}</span><span>${t("strip_would")}</span>
        ${done ? html`<span>${t("strip_did")}</span>` : nothing}
      </div>
      <svg class="bars" width="100%" height=${rows * 24 + 4} role="img" aria-label=${t("strips")}>
        ${[0, 1, 2]
          .slice(0, rows)
          .map((row) => svg`<rect class="lane" y=${row * 24 + 6} width="100%" height="14" />`)}
        ${conditions.map((span) => bar(span, 6, "met"))}
        ${would.map((span) => bar(span, 30, "cause-rule"))}
        ${(done ?? []).map(({ begin, end, cause }) =>
          bar([begin, end], 54, cause ? causeOf(cause.kind, cause.detail).look : "met"),
        )}
        ${differing.map(
          ([begin, end]) =>
            svg`<rect class="differs" x="${at(begin)}%" y="27" height="44"
              width="${Math.max(at(end) - at(begin), 0.6)}%" />`,
        )}
      </svg>`;
  }

  /**
   * @param {Span[]} would
   * @param {Span[] | null} did
   * @param {Span[]} differing
   * @param {Api.LaneBar[] | null} bars
   */
  #outcomeText(would, did, differing, bars) {
    const sentence = countText("trial_would", "trial_never", would);
    if (!did) return sentence;
    const done = countText("trial_did", "trial_did_not", did);
    if (differing.length === 0) return html`${icon("check", "s")} ${t("trial_same")} ${sentence}`;
    return html`<span class="attention"
        >${icon("attention", "s")} ${t("trial_differs", { count: differing.length })}</span
      >
      ${this.#why(differing[0], bars ?? [])} ${sentence} ${done}`;
  }

  // Who had it otherwise in the first difference.
  /** @param {Span} span @param {Api.LaneBar[]} bars */
  #why([begin], bars) {
    const bar = bars.find((one) => one.begin <= begin + 1 && one.end > begin + 1);
    if (!bar?.cause) return "";
    const { kind, detail } = bar.cause;
    const mover = moverName(this.#context, bar.cause);
    // The name of a timer already says its cause.
    const names = kind === "timer" ? [mover] : [causeOf(kind, detail).word(), mover];
    return t("trial_why", {
      name: thingName(this.#context, outputOf(this.#draft.typed.action) ?? ""),
      state: stateWord(Boolean(bar.value)),
      time: clock(bar.begin).slice(0, 5),
      who: names.filter(Boolean).join(" "),
    });
  }
}

/** @param {string} key @param {string} none @param {Span[]} spans */
const countText = (key, none, spans) =>
  spans.length === 0 ? t(none) : t(key, { count: spans.length, time: roughText(total(spans)) });

/** @param {number} top @param {string} text */
const name = (top, text) => html`<span class="y" .style=${`top:${top - 9}px`}>${text}</span>`;

/** @param {number} first @param {number} last */
function axis(first, last) {
  const isWeek = last - first > 2 * 86_400;
  const parts = isWeek ? 7 : 6;
  const texts = Array.from({ length: parts }, (_, part) => {
    const time = first + ((last - first) * part) / parts;
    return isWeek ? weekdayName(weekdayOf(time)) : clock(time).slice(0, 5);
  });
  return html`<div class="axis">
    ${texts.map((text) => html`<span>${text}</span>`)}<span>${t("axis_now")}</span>
  </div>`;
}

// What the picture of a trial shows, as spans of time: [begin, end] in seconds since 1970.

/** @typedef {[number, number]} Span */

// When something was on, from the moments at which it turned.
/** @param {Api.Firing[]} turns @param {number} last @returns {Span[]} */
export function spansOf(turns, last) {
  /** @type {Span[]} */
  const spans = [];
  /** @type {number | null} */
  let begin = null;
  for (const { time, active } of turns) {
    if (active) begin ??= time;
    else if (begin !== null) {
      spans.push([begin, time]);
      begin = null;
    }
  }
  if (begin !== null) spans.push([begin, last]);
  return spans;
}

// When pulses were on, from the moments at which a rule turned; one that begins within another
// makes it longer.
/** @param {Api.Firing[]} turns @param {number} seconds @param {number} last @returns {Span[]} */
export function pulsesOf(turns, seconds, last) {
  /** @type {Span[]} */
  const spans = [];
  for (const { time } of turns.filter(({ active }) => active)) {
    const before = spans.at(-1);
    const end = Math.min(time + seconds, last);
    if (before && before[1] >= time) before[1] = end;
    else spans.push([time, end]);
  }
  return spans;
}

// The rest of the time.
/** @param {Span[]} spans @param {number} first @param {number} last @returns {Span[]} */
export function without(spans, first, last) {
  const edges = [first, ...spans.flat(), last];
  /** @type {Span[]} */
  const rest = [];
  for (let at = 0; at < edges.length; at += 2) {
    if (edges[at + 1] > edges[at]) rest.push([edges[at], edges[at + 1]]);
  }
  return rest;
}

/** @param {Span[]} some @param {Span[]} others @returns {Span[]} */
export function common(some, others) {
  return some
    .flatMap(([begin, end]) =>
      others.map(([from, to]) => /** @type {Span} */ ([Math.max(begin, from), Math.min(end, to)])),
    )
    .filter(([begin, end]) => end > begin);
}

// Where the two differ for longer than clocks and delays explain.
const SHORT_S = 30;
/** @param {Span[]} would @param {Span[]} did @param {number} first @param {number} last */
export function differences(would, did, first, last) {
  const missed = common(would, without(did, first, last));
  const more = common(did, without(would, first, last));
  return [...missed, ...more]
    .filter(([begin, end]) => end - begin > SHORT_S)
    .sort(([one], [other]) => one - other);
}

/** @param {Span[]} spans */
export const total = (spans) => spans.reduce((sum, [begin, end]) => sum + end - begin, 0);
