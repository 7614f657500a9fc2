// The chain of causes in words, beside the picture.

import { html, nothing } from "../../vendor/lit-html.js";
import { exactMoment, fullMoment } from "../../lib/format/moments.js";
import { roughText, setText } from "../../lib/format/numbers.js";
import { clock, t } from "../../lib/format/words.js";
import { address } from "../../lib/frame/router.js";
import { pointsOf, valueAt } from "../../lib/things/history.js";
import { dutyOf, isState, onWord } from "../../lib/things/labels.js";
import { causeKey, causeOf, icon } from "../../lib/things/signs.js";
import { thingAddress, thingName } from "../../lib/things/things.js";
import { barAt, MESSAGES } from "./chain.js";
import { restOfKey } from "./head.js";
import { hours, lanes } from "./picture.js";
import { readingsOf } from "./rows.js";

/** @import { Chosen, LaneCause, Step, Timeline } from "./chain.js" */
/** @import { Scene } from "./picture.js" */
/** @import { Row } from "./rows.js" */

const MINUTE_S = 60;
// Shorter times are counted in seconds.
const SHORT_S = 600;

export class Story {
  #context;
  /** @type {Timeline} */
  #timeline;
  #history;

  /** @param {Context} context @param {Timeline} timeline @param {HistoryReply | null} history */
  constructor(context, timeline, history) {
    this.#context = context;
    this.#timeline = timeline;
    this.#history = history;
  }

  // The state of a label in a word, for the time from `begin` to `end`.
  /** @param {string} label @param {number | null} value @param {number} begin */
  word(label, value, begin, end = begin) {
    if (value === null || value === undefined) return t("not_known");
    if (!isState(label)) {
      const { text, unit } = this.#context.overview.formatValue(label, value);
      // A number and its unit stay on one line.
      return `${text}\u00a0${unit}`.trim();
    }
    const on = (value === 1) !== this.#context.overview.isInverted(label);
    return (on && dutyWord(this.#history, label, begin, end)) || onWord(label, on);
  }

  /** @param {number} number @param {string} [name] */
  rule(number, name) {
    const known = this.#timeline.rules.find((one) => one.number === number);
    return name || known?.name || t("rule_without_name", { number });
  }

  // All that stands beside the picture.
  /** @param {Chosen | null} chosen @param {Step[]} steps @param {() => void} close */
  pick(chosen, steps, close) {
    if (chosen === null || steps.length === 0) {
      return html`<h2>${t("why")}</h2>
        <p class="note">${t("choose_a_bar")} <span class="keys">${t("choose_keys")}</span></p>
        <p class="go">${this.#toCharts(null)}</p>`;
    }
    const rule = steps.find((step) => step.what === "rule" || step.what === "met");
    return html`<header>
        <h2>${this.#title(chosen)}</h2>
        <button type="button" class="bare" aria-label=${t("close")} @click=${close}>
          ${icon("close")}
        </button>
      </header>
      ${this.#durationText(chosen)} ${this.view(steps)}
      <p class="go">
        ${this.#toCharts(chosen.begin)}
        ${this.#context.isAdmin && rule
          ? html`<a class="button" href=${address("rules", { edit: rule.number })}
              >${t("open_rule")}</a
            >`
          : nothing}
      </p>`;
  }

  /** @param {Chosen} chosen */
  #bar({ label, begin }) {
    const lane = this.#timeline.lanes.find((one) => one.label === label);
    return lane?.bars.find((one) => one.begin === begin);
  }

  /** @param {Chosen} chosen */
  #title(chosen) {
    if (chosen.label === MESSAGES) return t("one_message");
    const { value = null, begin = chosen.begin, end = begin } = this.#bar(chosen) ?? {};
    const [, number] = /^rule\.(\d+)$/.exec(chosen.label) ?? [];
    if (number) return `${this.rule(Number(number))} ${t(value ? "met" : "not_met")}`;
    const word = this.word(chosen.label, value, begin, end);
    return `${thingName(this.#context, chosen.label)} ${word}`;
  }

