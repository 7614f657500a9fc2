// How a lever stands, and who moved it, as the controller reports it.

import { shortMoment } from "../format/moments.js";
import { setText, formatValue } from "../format/numbers.js";
import { t, TIMERS } from "../format/words.js";
import { dutyOf, isState, levelWord, PWMS, stateWord, VARIABLES } from "./labels.js";
import { causeOf } from "./signs.js";
import { thingName } from "./things.js";

/** @typedef {"on" | "held" | "locked" | "fault" | "stale" | "look"} Mark */
/**
 * `beneath` stands under the word; `share` says how far it is pulled, 0 to 1.
 * @typedef {{
 *   isOn: boolean, word: string, beneath: string, share: number, marks: Mark[],
 * }} Standing
 */

const HOUR_S = 3600;
const HELD = "rule_held";
// The kinds of findings about an output in another state than wanted.
export const OVERRULED = [HELD, "rule_overruled", "schedule_overruled"];

/** @param {Context} context @param {string} label @returns {Standing} */
export function standing(context, label) {
  const { live, overview } = context;
  const isOn = overview.isOn(label) === true;
  const duty = PWMS.includes(label) && isOn ? (live.state[dutyOf(label)] ?? 0) : null;
  const word = duty === null ? stateWord(isOn) : `${Math.round(duty)}\u00a0%`;
  const share = duty === null ? Number(isOn) : duty / 100;
  /** @param {Partial<Standing>} more */
  const build = (more) => ({ isOn, word, share, beneath: "", ...more, marks: marksOf(more) });
  /** @param {Partial<Standing>} more @returns {Mark[]} */
  const marksOf = ({ marks = [] }) => [
    ...marks,
    ...(isOn ? /** @type {Mark[]} */ (["on"]) : []),
    ...(overview.isReadOnly ? /** @type {Mark[]} */ (["look"]) : []),
  ];
  if (outOfReach(context)) {
    const time = shortMoment(live.lostSince ?? 0);
    return build({ word: t("lever_was", { state: word }), beneath: time, marks: ["stale"] });
  }
  if (live.state.troubles && label in live.state.troubles) {
    return build({ word: t("lever_fault"), beneath: t("lever_no_answer"), marks: ["fault"] });
  }
  if (isLocked(context, label)) return build({ beneath: t("lever_is_locked"), marks: ["locked"] });
  if (isHeld(context, label)) return build({ beneath: t("lever_held"), marks: ["held"] });
  return build({ beneath: isOn ? ending(context, label) : "" });
}

// Why nothing can be asked of the controller now; null while it is reached.
/** @param {Pick<Context, "live">} context */
export const outOfReach = ({ live }) => (live.connection === "lost" ? t("lever_lost") : null);

/** @param {Context} context @param {string} label */
export const isLocked = ({ overview }, label) =>
  overview.isLocked && !VARIABLES.includes(label) && isState(label);

// The finding that it is in another state than its rule or the schedule wants.
/** @param {Context} context @param {string} label */
const findOverruled = ({ live }, label) =>
  (live.state.findings ?? []).find((one) => OVERRULED.includes(one.kind) && one.label === label);

// A hand keeps it from what its rule wants.
/** @param {Context} context @param {string} label */
const isHeld = (context, label) => findOverruled(context, label)?.kind === HELD;

// When it goes off by its return time: as a time that runs out, or as a time of day.
/** @param {Context} context @param {string} label */
export function returning({ live }, label) {
  const back = /** @type {Record<string, number>} */ (live.state.returns_in ?? {})[label];
  if (back == null) return "";
  const left = live.remaining(back);
  const until = shortMoment(live.state.time + left, live.state.time);
  return left < HOUR_S
    ? t("lever_left", { time: minutesAndSeconds(left) })
    : t("lever_until", { time: until });
}

// When an active output switches off automatically.
/** @param {Context} context @param {string} label */
function ending(context, label) {
  const { live, settings } = context;
  const returns = returning(context, label);
  if (returns) return returns;
  const off = (live.state.schedule ?? [])
    .filter(({ index, next_run: run }) => {
      const entry = settings?.schedule[index];
      return run != null && entry?.action === label && entry.value === 0;
    })
    .map(({ next_run: run }) => Number(run));
  if (off.length === 0) return "";
  return t("lever_until", { time: shortMoment(Math.min(...off), live.state.time) });
}

/** @param {number} seconds */
const minutesAndSeconds = (seconds) =>
  `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;

// Who moved it last, why and when; null if not moved since startup.
/** @param {Context} context @param {string} label */
export function mover(context, label) {
  const { live } = context;
  const last = live.state.switched?.[label];
  if (!last) return null;
  const cause = causeOf(last.by.kind, last.by.detail);
  const time = shortMoment(last.time, live.state.time);
  const name = moverName(context, last.by) || cause.word();
  return { cause, name, time, why: [...reasons(context, label, last.by), time].join(", ") };
}

// The name of what moved it, in the words of the page; "" where it has none.
/** @param {Context} context @param {Api.Cause | Api.LaneCause} by */
export function moverName(context, { kind, number, name, account, detail }) {
  if (kind === "rule") return name || ruleName(context, number ?? 0);
  if (kind === "timer") return t(TIMERS[detail ?? ""] ?? "by_timer_other");
  if (kind === "watchdog") return name;
  if (kind === "schedule") return name || detail;
  return account;
}

/** @param {Context} context @param {string} label @param {Api.Cause} by */
function reasons(context, label, { conditions = [] }) {
  const overruled = findOverruled(context, label);
  if (overruled) {
    const { rule, entry } = overruled.figures;
    const wanted = stateWord(context.overview.isOn(label) === false);
    const ruler = rule === undefined ? String(entry) : ruleName(context, rule);
    return [t("lever_but", { rule: ruler, state: wanted })];
  }
  return conditions.filter((one) => one.is_met !== false).map((one) => compareText(context, one));
}

// The name of a rule, or its number. Every account may know it.
/** @param {Context} context @param {number | string} rule */
export const ruleName = ({ live }, rule) =>
  typeof rule === "string"
    ? rule
    : live.state.rules?.find(({ number }) => number === rule)?.name ||
      t("rule_number", { number: rule });

// "Soil moisture 28 % < 30 %", "Door open"
/** @param {Context} context @param {Api.Decided} decided */
export function compareText(context, { label, value, compare, threshold }) {
  const name = thingName(context, label);
  if (value === null) return name;
  if (isState(label)) return `${name} ${levelWord(context, label, value === 1)}`;
  const sign = compare === ">=" ? "≥" : compare;
  const is = `${formatValue(label, value).text} ${context.overview.unit(label)}`.trim();
  return `${name} ${is} ${sign} ${setText(context, label, threshold)}`;
}
