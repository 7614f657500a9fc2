// A changed setting in words: its thing or page, the label of its field, and values as people write
// them. Labels are those of the form that sets it.

import { durationText } from "./durations.js";
import { kindOf, thingName } from "./things.js";
import { code, currentLanguage, fetchWords, known, t } from "./words.js";

/** @type {Record<string, string>} */
const PAGES = {
  ...{ outputs: "outputs", output_flags: "outputs", pwm: "pwm", pwm_frequency: "pwm", pid: "pid" },
  ...{ analog_inputs: "analog", digital_inputs: "digital", impulse_time: "digital" },
  ...{ differentials: "differential", onewire: "onewire", onewire_extra: "onewire" },
  ...{ weather: "weather", i2c: "i2c", serial: "serial", gsm: "gsm", email: "email" },
  ...{ modbus_slots: "modbus", modbus_mapping: "modbus", modbus_tcp: "modbus" },
  ...{ modbus_devices: "modbus_devices", modbus_writes: "modbus_writes", power: "energy" },
  ...{ energy_remember: "energy", event_variables: "variables", variables: "variables" },
  ...{ oled: "display", ui: "interface", name: "interface", timezone: "interface" },
  ...{ layout: "panel", watchdog: "watchdog", http: "http", http_period: "http" },
  ...{ http_double_percent: "http", mqtt: "mqtt", snmp: "snmp", access: "accounts" },
  ...{ rules: "rules", schedule: "schedule" },
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
  ...{ "modbus_devices.stop_bit": "stop_bits", "modbus_devices.unit": "column_unit" },
  ...{ "modbus_devices.divisor": "column_divisor", "modbus_devices.type": "column_type" },
  ...{ "modbus_devices.register": "column_register", "modbus_devices.endian": "column_endian" },
  ...{ "modbus_devices.function": "column_function", "ui.user_read_only": "read_only" },
  ...{ "ui.language": "pages_language", "oled.lines": "general", "ui.first_run": "page_firstrun" },
  ...{ "ui.firmware_check": "page_firmware", "layout.top": "arrange", "layout.left": "arrange" },
  ...{ "layout.visible": "arrange", "watchdog.enabled": "watch", "timezone.timezone": "clock" },
  ...{ "watchdog.failures": "failures_allowed", "watchdog.delay": "start_delay" },
  ...{ "http_period.http_period": "period", "http_double_percent.http_double_percent": "double" },
  ...{ "mqtt.discovery": "discovery_topic", "access.updates_allowed": "updates" },
  ...{ "rules.compare": "comparison", "rules.compare2": "comparison", "rules.source2": "source" },
  ...{ "rules.reference2": "reference", "rules.hysteresis2": "hysteresis" },
  ...{ "rules.enabled": "setting_active" },
  ...{ "rules.operator": "second_condition", "schedule.action": "entry_action" },
  ...{ "schedule.value": "entry_value", "schedule.time": "time_of_day" },
  ...{ "schedule.days": "weekdays", "schedule.periodic": "repeats" },
};

// Seconds; a setting with this unit; settings whose numbers are hundredths.
const SECONDS = new Set([
  ...["return_time", "on_time", "off_time", "start_delay", "change_time", "bistable_time"],
  ...["display_time", "refresh", "interval", "timeout", "length", "wait", "delay", "http_period"],
  ...["on_delay", "off_delay"],
]);
/** @type {Record<string, string>} */
const UNITS = { duty: "%", offset: "°C", altitude: "m", calibration: "mV", frequency: "kHz" };
const HUNDREDTHS = ["pid.kp", "pid.ki", "pid.kd"];

/** @param {string} path */
function partsOf(path) {
  const names = path.split(".").filter((part) => !/^\d+$/.test(part));
  const [section] = names;
  return { section, leaf: String(names.at(-1)), page: PAGES[section] };
}

/** @param {string[]} paths */
export function settingWords(paths) {
  const pages = new Set(paths.map((path) => partsOf(path).page));
  return Promise.all([...pages].filter(Boolean).map(fetchWords));
}

// "Pump · Off by itself after"; the path where this setting is newer than these words.
/** @param {string} path @param {string} owner the name of its thing; "" where it has none */
export function settingName(path, owner) {
  const { section, leaf, page } = partsOf(path);
  const label = page ? known(page, KEYS[`${section}.${leaf}`] ?? leaf) : null;
  return label ? `${owner || t(`page_${page}`)} · ${label}` : path;
}

/** @param {Context} context @param {string} path @param {unknown} told */
export function settingValue(context, path, told) {
  const { section, leaf } = partsOf(path);
  const value = parsed(told);
  if (typeof value === "boolean") return t(value ? "state_on" : "state_off");
  if (typeof value === "number" && SECONDS.has(leaf)) return durationText(value);
  if (typeof value === "number") {
    const number = HUNDREDTHS.includes(`${section}.${leaf}`) ? value / 100 : value;
    return `${numberText(number)} ${UNITS[leaf] ?? ""}`.trim();
  }
  if (typeof value !== "string") return String(told);
  if (kindOf(value).kind && leaf !== "name") return thingName(context, value);
  const word = code(value);
  return word === value ? `“${value}”` : word;
}

// Texts come as JSON; what was cut is none.
/** @param {unknown} told */
function parsed(told) {
  try {
    return typeof told === "string" ? JSON.parse(told) : told;
  } catch {
    return told;
  }
}

// A number as people write it, with the digits that it has.
/** @param {unknown} value */
export function numberText(value) {
  const text = typeof value === "number" ? String(Number(value.toPrecision(10))) : String(value);
  return currentLanguage() === "en" ? text : text.replace(".", ",");
}
