// A new span, drawn with the mouse over an empty part of a day. A finger scrolls there.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { timeText } from "../../lib/format/moments.js";
import { DAY_S, SNAP_S, snap } from "./week.js";

/** Second of the day. @typedef {{ day: string, from: number, to: number }} Span */

export class DrawnSpan {
  #create;
  /** @type {Signal<{ day: string, begin: number, end: number } | null>} */
  #drawn = signal(null);

  /** @param {(span: Span) => void} create */
  constructor(create) {
    this.#create = create;
  }

  /** @param {PointerEvent} event @param {string} day */
  begin(event, day) {
    const track = /** @type {HTMLElement} */ (event.currentTarget);
    const isEmpty = event.target === track;
    if (!isEmpty || event.button !== 0 || event.pointerType === "touch") return;
    track.setPointerCapture(event.pointerId);
    const at = secondAt(event);
    this.#drawn.value = { day, begin: at, end: at };
  }

  /** @param {PointerEvent} event */
  pull(event) {
    if (this.#drawn.value) this.#drawn.value = { ...this.#drawn.value, end: secondAt(event) };
  }

  drop() {
    const span = this.#span;
    this.forget();
    if (span && span.to - span.from >= SNAP_S) this.#create(span);
  }

  forget() {
    this.#drawn.value = null;
  }

  get #span() {
    if (!this.#drawn.value) return null;
    const { day, begin, end } = this.#drawn.value;
    return { day, from: Math.min(begin, end), to: Math.max(begin, end) };
  }

  /** @param {string} day */
  view(day) {
    const span = this.#span;
    if (span?.day !== day || span.to === span.from) return nothing;
    const { from, to } = span;
    return html`<i
      class="drawn"
      .style=${`left:${(from / DAY_S) * 100}%;width:${((to - from) / DAY_S) * 100}%`}
      ><span>${timeText(from)} – ${timeText(to % DAY_S)}</span></i
    >`;
  }
}

/** @param {PointerEvent} event */
function secondAt({ currentTarget, clientX }) {
  const { left, width } = /** @type {HTMLElement} */ (currentTarget).getBoundingClientRect();
  const second = ((clientX - left) / (width || 1)) * DAY_S;
  return Math.min(Math.max(snap(second), 0), DAY_S);
}

// A span as it stands in the address of a new entry: "Mon-25200-72000".
/** @param {Span} span */
export const spanText = ({ day, from, to }) => `${day}-${from}-${to}`;

/** @param {string | null} text @returns {Span | null} */
export function spanOf(text) {
  const [, day, from, to] = /^(\w{3})-(\d+)-(\d+)$/.exec(text ?? "") ?? [];
  return day ? { day, from: Number(from), to: Number(to) } : null;
}
