// The chain of causes of one bar or message: reading, condition, rule, output, message, end.

/** @typedef {Api.LeverTimeline} Timeline */
/** @typedef {Timeline["lanes"][number]} Lane */
/** @typedef {Lane["bars"][number]} LaneBar */
/** @typedef {Timeline["messages"][number]} Sent */
/** @typedef {Timeline["rules"][number]} LaneRule */
/** @typedef {NonNullable<LaneBar["cause"]>} LaneCause */
/**
 * @typedef {{ what: "reading", time: number, label: string, value: number, before: number | null,
 *   condition: LaneRule["conditions"][number], isMet: boolean }
 *   | { what: "rule", time: number, number: number, name: string, waited: number }
 *   | { what: "met", time: number, number: number, isMet: boolean }
 *   | { what: "cause", time: number, cause: LaneCause }
 *   | { what: "state", time: number, label: string, value: number | null, planned: boolean }
 *   | { what: "message", time: number, channel: string, slot: number }} Step
 */

/** A bar, or a message. @typedef {{ label: string, begin: number }} Chosen */

export const MESSAGES = "messages";
// Moments have milliseconds; changes of one instant belong together.
const INSTANT_S = 0.01;
const MAX_EFFECTS = 6;

/** @param {number} number */
const ruleLabel = (number) => `rule.${number}`;

/** @param {Timeline} timeline @param {string} label @returns {Lane | undefined} */
const laneOf = ({ lanes }, label) => lanes.find((lane) => lane.label === label);

// What held at a moment; undefined outside of what is known.
/** @param {LaneBar[]} bars @param {number} time */
export const barAt = (bars, time) =>
  bars.find(({ begin, end }) => begin <= time && time < end) ??
  bars.findLast(({ begin }) => begin <= time + INSTANT_S);

/** @param {Timeline} timeline @param {Chosen} chosen @returns {Step[]} */
export function stepsOf(timeline, { label, begin }) {
  if (label === MESSAGES) {
    const message = timeline.messages.find(({ time }) => time === begin);
    return message ? chainOfMessage(timeline, message) : [];
  }
  const lane = laneOf(timeline, label);
  // The chosen bar may have been drawn again since then.
  const bar = lane?.bars.find((one) => one.begin === begin) ?? barAt(lane?.bars ?? [], begin);
  return lane && bar ? chainOf(timeline, lane, bar) : [];
}

// What a press at a moment of a lane means; null where nothing is known. A bar that is finer than a
// finger is meant before the wide one around it.
/**
 * @param {Timeline} timeline
 * @param {string} label
 * @param {number} time
 * @param {number} near
 * @returns {Chosen | null}
 */
export function meantAt(timeline, label, time, near) {
  const bars = laneOf(timeline, label)?.bars ?? [];
  const begins =
    label === MESSAGES
      ? timeline.messages.map((message) => message.time)
      : bars
          .filter(({ begin, end, value }) => value && end - begin < near && time <= end + near)
          .map((bar) => originBar(bars, bar).begin);
  const fine = nearest(begins, time, near);
  if (fine !== null) return { label, begin: fine };
  const bar = barAt(bars, time);
  return bar && bar.value !== null ? { label, begin: originBar(bars, bar).begin } : null;
}

// A bar that continues as planned began earlier: its cause is there.
/** @param {LaneBar[]} bars @param {LaneBar} bar */
function originBar(bars, bar) {
  const before = bars[bars.indexOf(bar) - 1];
  return bar.planned && before?.value === bar.value ? before : bar;
}

/** @param {number[]} times @param {number} time @param {number} near */
function nearest(times, time, near) {
  const [found] = times
    .filter((one) => Math.abs(one - time) <= near)
    .sort((one, other) => Math.abs(one - time) - Math.abs(other - time));
  return found ?? null;
}

// The bar that began at a moment, given to the second.
/** @param {Timeline} timeline @param {number} at @returns {Chosen | null} */
export function barStartingAt({ lanes }, at) {
  const begun = lanes.flatMap(({ label, bars }) =>
    bars.filter(({ planned }) => !planned).map(({ begin }) => ({ label, begin })),
  );
  const [found] = begun
    .filter(({ begin }) => Math.abs(begin - at) <= 1.5)
    .sort((one, other) => Math.abs(one.begin - at) - Math.abs(other.begin - at));
  return found ?? null;
}

