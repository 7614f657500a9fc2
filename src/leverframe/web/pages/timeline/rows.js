// The rows of the picture, in groups: what has a lane, and how much room it takes.

import { t } from "../../lib/format/words.js";
import { whyNot } from "../../lib/forms/task.js";
import { address } from "../../lib/frame/router.js";
import * as api from "../../lib/live/api.js";
import { observe } from "../../lib/live/drawing.js";
import { dutyOf, isState, READINGS } from "../../lib/things/labels.js";
import { isUsed, thingAddress, thingName } from "../../lib/things/things.js";
import { isLeftOut } from "../../lib/things/unused.js";
import { MESSAGES } from "./chain.js";

/** @import { Lane, LaneRule, Timeline } from "./chain.js" */
/** @import { Stretch } from "./head.js" */

/** @typedef {"output" | "pwm" | "variable" | "input" | "rule"} LaneKind */
/** @typedef {LaneKind | "messages" | "reading" | "group"} RowKind */
/**
 * @typedef {object} Row
 * @property {string} label
 * @property {RowKind} kind
 * @property {string} name
 * @property {string} href
 * @property {number} top
 * @property {number} height
 * @property {Lane} [lane]
 */

export const ROW_PX = 30;
export const BAR_PX = 18;
const GROUP_PX = 28;
const READING_PX = 64;
const MAX_READINGS = 6;
const USUAL_READINGS = 2;

/** @param {LaneRule} rule */
export const ruleName = ({ name, number }) => name || t("rule_without_name", { number });

/** @param {Context} context @param {Timeline} timeline @returns {Row[]} */
export function rowsOf(context, timeline) {
  const { lanes, rules } = timeline;
  /** @param {Lane} lane @returns {Omit<Row, "top">} */
  const row = (lane) => ({
    label: lane.label,
    kind: /** @type {LaneKind} */ (lane.kind),
    name: thingName(context, lane.label),
    href: thingAddress(lane.label),
    height: ROW_PX,
    lane,
  });
  const shown = lanes.filter((lane) => isWorthARow(context, lane, rules));
  const outputs = shown.filter(({ kind }) => kind === "output" || kind === "pwm").map(row);
  const inputs = shown.filter(({ kind }) => kind === "variable" || kind === "input").map(row);
  const ruleRows = shown
    .filter(({ kind }) => kind === "rule")
    .map((lane, index) => ({
      ...row(lane),
      name: ruleName(rules[index]),
      href: context.isAdmin ? address("rules", { edit: rules[index].number }) : "",
    }));
  /** @type {Omit<Row, "top">} */
  const messages = {
    ...{ label: MESSAGES, kind: "messages", name: t("messages") },
    ...{ href: "", height: ROW_PX },
  };
  const readings = readingsOf(context, rules).map((label) => ({
    label,
    kind: /** @type {const} */ ("reading"),
    name: thingName(context, label),
    href: thingAddress(label),
    height: READING_PX,
  }));
  return stackRows([
    ...group("outputs", [...outputs, messages]),
    ...group("rules", ruleRows),
    ...group("inputs", [...inputs, ...readings]),
  ]);
}

/** @param {string} name @param {Omit<Row, "top">[]} rows @returns {Omit<Row, "top">[]} */
function group(name, rows) {
  if (rows.length === 0) return [];
  const heading = t(`lanes_${name}`);
  return [{ label: name, kind: "group", name: heading, href: "", height: GROUP_PX }, ...rows];
}

/** @param {Omit<Row, "top">[]} rows */
function stackRows(rows) {
  let top = 0;
  return rows.map((row) => {
    top += row.height;
    return { ...row, top: top - row.height };
  });
}

// What was never named, used or switched would only fill the page.
/** @param {Context} context @param {Lane} lane @param {LaneRule[]} rules */
function isWorthARow(context, { label, kind, bars }, rules) {
  if (kind === "rule") return true;
  if (kind === "output") return !isLeftOut(context, label) || bars.some(({ value }) => value);
  if (kind === "variable") return isUsed(context, label) || bars.some(({ value }) => value);
  const isWatched = rules.some(({ conditions }) => conditions.some((one) => one.label === label));
  const hasChanged = new Set(bars.map(({ value }) => value).filter((one) => one !== null)).size > 1;
  return context.overview.name(label) !== "" || isWatched || hasChanged;
}

