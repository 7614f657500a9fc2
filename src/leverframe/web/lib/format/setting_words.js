// A changed setting in words: its thing or page, the label of its field, and values as people write
// them. Labels are those of the form that sets it.

import { kindOf, codeName, thingName } from "../things/things.js";
import { weekdayName } from "./moments.js";
import { durationText, numberText } from "./numbers.js";
import { code, fetchWords, isCode, wordIn, t } from "./words.js";

/** @type {Record<string, string>} */
const PAGES = {
  ...{ outputs: "outputs", output_flags: "outputs", pwm: "pwm", pwm_frequency: "pwm", pid: "pid" },
  ...{ analog_inputs: "analog", digital_inputs: "digital", impulse_time: "digital" },
  ...{ differentials: "differential", onewire: "onewire", onewire_extra: "onewire" },
  ...{ weather: "weather", i2c: "i2c", serial: "serial", gsm: "gsm", email: "email" },
  ...{ modbus_slots: "modbus", modbus_mapping: "modbus", modbus_names: "modbus" },
  ...{ modbus_devices: "modbus", modbus_writes: "modbus_writes", modbus_tcp: "modbus_server" },
  ...{ power: "energy", energy_remember: "energy" },
  ...{ event_variables: "variables", variables: "variables" },
  ...{ oled: "display", ui: "interface", name: "interface", timezone: "interface" },
  ...{ layout: "panel", watchdog: "watchdog", http: "http", http_period: "http" },
  ...{ http_double_percent: "http", mqtt: "mqtt", snmp: "snmp", access: "accounts" },
  ...{ rules: "rules", schedule: "schedule", schedule_catch_up: "schedule" },
};

// The labels whose keys are not the names of their settings.
/** @type {Record<string, string>} */
const KEYS = {
  ...{ "digital_inputs.negate_display": "negate", "pid.pwm": "output", "name.name": "device_name" },
  ...{ "pwm_frequency.pwm_frequency": "frequency", "energy_remember.energy_remember": "remember" },
  ...{ "onewire_extra.names": "name", "weather.t1_name": "name", "weather.h1_name": "name" },
  ...{ "weather.p1_name": "name", "serial.module": "connected", "serial.sdm_bitrate": "bitrate" },
  ...{ "serial.lighting": "connect_lighting", "gsm.numbers": "recipients" },
  ...{ "email.on_texts": "texts", "email.off_texts": "texts", "modbus_tcp.enabled": "server_on" },
  ...{ "modbus_mapping.slot": "mapped_slot", "modbus_mapping.reading": "reading_number" },
  ...{ "variables.strings": "value", "modbus_names.modbus_names": "name" },
  ...{ "modbus_slots.module": "device" },
  ...{ "modbus_devices.stop_bit": "stop_bits", "modbus_devices.unit": "column_unit" },
  ...{ "modbus_devices.divisor": "column_divisor", "modbus_devices.type": "column_type" },
  ...{ "modbus_devices.register": "column_register", "modbus_devices.endian": "column_endian" },
  ...{ "modbus_devices.function": "column_function", "ui.user_read_only": "read_only" },
  ...{ "ui.language": "pages_language", "oled.lines": "general", "ui.first_run": "page_firstrun" },
  ...{ "ui.firmware_check": "page_firmware", "layout.top": "arrange", "layout.left": "arrange" },
  ...{ "layout.visible": "arrange", "watchdog.enabled": "watch" },
  ...{ "watchdog.failures": "failures_allowed", "watchdog.delay": "start_delay" },
  ...{ "http_period.http_period": "period", "http_double_percent.http_double_percent": "double" },
  ...{ "mqtt.discovery": "discovery_topic", "access.updates_allowed": "updates" },
  ...{ "access.password": "wanted" },
  ...{ "rules.compare": "comparison", "rules.compare2": "comparison", "rules.source2": "source" },
  ...{ "rules.reference2": "reference", "rules.hysteresis2": "hysteresis" },
  ...{ "rules.enabled": "setting_active" },
  ...{ "rules.operator": "second_condition", "schedule.action": "entry_action" },
  ...{ "schedule.value": "entry_value", "schedule.time": "time_of_day" },
  ...{ "schedule_catch_up.schedule_catch_up": "catch_up" },
  ...{ "schedule.days": "weekdays", "schedule.periodic": "repeats" },
};