/** @param {Timeline} timeline @param {Lane} lane @param {LaneBar} bar @returns {Step[]} */
function chainOf(timeline, lane, bar) {
  if (lane.kind === "rule") return chainOfRule(timeline, lane, bar);
  if (lane.kind === "input") return [stateOf(lane, bar), ...findSwitcher(timeline, lane, bar)];
  return [
    ...causeSteps(timeline, bar.cause, bar.begin),
    stateOf(lane, bar),
    ...messagesWith(timeline, lane, bar),
    ...endOf(timeline, lane, bar),
  ];
}

/** @param {Timeline} timeline @param {Sent} message @returns {Step[]} */
function chainOfMessage(timeline, message) {
  const rule = timeline.rules.find((one) => isOf(message, one));
  const steps = rule ? ruleSteps(timeline, rule.number, rule.name, message.time) : [];
  return [...steps, messageStep(message)];
}

/** @param {Timeline} timeline @param {Lane} lane @param {LaneBar} bar @returns {Step[]} */
function chainOfRule(timeline, lane, bar) {
  const number = Number(lane.label.split(".")[1]);
  const next = following(lane, bar);
  return [
    ...readingSteps(timeline, number, bar),
    metStep(number, bar),
    ...effectsOf(timeline, number, bar),
    ...(next ? [...readingSteps(timeline, number, next), metStep(number, next)] : []),
  ];
}

// The rules that an input turned at the beginning of its bar, and what they did.
/** @param {Timeline} timeline @param {Lane} lane @param {LaneBar} bar @returns {Step[]} */
function findSwitcher(timeline, lane, bar) {
  return timeline.rules
    .filter(({ conditions }) => conditions.some(({ label }) => label === lane.label))
    .flatMap(({ number }) => {
      const turn = laneOf(timeline, ruleLabel(number))?.bars.find(
        ({ begin }) => Math.abs(begin - bar.begin) <= INSTANT_S,
      );
      return turn ? [metStep(number, turn), ...effectsOf(timeline, number, turn)] : [];
    });
}

/** @param {Timeline} timeline @param {number} number @param {LaneBar} turn @returns {Step[]} */
function effectsOf(timeline, number, turn) {
  const rule = timeline.rules.find((one) => one.number === number);
  const within = (/** @type {number} */ time) => turn.begin <= time && time < turn.end;
  /** @type {Step[]} */
  const states = timeline.lanes.flatMap((lane) =>
    lane.bars
      .filter(({ begin }) => within(begin))
      .filter(({ cause }) => cause?.kind === "rule" && cause.number === number)
      .map((bar) => stateOf(lane, bar)),
  );
  const messages = timeline.messages.filter((one) => rule && isOf(one, rule) && within(one.time));
  return [...states, ...messages.map(messageStep)]
    .sort((one, other) => one.time - other.time)
    .slice(0, MAX_EFFECTS);
}

/**
 * @param {Timeline} timeline
 * @param {LaneCause | null | undefined} cause
 * @param {number} time
 * @returns {Step[]}
 */
function causeSteps(timeline, cause, time) {
  if (!cause) return [];
  if (cause.kind !== "rule" || !cause.number) return [{ what: "cause", time, cause }];
  return ruleSteps(timeline, cause.number, cause.name ?? "", time);
}

/**
 * @param {Timeline} timeline
 * @param {number} number
 * @param {string} name
 * @param {number} time
 * @returns {Step[]}
 */
function ruleSteps(timeline, number, name, time) {
  const known = timeline.rules.find((one) => one.number === number);
  // A rule that was deleted or replaced cannot say what decided.
  const isSame = known !== undefined && known.name === name;
  const turn = isSame ? barAt(laneOf(timeline, ruleLabel(number))?.bars ?? [], time) : undefined;
  const isTold = turn !== undefined && turn.value !== null && turn.begin > timeline.from;
  return [
    ...(isTold ? readingSteps(timeline, number, turn) : []),
    { what: "rule", time, number, name, waited: isTold ? time - turn.begin : 0 },
  ];
}