// Readings that rules look at, then those with a name, then a few of the others.
/** @param {Context} context @param {LaneRule[]} rules */
export function readingsOf({ overview }, rules) {
  const watched = rules.flatMap(({ conditions }) => conditions.map(({ label }) => label));
  const present = READINGS.filter((label) => overview.isPresent(label));
  const named = present.filter((label) => overview.name(label) !== "");
  const measured = watched.filter((label) => !isState(label) && overview.isKnown(label));
  const wanted = [...measured, ...named];
  const chosen = wanted.length > 0 ? wanted : present.slice(0, USUAL_READINGS);
  return [...new Set(chosen)].slice(0, MAX_READINGS);
}

// What the timeline shows, as the controller recorded it: read for a stretch of time, and again
// when enough of it is new or something has changed.

const POINTS = 500;
// What rolls is read again when so much of it is new, but not too often.
const NEW_SHARE = 1 / 300;
const READ_AGAIN_S = 5;

export class Recorded {
  /** @type {Timeline | null} */
  timeline = null;
  /** @type {HistoryReply | null} */
  history = null;
  // Why the last request was refused.
  /** @type {string | null} */
  refusal = null;
  isReading = false;
  #context;
  #hasGap;
  // What was known when it was last asked for, and how often it was.
  #known = "";
  #asked = 0;

  /** @param {Context} context */
  constructor(context) {
    observe(this, "timeline", "history", "refusal", "isReading");
    this.#context = context;
    this.#hasGap = context.live.watchGaps();
  }

  get now() {
    return this.timeline?.now ?? this.#context.live.state.time;
  }

  /** @param {Stretch} stretch */
  async read(stretch) {
    const { live } = this.#context;
    const { heard } = live;
    const request = ++this.#asked;
    this.#known = this.#signature();
    this.isReading = true;
    try {
      const answer = await this.#ask(stretch.bounds(live.state.time));
      // Another stretch may have been chosen since then.
      if (request !== this.#asked) return;
      [this.timeline, this.history] = answer;
      this.refusal = null;
    } catch (error) {
      if (request !== this.#asked) return;
      this.refuse(error);
    }
    this.isReading = false;
    // The answer may be older than the last message.
    if (live.heard !== heard) this.follow(stretch);
  }

  // Pending answers are ignored.
  leave() {
    this.#asked++;
  }

  /** @param {[number, number]} bounds @returns {Promise<[Timeline, HistoryReply | null]>} */
  async #ask([from, to]) {
    const timeline = await api.timeline({ from, to });
    const labels = [
      ...readingsOf(this.#context, timeline.rules),
      ...timeline.lanes.filter(({ kind }) => kind === "pwm").map(({ label }) => dutyOf(label)),
    ].join(",");
    return [timeline, labels ? await api.history({ labels, from, to, points: POINTS }) : null];
  }

  /** @param {unknown} error */
  refuse(error) {
    this.refusal = whyNot(error, "not_reached");
  }

  // What changes in the picture besides time.
  #signature() {
    const { state } = this.#context.live;
    const met = (state.rules ?? []).map((/** @type {{ met: boolean }} */ rule) => rule.met);
    return JSON.stringify([
      Object.keys(state)
        .filter(isState)
        .map((label) => state[label]),
      met,
    ]);
  }

  /** @param {Stretch} stretch */
  follow(stretch) {
    if (this.isReading || !this.timeline) return;
    const { time } = this.#context.live.state;
    const [from, to] = stretch.bounds(time);
    const passed = time - this.timeline.now;
    const isOld = passed > Math.max(READ_AGAIN_S, (to - from) * NEW_SHARE);
    const isSeen = stretch.span !== null || to > this.timeline.now;
    const isOther = isOld || this.#signature() !== this.#known;
    if (this.#hasGap() || passed < 0 || (isSeen && isOther)) this.read(stretch);
  }
}
