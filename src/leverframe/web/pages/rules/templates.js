// What a new rule can start from. Of candidates the first is taken that the version has, and of
// sources rather one that has a value.

import { EMPTY_RULE } from "./draft.js";

/**
 * What the version has to choose from.
 * @typedef {object} Offer
 * @property {string[]} sources
 * @property {string[]} actions
 * @property {State} state
 * @property {string | null} [source]
 */
/**
 * Gives the first of the candidates that the version has.
 * @typedef {(candidates: string[]) => string | undefined} Pick
 */

const TEMPERATURES = ["DS1", "T1", "TEMP"];
const LIGHTS = ["INPA1", "VCC"];
const MESSAGES = ["eMail 1", "eMail", "SMS1", "HTTP1"];

// By the name of its text: what is special about the rule.
/** @type {Record<string, (pick: Record<"source" | "action", Pick>) => Partial<Rule>>} */
export const TEMPLATES = {
  thermostat: (pick) => ({
    source: pick.source(TEMPERATURES),
    compare: "<",
    reference: 21,
    hysteresis: 0.5,
    action: "OUT0",
  }),
  night_light: (pick) => ({
    source: pick.source(LIGHTS),
    compare: "<",
    reference: 500,
    hysteresis: 100,
    action: "OUT1",
    off_delay: 60,
  }),
  door_alarm: (pick) => ({ source: "INPD1", reference: 1, action: pick.action(MESSAGES) }),
  pump_protection: () => ({
    source: "INPD2",
    reference: 0,
    action: "OUT2",
    value: 0,
    off_delay: 60,
    permanent: true,
  }),
};

// A new rule from a template, or an empty one; `source` overrides what the template looks at.
/** @param {string | null} name @param {Offer} offer */
export function ruleFrom(name, { sources, actions, state, source }) {
  /** @type {Record<"source" | "action", Pick>} */
  const pick = {
    source: (candidates) =>
      candidates.find((label) => sources.includes(label) && state[label] != null) ??
      candidates.find((label) => sources.includes(label)),
    action: (candidates) => candidates.find((action) => actions.includes(action)),
  };
  const rule = { ...EMPTY_RULE, ...(TEMPLATES[name ?? ""]?.(pick) ?? {}) };
  return source && sources.includes(source) ? { ...rule, source } : rule;
}