/** @param {Timeline} timeline @param {number} number @param {LaneBar} turn @returns {Step[]} */
function readingSteps(timeline, number, turn) {
  const rule = timeline.rules.find((one) => one.number === number);
  const bars = laneOf(timeline, ruleLabel(number))?.bars ?? [];
  const before = bars[bars.indexOf(turn) - 1]?.readings ?? {};
  return (rule ? deciding(rule, turn) : []).flatMap((condition) => {
    const { label } = condition;
    const value = turn.readings?.[label] ?? null;
    if (value === null) return [];
    const isMet = rule?.conditions.length === 1 ? turn.value === 1 : holds(condition, turn);
    const was = before[label] ?? null;
    return [{ what: "reading", time: turn.begin, label, value, before: was, condition, isMet }];
  });
}

// Which conditions gave the result: of an "or" that is met those that hold, of an "and" that is not
// met those that do not, otherwise all.
/** @param {LaneRule} rule @param {LaneBar} turn */
function deciding({ operator, conditions }, turn) {
  const isWithNot = operator === "NAND" || operator === "NOR";
  const result = (turn.value === 1) !== isWithNot;
  const deciders = result ? ["OR", "NOR"] : ["AND", "NAND"];
  const alone = conditions.filter((one) => holds(one, turn) === result);
  return deciders.includes(operator) && alone.length > 0 ? alone : conditions;
}

// Once met, a condition holds up to where it ends.
/** @param {LaneRule["conditions"][number]} condition @param {LaneBar} turn */
function holds({ label, compare, reference, ends }, { readings }) {
  const value = readings?.[label] ?? null;
  if (value === null) return false;
  if (compare === "=") return value === reference;
  return compare === "<" ? value < ends : value >= ends;
}

// What was sent in the instant in which a state began, by rules that look at the same or at it.
/** @param {Timeline} timeline @param {Lane} lane @param {LaneBar} bar @returns {Step[]} */
function messagesWith(timeline, lane, bar) {
  const steps = causeSteps(timeline, bar.cause, bar.begin);
  const looked = new Set([lane.label, ...steps.map((one) => ("label" in one ? one.label : ""))]);
  const begin = Math.min(bar.begin, ...steps.map(({ time }) => time)) - INSTANT_S;
  return timeline.messages
    .filter(({ time }) => begin <= time && time <= bar.begin + INSTANT_S)
    .filter((message) =>
      timeline.rules.some(
        (rule) =>
          isOf(message, rule) && rule.conditions.some((condition) => looked.has(condition.label)),
      ),
    )
    .slice(0, MAX_EFFECTS)
    .map(messageStep);
}

/** @param {Timeline} timeline @param {Lane} lane @param {LaneBar} bar @returns {Step[]} */
function endOf(timeline, lane, bar) {
  const next = following(lane, bar);
  if (!next) return [];
  return [...causeSteps(timeline, next.cause, next.begin), stateOf(lane, next)];
}

// The next bar that is another state; the part that is to come may begin with the same one.
/** @param {Lane} lane @param {LaneBar} bar */
function following({ bars }, bar) {
  return bars.slice(bars.indexOf(bar) + 1).find(({ value }) => value !== bar.value);
}

/** @param {Lane} lane @param {LaneBar} bar @returns {Step} */
const stateOf = ({ label }, { value, begin, planned }) => ({
  what: "state",
  time: begin,
  label,
  value,
  planned: planned ?? false,
});

/** @param {number} number @param {LaneBar} bar @returns {Step} */
const metStep = (number, { begin, value }) => ({
  what: "met",
  time: begin,
  number,
  isMet: value === 1,
});

/** @param {Sent} message @returns {Step} */
const messageStep = ({ time, channel, slot }) => ({ what: "message", time, channel, slot });

/** @param {Sent} message @param {LaneRule} rule */
const isOf = ({ reason }, { number, name }) => reason === `rule ${name || number}`;

// The lanes that took part, by their labels.
/** @param {Step[]} steps */
export function lanesOf(steps) {
  return new Set(
    steps.flatMap((step) => {
      if (step.what === "message") return [MESSAGES];
      if (step.what === "rule" || step.what === "met") return [ruleLabel(step.number)];
      return "label" in step ? [step.label] : [];
    }),
  );
}

// Readings at its start; its end comes later in the chain.
/** @param {Step[]} steps @returns {Map<string, number>} */
export function decidingStep(steps) {
  const read = steps.flatMap((step) => (step.what === "reading" ? [step] : []));
  return new Map(read.reverse().map(({ label, value }) => [label, value]));
}
