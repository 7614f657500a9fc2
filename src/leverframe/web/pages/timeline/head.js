// Above the timeline: how much of it is shown, and the way earlier, later, nearer and back to now;
// and what the looks of bars mean that no cause has.

import { html, nothing } from "../../vendor/lit-html.js";
import { t } from "../../lib/words.js";
import { SPANS } from "./stretch.js";

/** @import { Span, Stretch } from "./stretch.js" */

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
  const choice = (span) => html`<button
    type="button"
    aria-pressed=${stretch.span === span ? "true" : "false"}
    @click=${() => move(() => stretch.choose(span))}
  >
    ${t(`span_${span}`)}
  </button>`;
  /** @param {string} key @param {string} sign @param {() => void} act */
  const step = (key, sign, act) => html`<button
    type="button"
    aria-label=${t(key)}
    title=${t(key)}
    @click=${() => move(act)}
  >
    ${sign}
  </button>`;
  return html`<div class="head">
    <p class="title" aria-hidden="true">${t("page_timeline")}</p>
    <span class="group" role="group" aria-label=${t("span")}
      >${/** @type {Span[]} */ (Object.keys(SPANS)).map(choice)}</span
    >
    <span class="group" role="group" aria-label=${t("move")}>
      ${step("earlier", "←", () => stretch.shift(-SHIFT, now))}
      ${stretch.span
        ? nothing
        : html`<button type="button" @click=${() => move(() => stretch.choose("24h"), true)}>
            ${t("back_to_now")}
          </button>`}
      ${step("later", "→", () => stretch.shift(SHIFT, now))}
      ${step("zoom_in", "+", () => stretch.scale(1 / ZOOM, now, around))}
      ${step("zoom_out", "−", () => stretch.scale(ZOOM, now, around))}
    </span>
  </div>`;
}

export const restOfKey = () => html`<p class="cause-key">
  ${["met", "absent", "planned"].map(
    (look) => html`<span
      ><svg class="bars" width="26" height="14" aria-hidden="true">
        <rect class=${look} x="1.5" y="2.5" width="23" height="9" /></svg
      >${t(`key_${look}`)}</span
    >`,
  )}
</p>`;
