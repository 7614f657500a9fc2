// A rule as it stands in the blanks of its sentence: texts, in the language of the page.

import { timeText } from "../../lib/format/moments.js";
import { durationText, numberText } from "../../lib/format/numbers.js";
import { isState, levelAsked } from "../../lib/things/labels.js";
import { WEEKDAYS } from "../schedule/entry.js";
import { NO_MESSAGE } from "./messages.js";

/** @import { Message } from "./messages.js" */
/** @import { End } from "./until.js" */
/** @import { Window } from "./window.js" */

/** Within the hours of its window, or without. @typedef {"" | "in" | "out"} When */
/**
 * Texts, and a boolean for `permanent`. A time window and a message have their own blanks; the
 * value at which a condition ends is null until it is typed.
 * @typedef {Record<Exclude<keyof Rule, "permanent" | "enabled"> | "from" | "to", string> &
 *   { permanent: boolean, window: When, days: string[], message: Message,
 *     until: string | null, until2: string | null }} TypedRule
 */

// Letter of the command -> field of a rule.
/** @typedef {"permanent" | "window" | "days" | "message" | End} OtherBlank */
/** @typedef {Exclude<keyof TypedRule, OtherBlank>} TextBlank */
/** @type {Record<string, TextBlank>} */
export const FIELDS = {
  B: "source",
  C: "compare",
  D: "reference",
  E: "hysteresis",
  F: "operator",
  G: "action",
  H: "source2",
  I: "compare2",
  J: "reference2",
  K: "hysteresis2",
  L: "off_delay",
  M: "value",
  N: "on_delay",
  O: "depends",
  P: "mode",
};

// A wait of nothing, whatever the language calls it.
export const IMMEDIATELY = "immediately";

/** @type {Rule} */
export const EMPTY_RULE = {
  source: "VCC",
  compare: ">=",
  reference: 0,
  hysteresis: 0,
  operator: "-",
  action: "OUT0",
  source2: "VCC",
  compare2: ">=",
  reference2: 0,
  hysteresis2: 0,
  off_delay: 0,
  value: 1,
  on_delay: 0,
  depends: 0,
  mode: 0,
  enabled: false,
  permanent: false,
  name: "",
};
const FROM = "22:00";
const TO = "06:00";

/** @param {Rule} rule @param {Window | null} window @param {Message} [message] */
export function toTyped(rule, window, message = NO_MESSAGE) {
  const typed = /** @type {TypedRule} */ ({
    permanent: rule.permanent,
    name: rule.name,
    window: window ? (levelAsked(rule.compare2, rule.reference2) ? "in" : "out") : "",
    from: window ? timeText(window.from) : FROM,
    to: window ? timeText(window.to) : TO,
    days: window ? window.days : WEEKDAYS,
    until: null,
    until2: null,
    message,
  });
  for (const name of Object.values(FIELDS)) {
    if (name !== "from" && name !== "to") typed[name] = blankText(rule[name]);
  }
  // What is 0 or 1 has no comparison in the sentence: "is on", "is off".
  if (isState(rule.source)) {
    typed.reference = blankText(levelAsked(rule.compare, rule.reference));
    typed.compare = EMPTY_RULE.compare;
  }
  if (isState(rule.source2)) {
    typed.reference2 = blankText(levelAsked(rule.compare2, rule.reference2));
    typed.compare2 = EMPTY_RULE.compare2;
  }
  typed.on_delay = delayText(rule.on_delay);
  typed.off_delay = delayText(rule.off_delay);
  return typed;
}

/** @param {string | number} value */
const blankText = (value) => (typeof value === "number" ? numberText(value) : value);

/** @param {number} seconds */
const delayText = (seconds) => (seconds === 0 ? IMMEDIATELY : durationText(seconds));

// What `event` says of it.
/** @param {TypedRule} typedRule */
export function ruleOnly({ permanent, name, from, to, days, message, until, until2, ...rest }) {
  return rest;
}