// Set elsewhere than the rest of their section.
const IN_ACCOUNTS = ["ui.user_read_only", "ui.auto_sign_in"];

// A list, whose places are things -> their labels; numbers of labels begin at 0 or 1.
/** @type {Record<string, [string, number]>} */
const PLACES_OF = {
  outputs: ["OUT", 0],
  pwm: ["PWM", 0],
  digital_inputs: ["INPD", 1],
  analog_inputs: ["INPA", 1],
  onewire: ["DS", 1],
  differentials: ["DIFF", 1],
  power: ["POWER", 1],
  event_variables: ["EVENT", 1],
  watchdog: ["WDOG", 1],
  modbus_slots: ["SLOT", 1],
  modbus_mapping: ["m", 1],
  modbus_names: ["m", 1],
  modbus_writes: ["WRITE", 1],
  "variables.strings": ["STRING", 0],
};

// The label of the thing that a setting belongs to; a rule by its place. "" where there is none.
/** @param {string} path */
export function thingOfSetting(path) {
  const [, weather] = /^weather\.([thp]1)_/.exec(path) ?? [];
  if (weather) return weather.toUpperCase();
  const [, list = "", place] = /^([^\d]+)\.(\d+)(?:\.|$)/.exec(path) ?? [];
  if (list === "rules") return `rules.${place}`;
  const [prefix, first] = PLACES_OF[list] ?? [];
  return prefix ? `${prefix}${Number(place) + Number(first)}` : "";
}

/** @typedef {{ path: string, old?: unknown, new?: unknown }} SettingChange */

// A list of texts is one setting. Where its places are things, its change is one of each thing that
// differs.
/** @template {SettingChange} T @param {T} change @returns {T[]} */
export function changesOfThings(change) {
  const { path, old, new: now } = change;
  if (!(path in PLACES_OF) || !Array.isArray(old) || !Array.isArray(now)) return [change];
  return now.flatMap((one, place) =>
    one === old[place] ? [] : [{ ...change, path: `${path}.${place}`, old: old[place], new: one }],
  );
}

// Seconds; a setting with this unit; settings whose numbers are hundredths.
const SECONDS = new Set([
  ...["return_time", "on_time", "off_time", "start_delay", "change_time", "bistable_time"],
  ...["display_time", "refresh", "interval", "timeout", "length", "wait", "delay", "http_period"],
  ...["on_delay", "off_delay"],
]);
/** @type {Record<string, string>} */
const UNITS = { duty: "%", offset: "°C", altitude: "m", calibration: "mV", frequency: "kHz" };
// Stands for a secret.
const MASK = "***";
// The ID of a position without a sensor.
const NO_SENSOR = /^(00:){7}00$/;
const HUNDREDTHS = ["pid.kp", "pid.ki", "pid.kd"];

// Codes without words of their own.
const CHOSEN = ["compare", "compare2", "operator", "type", "module"];
/** @type {Record<string, string>} */
const SIGNS = { ">=": "≥", "-": "–" };
const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

// To what something is switched.
const SWITCHING = ["rules.value", "schedule.value"];

/** @param {number} seconds */
const timeOfDay = (seconds) =>
  [seconds / 3600, (seconds / 60) % 60]
    .map((part) => String(Math.floor(part)).padStart(2, "0"))
    .join(":");

/** @param {string} path */
function partsOf(path) {
  const isNumber = (/** @type {string} */ part) => /^\d+$/.test(part);
  const parts = path.split(".");
  const names = parts.filter((part) => !isNumber(part));
  const places = parts.filter(isNumber).map((place) => Number(place) + 1);
  const [section] = names;
  const page = IN_ACCOUNTS.includes(path) ? "accounts" : PAGES[section];
  return { section, leaf: String(names.at(-1)), places, page };
}

