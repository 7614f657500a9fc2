// The labels of the controller by kind, and the order in which its layout lists speak of them.

import { t } from "../format/words.js";

/** @param {string} prefix @param {number} first @param {number} count */
const numberLabels = (prefix, first, count) =>
  Array.from({ length: count }, (_, index) => `${prefix}${first + index}`);

export const OUTPUTS = numberLabels("OUT", 0, 6);
export const PWMS = numberLabels("PWM", 0, 4);
export const VARIABLES = numberLabels("EVENT", 1, 8);
export const INPUTS = numberLabels("INPD", 1, 4);
export const METERS = numberLabels("POWER", 1, 6);
const ANALOG = numberLabels("INPA", 1, 6);
const ONEWIRE = numberLabels("DS", 1, 8);
const DIFFERENTIALS = numberLabels("DIFF", 1, 6);
const PARTICULATES = ["PM1.0", "PM2.5", "PM4.0", "PM10.0"];
const MAPPED = numberLabels("m", 1, 30);
const WEATHER = ["T1", "H1", "P1"];

// Readings in the order of the Status page.
export const READINGS = [
  ...ONEWIRE,
  ...WEATHER,
  "DEWPOINT",
  "CO2",
  ...PARTICULATES,
  ...ANALOG,
  ...DIFFERENTIALS,
  "DISTANCE",
  ...MAPPED,
  "TEMP",
  "VCC",
];

const STATES = new Set([...OUTPUTS, ...PWMS, ...VARIABLES, ...INPUTS, "MQTT"]);
/** @param {string} label */
export const isState = (label) => STATES.has(label);
// The state that a condition asks for: "< 1" is 0, and reference 0 is 0 with any comparison.
/** @param {string} compare @param {number} reference */
export const levelAsked = (compare, reference) => (compare === "<" ? 0 : reference);
/** @param {string} meter */
export const energyOf = (meter) => meter.replace("POWER", "ENERGY");
/** @param {string} pwm */
export const dutyOf = (pwm) => `${pwm}.duty`;
/** @param {string} label */
export const indexOf = (label) => Number(label.slice(-1)) - (/^(OUT|PWM)/.test(label) ? 0 : 1);

// What every version's lists begin with; older versions have shorter lists of the same order.
const FIRST = [
  ...OUTPUTS,
  ...PWMS,
  ...INPUTS,
  ...ANALOG,
  "VCC",
  "TEMP",
  ...ONEWIRE,
  ...WEATHER,
  ...METERS,
  "DEWPOINT",
  "CO2",
];

// `echeck`: what each place of the list shows or hides on the Status page.
export const SHOWN_PLACES = [
  ...FIRST,
  ...PARTICULATES,
  "DISTANCE",
  ...DIFFERENTIALS,
  ...VARIABLES,
  ...MAPPED,
  "rules",
  "log",
];

// `postop`, `posleft`: the elements of the panel, each with the labels that it shows.
export const ELEMENTS = [
  ...FIRST.map((label) => [label]),
  PARTICULATES,
  ["DISTANCE"],
  ...DIFFERENTIALS.map((label) => [label]),
  ...MAPPED.map((label) => [label]),
].map((labels) => (METERS.includes(labels[0]) ? [labels[0], energyOf(labels[0])] : labels));

// States in words: "on" and "off"; of an input "open" and "closed", of the broker "connected".

/** @param {boolean} on */
export const stateWord = (on) => t(on ? "state_on" : "state_off");

/** @param {boolean} on */
export const contactWord = (on) => t(on ? "level_open" : "level_closed");

/** @param {string} label @param {boolean} on */
export function onWord(label, on) {
  if (label === "MQTT") return t(on ? "link_1" : "link_0");
  return INPUTS.includes(label) ? contactWord(on) : stateWord(on);
}

// The same for what is at the pin, which may be inverted.
/** @param {Pick<Context, "overview">} context @param {string} label @param {boolean} isHigh */
export const levelWord = ({ overview }, label, isHigh) =>
  onWord(label, isHigh !== overview.isInverted(label));