  /** @param {Chosen} chosen */
  #durationText(chosen) {
    const bar = this.#bar(chosen);
    if (!bar) return nothing;
    const { now, from } = this.#timeline;
    const { begin, end, planned, count = 1 } = bar;
    const time = roughText(shownSpan(begin, end));
    const lasts = { begin: minute(begin), end: minute(end), time };
    const isOpen = end >= now && !planned;
    return html`<p class="quiet">
      ${begin <= from ? t("since_before", lasts) : t(isOpen ? "since_then" : "from_to", lasts)}
      ${count > 1 ? t("drawn_together", { count }) : nothing}
    </p>`;
  }

  // The charts show the same time.
  /** @param {number | null} at */
  #toCharts(at) {
    const { from, to, now, rules } = this.#timeline;
    const labels = readingsOf(this.#context, rules).join(",");
    /** @type {Params} */
    const params = { labels, from: Math.round(from), to: Math.round(Math.min(to, now)) };
    if (at !== null) params.at = Math.round(at);
    const text = at === null ? t("as_charts") : t("chart_at", { time: minute(at) });
    return html`<a class="button" href=${address("charts", params)}>${text}</a>`;
  }

  /** @param {Step[]} steps */
  view(steps) {
    return html`<ol class="chain">
      ${steps.map((step) => html`<li>${this.#step(step)}<time>${minute(step.time)}</time></li>`)}
    </ol>`;
  }

  /** @param {Step} step */
  #step(step) {
    switch (step.what) {
      case "reading":
        return html`${icon("reading")}<span>${this.#reading(step)}</span>`;
      case "rule":
        return html`<span class="cause-rule">${icon("rule")}</span>
          <span
            >${t("by_rule")}
            ${this.#ruleLink(step.number, step.name)}${step.waited >= 1
              ? html`<small>${t("waited", { time: roughText(step.waited) })}</small>`
              : nothing}</span
          >`;
      case "met":
        return html`<span class="cause-rule">${icon("rule")}</span>
          <span
            >${this.#ruleLink(step.number, "")} <b>${t(step.isMet ? "met" : "not_met")}</b></span
          >`;
      case "cause":
        return this.#cause(step.cause);
      case "message":
        return html`${icon("message")}<span>${t(`message_${step.channel}`)}</span>`;
      default:
        return html`<span class=${step.value ? "is-on" : ""}>${icon("lever")}</span>
          <span
            ><b>${this.#name(step.label)} ${this.#stateWord(step)}</b>${step.planned
              ? html`<small>${t("is_planned")}</small>`
              : nothing}</span
          >`;
    }
  }

  /** @param {Extract<Step, { what: "state" }>} step */
  #stateWord({ label, value, time }) {
    return this.word(label, value, time);
  }

  /** @param {Extract<Step, { what: "reading" }>} step */
  #reading({ label, time, value, before, condition, isMet }) {
    const name = html`<b>${this.#name(label)}</b>`;
    const word = this.word(label, value, time);
    if (isState(label)) return html`${name} ${word}`;
    const isStill = before === null || before === value;
    const moved = isStill ? t("was_at", { value: word }) : crossingText(value > before, word);
    const { compare, reference, ends } = condition;
    const [begins, stops] = [reference, ends].map((limit) =>
      setText(this.#context, label, limit).replaceAll(" ", "\u00a0"),
    );
    const isUpper = compare === ">=";
    const limits = { begins, ends: stops };
    const note = isMet
      ? t(isUpper ? "met_from" : "met_below", limits)
      : t(isUpper ? "ended_below" : "ended_from", limits);
    return html`${name} ${moved}<small>${note}</small>`;
  }

  /** @param {LaneCause} cause */
  #cause(cause) {
    const { look, icon: sign } = causeOf(cause.kind, cause.detail);
    return html`<span class=${look}>${icon(sign)}</span><span>${causeText(cause)}</span>`;
  }

  /** @param {string} label */
  #name(label) {
    return html`<a href=${thingAddress(label)}>${thingName(this.#context, label)}</a>`;
  }

  /** @param {number} number @param {string} name */
  #ruleLink(number, name) {
    const text = this.rule(number, name);
    return this.#context.isAdmin
      ? html`<a href=${address("rules", { edit: number })}>${text}</a>`
      : html`<b>${text}</b>`;
  }
}

// The duty is recorded a moment after its output is switched.
const FOLLOWS_S = 1;

// "50 %", or "20–60 %" where it moved; "" without a known duty.
/**
 * @param {HistoryReply | null} history
 * @param {string} label
 * @param {number} begin
 * @param {number} end
 */
export function dutyWord(history, label, begin, end) {
  const points = pointsOf(history, dutyOf(label));
  const first = begin + Math.max((history?.step ?? 0) / 2, FOLLOWS_S);
  const duties = points
    .filter(([time]) => first < time && time < end)
    .map(([, value]) => value)
    .concat(valueAt(points, first))
    .filter((value) => value !== null)
    .map(Math.round);
  if (duties.length === 0) return "";
  const [low, high] = [Math.min(...duties), Math.max(...duties)];
  return low === high ? `${low} %` : `${low}–${high} %`;
}

/** @param {boolean} isUp @param {string} value */
const crossingText = (isUp, value) => t(isUp ? "rose_to" : "fell_to", { value });

/** @param {number} time */
const minute = (time) => clock(time).slice(0, 5);

// What lies between the minutes that stand beside it; what is short counts its seconds.
/** @param {number} begin @param {number} end */
export function shownSpan(begin, end) {
  const minutes = Math.floor(end / MINUTE_S) - Math.floor(begin / MINUTE_S);
  return end - begin < SHORT_S ? end - begin : minutes * MINUTE_S;
}

