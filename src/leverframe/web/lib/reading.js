// A live value at the head of a card: what is measured now, big, and in small what it is made of.

import { html, nothing } from "../vendor/lit-html.js";
import { shown } from "./quantities.js";
import { clock, t } from "./words.js";

/**
 * @param {{ name: string, value: string, unit?: string, absent?: boolean, detail?: string }} one
 */
export function reading({ name, value, unit = "", absent = false, detail = "" }) {
  return html`<div class="reading" ?data-absent=${absent}>
    <span class="name">${name}</span>
    <span class="value">${value}${unit ? html`<small>${unit}</small>` : nothing}</span>
    ${detail ? html`<small class="since">${detail}</small>` : nothing}
  </div>`;
}

// The reading of a label; one that has gone says since when. What was never there, such as an input
// without a sensor, is no cause for attention.
/**
 * @param {Live} live
 * @param {string} label
 * @param {{ unit?: string, detail?: string, name?: string }} [one]
 */
export function liveReading({ state }, label, { unit, detail = "", name = label } = {}) {
  const { text, unit: usual, absent } = shown(label, state[label]);
  const since = state.absent_since?.[label];
  const gone = absent && since ? t("gone_since", { time: clock(since) }) : "";
  return reading({
    name,
    value: text,
    unit: absent ? "" : unit ?? usual,
    absent: gone !== "",
    detail: [gone, detail].filter(Boolean).join(" · "),
  });
}