// The page that sets it; undefined where this setting is newer than these words.
/** @param {string} path @returns {string | undefined} */
export const pageOfSetting = (path) => partsOf(path).page;

/** @param {string[]} paths */
export function settingWords(paths) {
  const pages = new Set(paths.map((path) => partsOf(path).page));
  return Promise.all([...pages].filter(Boolean).map(fetchWords));
}

// "Pump · Switch off automatically after"; the path where this setting is newer than these words.
/** @param {Context} context @param {string} path */
export function settingName(context, path) {
  const { section, leaf, places, page } = partsOf(path);
  if (!page) return path;
  const label = wordIn(page, KEYS[`${section}.${leaf}`] ?? leaf);
  const [place, inner] = places;
  const thing = thingOfSetting(path);
  // Of a list that is no thing: by the place in it.
  const owner = thing ? ownerName(context, thing) : [t(`page_${page}`), place].join(" ").trim();
  if (!label) return leaf === section ? owner : path;
  // Some labels name the place themselves: "SMS1: the rule begins to act".
  const text = label.replace("{number}", String(place));
  return `${owner} · ${[text, inner].join(" ").trim()}`;
}

/** @param {Context} context @param {string} label */
function ownerName(context, label) {
  const [, rule] = /^rules\.(\d+)$/.exec(label) ?? [];
  if (!rule) return thingName(context, label);
  const number = Number(rule) + 1;
  return context.settings?.rules[number - 1]?.name || t("rule_number", { number });
}

// Longer lists, such as the 79 places of the panel, are cut.
const MOST_ENTRIES = 8;

/** @param {Context} context @param {string} path @param {unknown} value @returns {string} */
export function valueText(context, path, value) {
  const { section, leaf } = partsOf(path);
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return t(value ? "state_on" : "state_off");
  if (typeof value === "number" && SECONDS.has(leaf)) return durationText(value);
  if (`${section}.${leaf}` === "schedule.time") return timeOfDay(Number(value));
  if (SWITCHING.includes(`${section}.${leaf}`) && (value === 0 || value === 1)) {
    return t(value ? "state_on" : "state_off");
  }
  if (typeof value === "number") {
    const number = HUNDREDTHS.includes(`${section}.${leaf}`) ? value / 100 : value;
    return `${numberText(number)} ${UNITS[leaf] ?? ""}`.trim();
  }
  if (Array.isArray(value)) {
    const begin = value.slice(0, MOST_ENTRIES).map((one) => valueText(context, path, one));
    return [...begin, ...(value.length > MOST_ENTRIES ? ["…"] : [])].join(", ");
  }
  if (typeof value !== "string") return JSON.stringify(value);
  if (value === MASK) return "•••";
  if (NO_SENSOR.test(value)) return "–";
  if (kindOf(value).kind && leaf !== "name") return thingName(context, value);
  if (WEEKDAYS.includes(value) && leaf === "days") return weekdayName(WEEKDAYS.indexOf(value));
  if (CHOSEN.includes(leaf)) return SIGNS[value] ?? code(value);
  return isCode(value) && leaf !== "name" ? codeName(context, value) : `“${value}”`;
}

// The journal keeps texts and lists as JSON, which may be cut: then it stays as it is.
/** @param {SettingChange} change @returns {SettingChange} */
export function parseChange({ path, ...values }) {
  const parsed = Object.entries(values).map(([name, value]) => [name, parseValue(value)]);
  return { path, ...Object.fromEntries(parsed) };
}

/** @param {unknown} value */
function parseValue(value) {
  try {
    return typeof value === "string" ? JSON.parse(value) : value;
  } catch {
    return value;
  }
}

// For settings of a controller that is not the page's own: its things are called what is known of
// it, or what they are.

/** @param {Record<string, string>} [names] by label @returns {Context} */
export const contextOf = (names = {}) =>
  /** @type {Context} */ (
    /** @type {unknown} */ ({
      overview: {
        name: (/** @type {string} */ label) => names[label] ?? "",
        isInverted: () => false,
      },
      settings: null,
    })
  );
