// Who moved it: five causes, each with a glyph, a colour and a texture, the same on levers, in the
// journal, in drawers and on the timeline.
//
//   const cause = causeOf("command");   of the kind that /api/log and /api/state give
//   html`<span class=${cause.look}>${icon(cause.icon, "s")} ${cause.word()}</span>`
//
// The class `look` gives text and icons the colour of the cause; inside `<svg class="bars">` it
// gives a rect its fill and texture.

import { html, nothing, svg } from "../vendor/lit-html.js";
import { t } from "./words.js";

/** @import { IconName } from "./icon.js" */
/** @typedef {{ name: CauseName, icon: IconName, look: string, word: () => string }} Look */
/** @typedef {"hand" | "rule" | "schedule" | "watchdog" | "start"} CauseName */

/** @type {CauseName[]} */
const NAMES = ["hand", "rule", "schedule", "watchdog", "start"];

/** @type {Record<CauseName, Look>} */
export const CAUSES = /** @type {Record<CauseName, Look>} */ (
  Object.fromEntries(
    NAMES.map((name) => [
      name,
      { name, icon: name, look: `cause-${name}`, word: () => t(`cause_${name}`) },
    ]),
  )
);

// By the kind of a cause of the engine. Whatever a request did was somebody's hand.
/** @type {Record<string, CauseName>} */
const BY_KIND = {
  rule: "rule",
  "rule loop": "rule",
  schedule: "schedule",
  timer: "schedule",
  watchdog: "watchdog",
  start: "start",
  snapshot: "start",
};

// The regulator goes by a reading, as rules do; what else runs out is a matter of time.
const BY_READING = "PID regulator";

/** @param {string} kind @param {string} [detail] */
export const causeOf = (kind, detail) =>
  CAUSES[detail === BY_READING ? "rule" : (BY_KIND[kind] ?? "hand")];

// The textures of bars: drawn once, by the frame, for all pictures of the page.
export const causePatterns = () =>
  html`<svg class="patterns" width="0" height="0" aria-hidden="true">
    <pattern id="p-schedule" width="4" height="4" patternUnits="userSpaceOnUse">
      <rect width="4" height="4" fill="var(--schedule)" />
      <path d="M3.5 0v4" stroke="var(--card)" />
    </pattern>
    <pattern
      id="p-watchdog"
      width="5"
      height="5"
      patternUnits="userSpaceOnUse"
      patternTransform="rotate(45)"
    >
      <rect width="5" height="5" fill="var(--watchdog)" />
      <path d="M4 0v5" stroke="var(--card)" stroke-width="1.5" />
    </pattern>
  </svg>`;

const KNOB = svg`<circle class="cause-hand" cx="5" cy="7" r="4" />`;

// The five with their words, for the foot of a picture.
export const causeKey = () =>
  html`<p class="cause-key">
    ${NAMES.map(
      (name) =>
        html`<span
          ><svg class="bars" width="26" height="14" aria-hidden="true">
            <rect class=${CAUSES[name].look} x="1" y="2" width="24" height="10" />
            ${name === "hand" ? KNOB : nothing}</svg
          >${CAUSES[name].word()}</span
        >`,
    )}
  </p>`;
