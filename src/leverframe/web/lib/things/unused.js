// What is connected to nothing: outputs and inputs that the first run left without a name and that
// no rule, schedule entry or watchdog uses. Status and Timeline leave them out until they are asked
// for, in this browser.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { t } from "../format/words.js";
import { INPUTS, OUTPUTS, PWMS } from "./labels.js";
import { isUsed } from "./things.js";

const KEPT = "leverframe.unused";
const WIRED = [...OUTPUTS, ...PWMS, ...INPUTS];

const areShown = signal(localStorage.getItem(KEPT) === "shown");

/** @param {Context} context @param {string} label */
export const isLeftOut = (context, label) =>
  !areShown.value && WIRED.includes(label) && isUnused(context, label);

// Before the end of the first run nothing is known of what is connected; nor where nothing is used.
/** @param {Context} context @param {string} label */
export function isUnused(context, label) {
  if (context.settings?.ui.first_run !== "done" || isInUse(context, label)) return false;
  return [...OUTPUTS, ...PWMS].some((output) => isInUse(context, output));
}

/** @param {Context} context @param {string} label */
function isInUse(context, label) {
  const { schedule = [], watchdog = [], pid } = context.settings ?? {};
  return (
    isUsed(context, label) ||
    schedule.some((entry) => entry?.action === label) ||
    watchdog.some(({ host, output }) => host !== "" && output === label) ||
    (pid?.enabled === true && label === `PWM${pid.pwm}`)
  );
}

// The switch that brings them back; nothing where all is used.
/** @param {Context} context */
export function unusedSwitch(context) {
  const unused = WIRED.filter(
    (label) => context.overview.isPresent(label) && isUnused(context, label),
  );
  if (unused.length === 0) return nothing;
  return html`<label class="toggle unused">
    <input type="checkbox" role="switch" .checked=${areShown.value} @change=${show} />
    <span>${t("unused_show", { count: unused.length })}</span>
  </label>`;
}

/** @param {ControlEvent} event */
function show(event) {
  areShown.value = event.target.checked;
  localStorage.setItem(KEPT, event.target.checked ? "shown" : "");
}
