// The picture: bars by their causes, readings as lines, the cursor and the interlock. All x are
// shares of the width, all y are pixels, so that nothing is distorted.

import { nothing, svg } from "../../vendor/lit-html.js";
import { dayText, weekdayName } from "../../lib/format/moments.js";
import { clock } from "../../lib/format/words.js";
import { dayOf, secondOfDay, weekdayOf } from "../../lib/format/zone.js";
import { roundTimes } from "../../lib/things/axes.js";
import { pathOf, pointsOf, valueAt } from "../../lib/things/history.js";
import { causeOf } from "../../lib/things/signs.js";
import { BAR_PX } from "./rows.js";

/** @import { Point } from "../../lib/things/history.js" */
/** @import { LaneBar, Timeline } from "./chain.js" */
/** @import { Row } from "./rows.js" */

/**
 * @typedef {object} Scene
 * @property {Timeline} timeline
 * @property {HistoryReply | null} history
 * @property {Row[]} rows
 * @property {number} from
 * @property {number} to
 * @property {number} now
 * @property {number} cursor
 * @property {number} width  about how many pixels the time has
 * @property {{ label: string, begin: number } | null} chosen
 * @property {Set<string>} linked  the lanes of the interlock
 * @property {Map<string, number>} decided  the readings that led to what is chosen
 * @property {[number, number] | null} selected  what is about to be zoomed
 * @property {(label: string, level: number) => boolean} isOn
 */

const MIN_BAR_PX = 4;
const KNOB_PX = 5;
const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
const STEPS_S = [60, 300, 900, HOUR_S, 3 * HOUR_S, 6 * HOUR_S, DAY_S, 7 * DAY_S];
const LABEL_PX = 72;
const FLAG_PX = 44;
const LINE_PX = 56;
const LINE_UNITS = 1000;

/** @param {Scene} scene @param {number} time */
const share = ({ from, to }, time) => ((time - from) / (to - from)) * 100;
/** @param {number} number */
const percent = (number) => `${Math.round(number * 1000) / 1000}%`;
/** @param {Scene} scene @param {number} time */
const x = (scene, time) => percent(Math.min(100, Math.max(0, share(scene, time))));

/** @param {Row} row */
const middle = ({ top, height }) => top + height / 2;

// --- time ----------------------------------------------------------------------------------------

// Round times, as many as have room.
/** @param {Scene} scene */
export function ticksOf({ from, to, width }) {
  const fits = Math.max(2, Math.floor(width / LABEL_PX));
  const step = STEPS_S.find((one) => (to - from) / one <= fits) ?? 7 * DAY_S;
  return roundTimes(from, to, step);
}

/** @param {number} time */
function tickText(time) {
  if (secondOfDay(time) > 0) return clock(time).slice(0, 5);
  return `${weekdayName(weekdayOf(time))} ${dayText(dayOf(time), { day: "numeric" })}`;
}

/** @param {Scene} scene */
export const flagText = ({ from, to, cursor }) =>
  to - from < 2 * HOUR_S ? clock(cursor) : clock(cursor).slice(0, 5);

// The times above the lanes, with the flag of the cursor.
/** @param {Scene} scene */
export function hours(scene) {
  const flag = flagText(scene);
  const half = (FLAG_PX * flag.length) / 10;
  const at = share(scene, scene.cursor);
  return svg`${ticksOf(scene)
    .filter((time) => (Math.abs(share(scene, time) - at) / 100) * scene.width > half + LABEL_PX / 3)
    .map((time) => svg`<text x=${x(scene, time)} y="20">${tickText(time)}</text>`)}
    ${at < 0 || at > 100
      ? nothing
      : svg`<svg class="flag" x=${percent(at)} y="4" overflow="visible">
          <rect x=${-half} width=${2 * half} height="22" rx="3" /><text y="16">${flag}</text>
        </svg>`}`;
}

// --- lanes ---------------------------------------------------------------------------------------

