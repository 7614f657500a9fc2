// The things of a controller: what people have connected and named. Each has a drawer with an
// address of its own over whatever page is open.

import { numberText } from "../format/numbers.js";
import { code, t } from "../format/words.js";
import { addressWith } from "../frame/router.js";
import { numberRules } from "../live/tree.js";
import {
  dutyOf,
  energyOf,
  INPUTS,
  isState,
  METERS,
  onWord,
  OUTPUTS,
  PWMS,
  READINGS,
  stateWord,
  VARIABLES,
} from "./labels.js";

// The kind of a label, and the number that stands on its terminal.
/** @type {[RegExp, string][]} */
const KINDS = [
  [/^OUT(\d)$/, "output"],
  [/^PWM(\d)/, "pwm"],
  [/^INPD(\d)$/, "digital"],
  [/^INPA(\d)$/, "analog"],
  [/^DIFF(\d)$/, "differential"],
  [/^DS(\d)$/, "onewire"],
  [/^T1$/, "temperature"],
  [/^H1$/, "humidity"],
  [/^P1$/, "pressure"],
  [/^DEWPOINT$/, "dewpoint"],
  [/^CO2$/, "co2"],
  [/^PM(.+)$/, "particles"],
  [/^DISTANCE$/, "distance"],
  [/^m(\d+)$/, "mapped"],
  [/^TEMP$/, "board"],
  [/^VCC$/, "supply"],
  [/^(?:POWER|ENERGY)(\d)$/, "meter"],
  [/^EVENT(\d)$/, "variable"],
  [/^WDOG(\d)$/, "watchdog"],
  [/^SLOT(\d)$/, "device"],
  [/^STRING(\d)$/, "text"],
  [/^WRITE(\d)$/, "write"],
  [/^ACCOUNT(\d+)$/, "account"],
  // What concerns all of a list.
  [/^all-(\w+)$/, "all"],
];

// Of a label that is a part of a thing: the counter of a meter, the duty of an output.
/** @param {string} label */
export const thingOf = (label) => label.replace(/^ENERGY/, "POWER").replace(/\.duty$/, "");

/** @param {string} label */
export function kindOf(label) {
  const [pattern, kind] = KINDS.find(([one]) => one.test(label)) ?? [/$/, null];
  return { kind, number: pattern.exec(label)?.[1] ?? "" };
}

// Kinds whose number is that of a terminal.
const PLATED = ["output", "pwm", "digital", "analog"];

// What stands on the plate of its terminal; "" where it has none.
/** @param {string} label */
export function plateOf(label) {
  const { kind, number } = kindOf(label);
  if (!PLATED.includes(kind ?? "")) return "";
  return kind === "pwm" ? `P${number}` : number;
}

/** @param {string} label */
export const thingAddress = (label) => addressWith(thingOf(label));

// The name that the user gave it, or its kind with the number of its terminal.
/** @param {Context} context @param {string} label */
export function thingName(context, label) {
  const { kind, number } = kindOf(label);
  if (kind === "all") return t(`all_${number}`);
  const chosen = context.overview.name(label) || ownName(context, kind, Number(number));
  return chosen || kindName(label);
}

// What stands in a list of readings, where a meter has two.
/** @param {Context} context @param {string} word */
export function readingName(context, word) {
  const name = codeName(context, word);
  const [, quantity] = /^(POWER|ENERGY)\d$/.exec(word) ?? [];
  return quantity ? t(`meter_${quantity.toLowerCase()}`, { name }) : name;
}

// A label in a text of the controller; not the ends of a range, such as PWM0-PWM3.
const LABEL = /(?<![\w-])(?:OUT|PWM|INPD|INPA|DIFF|DS|POWER|ENERGY|EVENT)\d(?![\w.-])/g;

// A sensor of an analog input as the command calls it, where it reads as nothing else.
const SENSOR = /\bvin=[\d.]+V\/\d+V/g;

/** @param {Context} context @param {string} text */
export const withNames = (context, text) =>
  text.replace(LABEL, (label) => thingName(context, label)).replace(SENSOR, code);

// A word of a code list with the name of the thing whose label it is or ends in: "AutoSwitch OUT0".
/** @param {Context} context @param {string} word */
export function codeName(context, word) {
  const label = word.split(" ").at(-1) ?? "";
  if (!kindOf(label).kind) return code(word);
  return code(word).replace(label, () => thingName(context, label));
}

// What it is, with the number of its terminal.
/** @param {string} label */
export function kindName(label) {
  const { kind, number } = kindOf(label);
  return kind ? t(`thing_${kind}`, { number }) : label;
}

/** @param {Context} context @param {string | null} kind @param {number} number */
function ownName({ settings }, kind, number) {
  if (kind === "watchdog") return settings?.watchdog[number - 1]?.host ?? "";
  if (kind === "account") return (settings && accountsOf(settings)[number]?.name) ?? "";
  if (kind === "write") return settings?.modbus_writes[number - 1]?.name ?? "";
  if (kind !== "device") return "";
  const module = settings?.modbus_slots[number - 1]?.module ?? "OFF";
  if (module === "OFF") return "";
  const [, own] = /^custom(\d)$/.exec(module) ?? [];
  return (own && settings?.modbus_devices[Number(own) - 1]?.name) || code(module);
}

