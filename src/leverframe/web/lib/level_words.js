// States in words: "on" and "off"; of an input "open" and "closed", of the broker "connected".

import { INPUTS } from "./labels.js";
import { t } from "./words.js";

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