/** @param {Scene} scene */
export function lanes(scene) {
  const { rows, now, cursor, selected } = scene;
  const height = rows.reduce((most, row) => Math.max(most, row.top + row.height), 0);
  /** @param {string} look @param {number} time */
  const upright = (look, time) =>
    share(scene, time) < 0 || share(scene, time) > 100
      ? nothing
      : svg`<line class=${look} x1=${x(scene, time)} x2=${x(scene, time)} y1="0" y2=${height} />`;
  return svg`${ticksOf(scene).map((time) => upright("tick", time))}
    ${rows.map((row) => rowOf(scene, row))}
    ${upright("now", now)} ${interlock(scene)} ${upright("cursor", cursor)}
    ${selected ? selection(scene, selected, height) : nothing}`;
}

/** @param {Scene} scene @param {[number, number]} selected @param {number} height */
function selection(scene, [begin, end], height) {
  const [left, right] = [Math.min(begin, end), Math.max(begin, end)];
  const width = percent(share(scene, right) - share(scene, left));
  return svg`<rect class="selection" x=${x(scene, left)} y="0" width=${width} height=${height} />`;
}

/** @param {Scene} scene @param {Row} row */
function rowOf(scene, row) {
  if (row.kind === "messages") return messages(scene, row);
  if (row.kind === "reading") return reading(scene, row);
  if (!row.lane) return nothing;
  const begin = Math.max(scene.from, scene.timeline.since ?? scene.now);
  const end = Math.min(scene.to, scene.now);
  const ground =
    end > begin ? bar(scene, row, { begin, end, value: 0 }, "lane") : nothing;
  return svg`${ground}${row.lane.bars.map((one) => laneBar(scene, row, one))}`;
}

/** @param {Scene} scene @param {Row} row @param {LaneBar} one */
function laneBar(scene, row, one) {
  const isChosen = scene.chosen?.label === row.label && scene.chosen.begin === one.begin;
  const look = isBeforeRule(row, one) ? null : lookOf(scene, row, one);
  if (look === null) return isChosen ? bar(scene, row, one, "chosen hollow") : nothing;
  // What began before is cut off at the left.
  const isByHand = look === "cause-hand" && one.begin > scene.from;
  return svg`${bar(scene, row, one, isChosen ? `${look} chosen` : look)}
    ${isByHand
      ? svg`<circle class="cause-hand" cx=${x(scene, one.begin)} cy=${middle(row)} r=${KNOB_PX} />`
      : nothing}`;
}

// A rule that did not exist yet lacked no value.
/** @param {Row} row @param {LaneBar} one */
const isBeforeRule = ({ kind, lane }, one) =>
  kind === "rule" && one.value === null && one === lane?.bars[0];

// Null for what is not drawn: off, not met, and what was before anything was known.
/** @param {Scene} scene @param {Row} row @param {LaneBar} one */
function lookOf({ timeline, isOn }, { label, kind }, { value, cause, planned, end }) {
  if (value === null) return timeline.since !== null && end > timeline.since ? "absent" : null;
  const on = kind === "rule" ? value === 1 : isOn(label, value);
  if (!on) return null;
  if (planned) return "planned";
  if (kind === "rule" || kind === "input") return "met";
  return causeOf(cause?.kind ?? "start", cause?.detail).look;
}

/**
 * @param {Scene} scene
 * @param {Row} row
 * @param {{ begin: number, end: number, value: unknown }} one
 * @param {string} look
 */
function bar(scene, row, one, look) {
  const [left, right] = [one.begin, one.end].map((time) =>
    Math.min(100, Math.max(0, share(scene, time))),
  );
  if (right <= 0 || left >= 100) return nothing;
  const least = (MIN_BAR_PX / scene.width) * 100;
  const isFine = right - left < least;
  const width = isFine ? MIN_BAR_PX : percent(right - left);
  // What is does not reach into what is to come.
  const latest = one.begin < scene.now ? share(scene, scene.now) - least : 100;
  const begin = isFine ? Math.max(0, Math.min(left, latest)) : left;
  const top = middle(row) - BAR_PX / 2;
  return svg`<rect class=${look} x=${percent(begin)} y=${top} width=${width} height=${BAR_PX} />`;
}

