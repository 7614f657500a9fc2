// The rows of the picture, in groups: what has a lane, and how much room it takes.

import { READINGS, isState } from "../../lib/labels.js";
import { isUsed, thingAddress, thingName } from "../../lib/things.js";
import { address } from "../../lib/router.js";
import { t } from "../../lib/words.js";
import { MESSAGES } from "./chain.js";

/** @import { Lane, LaneRule, Timeline } from "./chain.js" */
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
  const ruleRows = shown.filter(({ kind }) => kind === "rule").map((lane, index) => ({
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
  return stacked([
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
function stacked(rows) {
  let top = 0;
  return rows.map((row) => {
    top += row.height;
    return { ...row, top: top - row.height };
  });
}

// What was never named, used or switched would only fill the page.
/** @param {Context} context @param {Lane} lane @param {LaneRule[]} rules */
function isWorthARow(context, { label, kind, bars }, rules) {
  if (kind === "output" || kind === "rule") return true;
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
