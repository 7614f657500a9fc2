// The sheet of the timeline: hours, labels and bars side by side, and the chain of what is chosen.

import { html, nothing } from "../../vendor/lit-html.js";
import { causeKey } from "../../lib/causes.js";
import { pointsOf } from "../../lib/course.js";
import { exactMoment, fullMoment } from "../../lib/moments.js";
import { t } from "../../lib/words.js";
import { barAt } from "./chain.js";
import { restOfKey } from "./head.js";
import { hours, lanes } from "./picture.js";

/** @import { Timeline } from "./chain.js" */
/** @import { Scene } from "./picture.js" */
/** @import { Row } from "./rows.js" */
/** @import { Story } from "./story.js" */
/**
 * @typedef {object} SheetParts
 * @property {number} aimed The row that the keys move on.
 * @property {Template} foot
 * @property {Template} pick What is told of the chosen bar.
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
            aria-valuetext=${spoken(scene, story, rows[aimed])}
            @keydown=${press}
            @pointerdown=${drag}
          >
            ${hours(scene)}
          </svg>
          <ul class="labels">
            ${rows.map((row, index) => label(scene, story, row, index === aimed))}
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
function label(scene, story, row, isAimed) {
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
function spoken(scene, story, row) {
  const time = exactMoment(scene.cursor);
  const isLane = row && row.kind !== "group";
  return isLane ? `${time}, ${row.name}: ${wordAtCursor(scene, story, row)}` : time;
}

// Since when anything is known, where that is not all that is shown.
/** @param {Timeline} timeline */
export function keptSince({ since, from, now }) {
  if (since !== null && since <= from + 60) return nothing;
  return html`<p class="note">${t("kept_since", { time: moment(since ?? now) })}</p>`;
}