/** @param {Scene} scene @param {Row} row */
function messages(scene, row) {
  const y = middle(row);
  return svg`<line class="tick" x1="0" x2="100%" y1=${y} y2=${y} />
    ${scene.timeline.messages.map(({ time }) => {
      const isChosen = scene.chosen?.label === row.label && scene.chosen.begin === time;
      return svg`<svg x=${x(scene, time)} y=${y} overflow="visible">
        <path class=${isChosen ? "message chosen" : "message"} d="M0-6L6 0L0 6L-6 0Z" />
      </svg>`;
    })}`;
}

/** @param {Scene} scene */
function interlock(scene) {
  const { chosen, linked, rows } = scene;
  if (!chosen || share(scene, chosen.begin) < 0 || share(scene, chosen.begin) > 100) return nothing;
  const rings = rows
    .filter(({ label, kind }) => kind !== "group" && linked.has(label))
    .map((row) => (row.kind === "reading" ? onLine(scene, row, chosen.begin) : middle(row)));
  const at = x(scene, chosen.begin);
  return svg`<g class="interlock">
    <line x1=${at} x2=${at} y1=${Math.min(...rings)} y2=${Math.max(...rings)} />
    ${rings.map((y) => svg`<circle cx=${at} cy=${y} r="4" />`)}
  </g>`;
}

// --- readings ------------------------------------------------------------------------------------

// The points of a reading, the limits of rules on it, and where a value stands in its row; null
// where nothing is known.
/** @param {Scene} scene @param {Row} row */
function lineOf(scene, row) {
  const points = pointsOf(scene.history, row.label);
  const limits = limitsOf(scene.timeline, row.label);
  const known = points.map(([, value]) => value).filter((value) => value !== null);
  if (known.length === 0) return null;
  const [low, high] = rangeOf([...known, ...limits]);
  /** @param {number} value */
  const y = (value) => LINE_PX - 4 - ((value - low) / (high - low)) * (LINE_PX - 8);
  return { points, limits, y, top: row.top + (row.height - LINE_PX) / 2 };
}

/** @param {Scene} scene @param {Row} row @param {number} time */
function onLine(scene, row, time) {
  const line = lineOf(scene, row);
  // The line may still be at the value before: what was read then is known better.
  const value = line && (scene.decided.get(row.label) ?? valueAt(line.points, time));
  return line && value !== null ? line.top + line.y(value) : middle(row);
}

/** @param {Scene} scene @param {Row} row */
function reading(scene, row) {
  const line = lineOf(scene, row);
  if (line === null) return nothing;
  const { points, limits, y, top } = line;
  const place = (/** @type {number} */ time) => (share(scene, time) / 100) * LINE_UNITS;
  return svg`<svg
      y=${top} width="100%" height=${LINE_PX}
      viewBox=${`0 0 ${LINE_UNITS} ${LINE_PX}`} preserveAspectRatio="none"
    >
      ${limits.map((limit) => svg`<path class="limit" d=${`M0,${y(limit)}H${LINE_UNITS}`} />`)}
      <path class="course" d=${pathOf(scene.history, points, place, y)} />
    </svg>
    ${gapsOf(scene, points).map(
      ([begin, end]) => svg`<rect
        class="absent" x=${x(scene, begin)} y=${top + 6}
        width=${percent(Math.max(0.1, share(scene, end) - share(scene, begin)))}
        height=${LINE_PX - 12}
      />`,
    )}`;
}

/** @param {Timeline} timeline @param {string} label */
const limitsOf = ({ rules }, label) => [
  ...new Set(
    rules.flatMap(({ conditions }) =>
      conditions
        .filter((one) => one.label === label)
        .flatMap(({ reference, ends }) => [reference, ends]),
    ),
  ),
];

/** @param {number[]} values */
function rangeOf(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = Math.max((high - low) * 0.05, Math.abs(high) * 0.01, 0.05);
  return [low - room, high + room];
}

// Only between values: what was before the first one is not missing.
/** @param {Scene} scene @param {Point[]} points @returns {[number, number][]} */
function gapsOf(scene, points) {
  const first = points.findIndex(([, value]) => value !== null);
  return points.flatMap(([time, value], index) => {
    if (value !== null || index <= first || points[index - 1][1] === null) return [];
    const next = points.slice(index).find(([, one]) => one !== null);
    return [[time, next ? next[0] : Math.min(scene.to, scene.now)]];
  });
}