// Everyone who can have a password, in the order of the labels ACCOUNT0, ACCOUNT1, ...
/** @param {Settings} settings */
export const accountsOf = ({ access: { admin, user, users } }) => [admin, user, ...users];

// The value of a thing in words: "on", "open", "21.4 °C"; "" where there is none.
/** @param {Context} context @param {string} label */
export function thingValue({ overview, live, settings }, label) {
  const { kind, number } = kindOf(label);
  if (kind === "text") return settings?.variables.strings[Number(number)] ?? "";
  if (kind === "write") return writeValuesText(settings?.modbus_writes[Number(number) - 1]);
  if (kind === "watchdog") return guardWord(live.state.watchdog?.[Number(number) - 1]);
  if (kind === "device") return deviceWord(live.state.modbus?.[number]);
  if (isState(label)) {
    const on = overview.isOn(label);
    if (on === null) return "";
    return kind === "pwm" && on
      ? `${Math.round(live.state[dutyOf(label)] ?? 0)} %`
      : onWord(label, on);
  }
  const { text, unit, absent } = overview.formatValue(label);
  return absent ? "" : `${text} ${unit}`.trim();
}

// The same as pages show it: while the connection is lost, what is measured was so.
/** @param {Context} context @param {string} label */
export function currentValueText(context, label) {
  const value = thingValue(context, label);
  const isMeasured = isState(label) || context.overview.isKnown(label);
  const wasSo = context.live.connection === "lost" && isMeasured && value !== "";
  return wasSo ? t("lever_was", { state: value }) : value;
}

/** @param {Api.WatchdogExplanation | undefined} guard */
const guardWord = (guard) => (guard ? t(`guard_${guard.state.replace(" ", "_")}`) : "");

/** @param {Api.SlotReport | undefined} device */
const deviceWord = (device) =>
  device ? t(device.silent_since ? "device_silent" : "device_answers") : "";

/** @param {Settings["modbus_writes"][number]} write @param {boolean} on */
const writeValueText = ({ on_value: one, off_value: other }, on) =>
  `${stateWord(on)} ${numberText(on ? one : other)}`;

/** @param {Settings["modbus_writes"][number] | undefined} write */
const writeValuesText = (write) =>
  write ? [true, false].map((on) => writeValueText(write, on)).join(" · ") : "";

/** @param {Context} context @param {string} label @returns {Thing} */
export const thing = (context, label) => ({
  label,
  ...kindOf(label),
  name: thingName(context, label),
  value: thingValue(context, label),
  address: thingAddress(label),
});

// All that is configured or present, in the order of the terminals.
/** @param {Context} context */
export function things(context) {
  const { overview, settings } = context;
  const present = [...OUTPUTS, ...PWMS, ...INPUTS, ...READINGS]
    .filter((label) => overview.isPresent(label) || isSetUp(settings, label))
    .concat(METERS.filter((label) => isCounting(context, label)))
    .concat(VARIABLES.filter((label) => isUsed(context, label)));
  const configured = settings === null ? [] : listConfigured(settings);
  return [...present, ...configured].map((label) => thing(context, label));
}

// A reading that is set up, though it may never have had a value.
/** @param {Settings | null} settings @param {string} label */
function isSetUp(settings, label) {
  if (settings === null) return false;
  const { kind, number } = kindOf(label);
  const index = Number(number) - 1;
  switch (kind) {
    case "onewire":
      return !/^[0:]+$/.test(settings.onewire[index].id);
    case "analog":
      return settings.analog_inputs[index].sensor !== "off";
    case "mapped":
      return Number(settings.modbus_mapping[index]?.slot) > 0;
    case "temperature":
    case "humidity":
    case "pressure":
      return settings.i2c.primary !== "NONE";
    default:
      return false;
  }
}

/** @param {Settings} settings */
function listConfigured({ watchdog, modbus_slots: slots, modbus_writes: writes, variables }) {
  return [
    ...slots.flatMap(({ module }, index) => (module === "OFF" ? [] : [`SLOT${index + 1}`])),
    ...writes.flatMap(({ slot }, index) => (slot === 0 ? [] : [`WRITE${index + 1}`])),
    ...watchdog.flatMap(({ host }, index) => (host ? [`WDOG${index + 1}`] : [])),
    ...variables.strings.flatMap((text, index) => (text ? [`STRING${index}`] : [])),
  ];
}

/** @param {Context} context @param {string} label */
function isCounting({ overview, live: { state } }, label) {
  const counts = state[label] != null || Number(state[energyOf(label)]) > 0;
  return overview.isKnown(label) && (counts || overview.name(label) !== "");
}

// The name of a variable that the page made for the time window of a rule: its hours.
const OF_WINDOW = /^\d\d:\d\d(:\d\d)?-\d\d:\d\d(:\d\d)?$/;

// A variable that has a name, is on or stands in a rule; the others would only fill the page, as
// those do that the page made for itself.
/** @param {Context} context @param {string} label */
export function isUsed({ overview, live, settings }, label) {
  if (OF_WINDOW.test(overview.name(label))) return false;
  const rules = numberRules(settings?.rules);
  return (
    overview.isKnown(label) &&
    (overview.name(label) !== "" ||
      live.state[label] === 1 ||
      rules.some(({ rule: { source, source2, action } }) =>
        [source, source2, action].includes(label),
      ))
  );
}
