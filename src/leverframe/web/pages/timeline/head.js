// The head of the timeline: its stretch of time, and how people move it.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { t } from "../../lib/format/words.js";
import { note, step } from "../../lib/frame/router.js";
import { observe } from "../../lib/live/drawing.js";

// Above the timeline: how much of it is shown, and the way earlier, later, nearer and back to now;
// and what the looks of bars mean that no cause has.

const SHIFT = 0.5;
const ZOOM = 2;

// `around` stays where it is when the time is stretched; `move(change, isNow)` carries it out.
/**
 * @param {Stretch} stretch
 * @param {{ now: number, around: number }} moments
 * @param {(change: () => void, isNow?: boolean) => void} move
 */
export function head(stretch, { now, around }, move) {
  /** @param {Span} span */
  const choice = (span) =>
    html`<button
      type="button"
      aria-pressed=${stretch.span === span ? "true" : "false"}
      @click=${() => move(() => stretch.choose(span))}
    >
      ${t(`span_${span}`)}
    </button>`;
  /** @param {string} key @param {string} sign @param {() => void} act */
  const button = (key, sign, act) =>
    html`<button type="button" aria-label=${t(key)} title=${t(key)} @click=${() => move(act)}>
      ${sign}
    </button>`;
  return html`<div class="head">
    <p class="title" aria-hidden="true">${t("page_timeline")}</p>
    <span class="group" role="group" aria-label=${t("span")}
      >${/** @type {Span[]} */ (Object.keys(SPANS)).map(choice)}</span
    >
    <span class="group" role="group" aria-label=${t("move")}>
      ${button("earlier", "←", () => stretch.shift(-SHIFT, now))}
      ${stretch.span
        ? nothing
        : html`<button type="button" @click=${() => move(() => stretch.choose("24h"), true)}>
            ${t("back_to_now")}
          </button>`}
      ${button("later", "→", () => stretch.shift(SHIFT, now))}
      ${button("zoom_in", "+", () => stretch.scale(1 / ZOOM, now, around))}
      ${button("zoom_out", "−", () => stretch.scale(ZOOM, now, around))}
    </span>
  </div>`;
}

export const restOfKey = () =>
  html`<p class="cause-key">
    ${["met", "absent", "planned"].map(
      (look) =>
        html`<span
          ><svg class="bars" width="26" height="14" aria-hidden="true">
            <rect class=${look} x="1.5" y="2.5" width="23" height="9" /></svg
          >${t(`key_${look}`)}</span
        >`,
    )}
  </p>`;

// Which stretch of time the timeline shows: one that rolls with now, or a part that was chosen.

/** @typedef {keyof typeof SPANS} Span */

const HOUR_S = 3600;
const SPANS = { "6h": 6 * HOUR_S, "24h": 24 * HOUR_S, "7d": 7 * 24 * HOUR_S };
const DEFAULT_SPAN = "24h";
// How much of what is to come stands beside what was.
const AHEAD = 1 / 6;
const MIN_S = 60;
const MAX_S = 31 * 24 * HOUR_S;

/** @param {string} name @returns {name is Span} */
const isSpan = (name) => name in SPANS;

export class Stretch {
  // Null for a part that does not move with time.
  /** @type {Span | null} */
  span = DEFAULT_SPAN;
  #from = signal(0);
  #to = signal(0);

  /** @param {URLSearchParams} params */
  constructor(params) {
    observe(this, "span");
    const [from, to, at] = ["from", "to", "at"].map((name) => Number(params.get(name)));
    const span = params.get("span") ?? "";
    if (isSpan(span)) this.span = span;
    const length = SPANS[this.span ?? DEFAULT_SPAN];
    if (from > 0 && to - from >= MIN_S) this.#set(from, to);
    else if (at > 0) this.#set(at - length / 2, at + length / 2);
  }

  // [from, to] in seconds since 1970.
  /** @param {number} now @returns {[number, number]} */
  bounds(now) {
    if (this.span === null) return [this.#from.value, this.#to.value];
    return [now - SPANS[this.span], now + SPANS[this.span] * AHEAD];
  }

  // Back leads to a part that was left, and to no other span.
  /** @param {Span} span */
  choose(span) {
    const way = this.span === null ? step : note;
    this.span = span;
    way("timeline", { span });
  }

  // Back leads to what was shown before.
  /** @param {number} from @param {number} to */
  zoom(from, to) {
    const middle = (from + to) / 2;
    const length = Math.min(Math.max(to - from, MIN_S), MAX_S);
    this.#set(middle - length / 2, middle + length / 2);
    step("timeline", { from: this.#from.value, to: this.#to.value });
  }

  // By a share of what is shown; steps through time are one place to go back from.
  /** @param {number} share @param {number} now */
  shift(share, now) {
    const [from, to] = this.bounds(now);
    const offset = (to - from) * share;
    const wasRolling = this.span !== null;
    this.#set(from + offset, to + offset);
    (wasRolling ? step : note)("timeline", { from: this.#from.value, to: this.#to.value });
  }

  /** @param {number} factor @param {number} now @param {number} around */
  scale(factor, now, around) {
    const [from, to] = this.bounds(now);
    this.zoom(around - (around - from) * factor, around + (to - around) * factor);
  }

  /** @param {number} from @param {number} to */
  #set(from, to) {
    this.span = null;
    [this.#from.value, this.#to.value] = [Math.max(0, Math.round(from)), Math.round(to)];
  }
}

// What pointers do on the timeline: drag the cursor, draw a stretch of time, or press.

// Less than this is a press.
const MIN_DRAG_PX = 8;

/**
 * @param {PointerEvent} event
 * @param {(clientX: number) => void} moved
 * @param {() => void} ended
 */
export function dragging(event, moved, ended) {
  const place = /** @type {Element} */ (event.currentTarget);
  place.setPointerCapture(event.pointerId);
  const stop = new AbortController();
  const ending = { signal: stop.signal };
  /** @param {PointerEvent} one */
  const move = ({ clientX }) => moved(clientX);
  place.addEventListener("pointermove", /** @type {EventListener} */ (move), ending);
  const end = () => {
    stop.abort();
    ended();
  };
  place.addEventListener("pointerup", end, ending);
  place.addEventListener("pointercancel", () => stop.abort(), ending);
  moved(event.clientX);
}

// A mouse draws: `drawn` gets its place, or null while that is too near; fingers scroll.
/**
 * @param {PointerEvent} event
 * @param {{ drawn: (clientX: number | null) => void, ended: () => void, pressed: () => void }} act
 */
export function drawing(event, { drawn, ended, pressed }) {
  const stop = new AbortController();
  const ending = { signal: stop.signal };
  /** @param {PointerEvent} one */
  const isDrawn = ({ clientX }) => Math.abs(clientX - event.clientX) >= MIN_DRAG_PX;
  const isMouse = event.pointerType === "mouse";
  if (isMouse) {
    addEventListener("pointermove", (one) => drawn(isDrawn(one) ? one.clientX : null), ending);
  }
  addEventListener(
    "pointerup",
    (one) => {
      stop.abort();
      if (!isDrawn(one)) pressed();
      else if (isMouse) ended();
    },
    ending,
  );
  addEventListener("pointercancel", () => stop.abort(), ending);
}
