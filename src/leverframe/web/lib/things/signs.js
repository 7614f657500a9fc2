// The signs of the pages: icons, and the five causes.

import { html, nothing, svg } from "../../vendor/lit-html.js";
import { t } from "../format/words.js";

// The icons: a grid of 24, a stroke of 1.5, round ends. Each stands beside a word or has a label.
//
//   icon("pulse")            20 px, in the colour of the text around it
//   icon("hand", "s")        16 px

/** @satisfies {Record<string, string>} */
const PATHS = {
  attention: "M12 4l9 16H3zM12 10v4.5M12 17.2v.01",
  chart: "M4 4v16h16.5M7.5 15l4-5 3.5 3 5-6.5",
  check: "M5 12.5l4.5 4.5L19 7.5",
  close: "M6 6l12 12M18 6L6 18",
  down: "M7 10l5 5 5-5",
  hand:
    "M9 13V5.5a1.5 1.5 0 0 1 3 0V11M12 10.5a1.5 1.5 0 0 1 3 0V12M15 11.5a1.5 1.5 0 0 1 3 0V15" +
    "a6 6 0 0 1-6 6h-.6a6 6 0 0 1-4.9-2.6L4.2 14.8a1.6 1.6 0 0 1 2.6-1.9L9 15.5",
  lever:
    "M3.5 20h17M7 20a3 3 0 0 1 6 0M11 17.5l3.5-8" +
    "M13.3 7.9l1.5-3.8a1.6 1.6 0 0 1 3 1.2l-1.5 3.8a1.6 1.6 0 0 1-3-1.2z",
  message: "M3.5 6h17v12h-17zM4 7l8 6 8-6",
  more: "M5 12h.9v.4H5zM11.5 12h.9v.4h-.9zM18 12h.9v.4H18z",
  pencil: "M4 20l1-4.5L15.5 5l3.5 3.5L8.5 19zM13.5 7l3.5 3.5",
  plus: "M12 5v14M5 12h14",
  pulse: "M3 17.5h5v-11h8v11h5",
  reading: "M10 14V5.5a2 2 0 0 1 4 0V14a4 4 0 1 1-4 0zM12 10v7",
  request: "M5 7l5 5-5 5M12.5 18H19",
  rule: "M3.5 6H8l4.5 6h8M3.5 18H8l4.5-6M17 8.5l3.5 3.5-3.5 3.5",
  schedule: "M3.5 12a8.5 8.5 0 1 0 17 0a8.5 8.5 0 1 0-17 0M12 7v5l3.5 2",
  search: "M4.5 10.5a6 6 0 1 0 12 0a6 6 0 1 0-12 0M15 15l5.5 5.5",
  start: "M12 3.5V12M7.5 6.5a7.5 7.5 0 1 0 9 0",
  things: "M4 4.5h16v6H4zM4 13.5h16v6H4zM7.5 7.5h.01M7.5 16.5h.01M16 7.5h1M16 16.5h1",
  timeline: "M4 4v16M7.5 7H15M11 12h9.5M7.5 17h5",
  watchdog:
    "M12 3l7.5 3v5.5c0 4.5-3 7.5-7.5 9.5-4.5-2-7.5-5-7.5-9.5V6zM8 12h2l1.5-3 2 5.5 1-2.5H16",
};

/** @typedef {keyof typeof PATHS} IconName */

/** @param {IconName} name @param {"" | "s"} [size] */
export const icon = (name, size = "") =>
  html`<svg class=${`i ${size}`} viewBox="0 0 24 24" aria-hidden="true">
    <path d=${PATHS[name]} />
  </svg>`;

// The mark: three levers on a rail, one of them pulled.

/** @param {number} x @param {number} lean */
const lever = (x, lean) => svg`<g transform=${`rotate(${lean} ${x} 26)`}>
  <path d=${`M${x} 26V10`} stroke-width="2.2" />
  <rect x=${x - 1.9} y="2.5" width="3.8" height="10.5" rx="1.5" fill="currentColor" stroke="none" />
</g>`;

export const mark = () => svg`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
  <g fill="none" stroke="currentColor" stroke-linecap="round">
    <path d="M2 27h28" stroke-width="2.6" />
    ${lever(9.5, -14)} ${lever(16.5, -14)} ${lever(22, 16)}
  </g>
</svg>`;

// Who moved it: five causes, each with a glyph, a colour and a texture, the same on levers, in the
// journal, in drawers and on the timeline.
//
//   const cause = causeOf("command");   of the kind that /api/log and /api/state give
//   html`<span class=${cause.look}>${icon(cause.icon, "s")} ${cause.word()}</span>`
//
// The class `look` gives text and icons the colour of the cause; inside `<svg class="bars">` it
// gives a rect its fill and texture.

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

// By the kind of cause in the engine. All requests count as "by hand".
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