/** @param {LaneCause} cause */
function causeText({ kind, detail = "", account = "", name = "", number = 0, seconds = 0 }) {
  const time = roughText(seconds);
  switch (kind) {
    case "timer":
      return t(`timer_${detail.replace(/\W/g, "_")}`, { time });
    case "schedule":
      return t("by_schedule", { name: name || detail || number });
    case "watchdog":
      return t("by_watchdog", { number: number || detail });
    case "start":
      return t("by_start");
    case "rule":
    case "rule loop":
      return `${t("by_rule")} ${name || number || detail}`;
    default:
      return account ? t("by_account", { account }) : t("by_hand_from", { source: detail || kind });
  }
}

// The sheet of the timeline: hours, labels and bars side by side, and the chain of what is chosen.

/**
 * @typedef {object} SheetParts
 * @property {number} aimed The row that the keys move on.
 * @property {Template} foot
 * @property {Template} pick The text about the chosen bar.
 * @property {(event: KeyboardEvent) => void} press
 * @property {(event: PointerEvent) => void} drag
 * @property {(event: PointerEvent) => void} begin
 */

/** @param {number} time */
const moment = (time) => fullMoment(time, { dateStyle: "medium", timeStyle: "short" });

/** @param {Scene} scene @param {Story} story @param {SheetParts} parts */
export function sheet(scene, story, { aimed, foot, pick, press, drag, begin }) {
  const { timeline, rows } = scene;
  const height = rows.reduce((most, row) => Math.max(most, row.top + row.height), 0);
  const [from, to] = [moment(timeline.from), moment(timeline.to)];
  return html`<div class="lane-sheet">
    <section class="card board" aria-label=${t("page_timeline")}>
      <div class="over">${causeKey()} ${restOfKey()}</div>
      <div class="scroll">
        <div class="lanes">
          <svg
            class="hours"
            height="30"
            role="slider"
            tabindex="0"
            aria-label=${t("moment")}
            aria-valuemin=${Math.round(timeline.from)}
            aria-valuemax=${Math.round(timeline.to)}
            aria-valuenow=${Math.round(scene.cursor)}
            aria-valuetext=${announce(scene, story, rows[aimed])}
            @keydown=${press}
            @pointerdown=${drag}
          >
            ${hours(scene)}
          </svg>
          <ul class="labels">
            ${rows.map((row, index) => rowLabel(scene, story, row, index === aimed))}
          </ul>
          <svg
            class="bars"
            height=${height}
            role="img"
            aria-label=${t("picture", { from, to })}
            @pointerdown=${begin}
          >
            ${lanes(scene)}
          </svg>
        </div>
      </div>
      ${foot}
    </section>
    <aside class="card pick" aria-live="polite">${pick}</aside>
  </div>`;
}

/** @param {Scene} scene @param {Story} story @param {Row} row @param {boolean} isAimed */
function rowLabel(scene, story, row, isAimed) {
  if (row.kind === "group") return html`<li class="of-group">${row.name}</li>`;
  const name = row.href ? html`<a href=${row.href}>${row.name}</a>` : html`<b>${row.name}</b>`;
  return html`<li class=${row.kind === "reading" ? "tall" : ""} ?data-aimed=${isAimed}>
    ${name}<span>${wordAtCursor(scene, story, row)}</span>
  </li>`;
}

// What held at the cursor, in a word.
/** @param {Scene} scene @param {Story} story @param {Row} row */
function wordAtCursor({ timeline, history, cursor, now }, story, row) {
  if (row.kind === "messages") return String(timeline.messages.length || "");
  if (row.kind === "reading") {
    const found = pointsOf(history, row.label).findLast(([time]) => time <= cursor);
    const isKnown = cursor <= now && found && found[1] !== null;
    return isKnown ? story.word(row.label, found[1], cursor) : "–";
  }
  const bar = barAt(row.lane?.bars ?? [], Math.min(cursor, timeline.to - 1));
  if (!bar || bar.value === null) return "–";
  if (row.kind === "rule") return t(bar.value ? "met" : "not_met");
  return story.word(row.label, bar.value, cursor);
}

/** @param {Scene} scene @param {Story} story @param {Row | undefined} row */
function announce(scene, story, row) {
  const time = exactMoment(scene.cursor);
  const isLane = row && row.kind !== "group";
  return isLane ? `${time}, ${row.name}: ${wordAtCursor(scene, story, row)}` : time;
}

// Since when anything is known, where that is not all that is shown.
/** @param {Timeline} timeline */
export function recordStartNote({ since, from, now }) {
  if (since !== null && since <= from + 60) return nothing;
  return html`<p class="note">${t("kept_since", { time: moment(since ?? now) })}</p>`;
}
