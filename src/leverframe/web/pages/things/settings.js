// The settings of a thing by its kind: the fields of the page that has all of that kind, in the
// words of that page. What people set most stands open.

import { Form } from "../../lib/form.js";
import { kindOf } from "../../lib/things.js";
import { fetchWords, speaking } from "../../lib/words.js";

/**
 * @callback FieldsOf
 * @param {AdminContext} context
 * @param {string} label
 * @param {number} index
 * @returns {Promise<FieldSpec[]>}
 */
/**
 * @typedef {object} Kind
 * @property {string} page where all of this kind are set
 * @property {string[]} [opened] labels of the fields that people set most
 * @property {FieldsOf} [fields]
 * @property {(context: AdminContext) => Promise<Paths>} [paths]
 */

/** @typedef {{ fieldsOf(context: AdminContext, index: number): FieldSpec[] }} Module */

// Numbers of terminals are counted from 1, but those of outputs.
/** @param {() => Promise<Module>} load @returns {Kind["fields"]} */
const from = (load) => async (context, _, index) => (await load()).fieldsOf(context, index);

/** @type {Kind["fields"]} */
const weather = async (_, label) => (await import("../weather.js")).FIELDS[label] ?? [];

/** @type {Record<string, Kind>} */
const KINDS = {
  output: {
    page: "outputs",
    opened: ["name", "return_time"],
    fields: from(() => import("../outputs.js")),
  },
  pwm: { page: "pwm", opened: ["name", "duty"], fields: from(() => import("../pwm.js")) },
  digital: { page: "digital", opened: ["name"], fields: from(() => import("../digital.js")) },
  analog: {
    page: "analog",
    opened: ["name", "sensor"],
    fields: from(() => import("../analog.js")),
  },
  differential: { page: "differential", fields: from(() => import("../differential.js")) },
  onewire: {
    page: "onewire",
    opened: ["name", "offset"],
    fields: from(() => import("../onewire.js")),
  },
  temperature: { page: "weather", fields: weather },
  humidity: { page: "weather", fields: weather },
  pressure: { page: "weather", opened: ["name"], fields: weather },
  dewpoint: { page: "weather" },
  co2: { page: "i2c" },
  particles: { page: "i2c" },
  mapped: { page: "modbus" },
  meter: {
    page: "energy",
    opened: ["name", "current", "voltage"],
    fields: from(() => import("../energy.js")),
  },
  variable: {
    page: "variables",
    fields: async (_, __, index) => {
      const { nameField } = await import("../variables.js");
      return [{ ...nameField(index), label: "name" }];
    },
  },
  watchdog: {
    page: "watchdog",
    opened: ["watch", "host", "output"],
    fields: from(() => import("../watchdog.js")),
    paths: async (context) => (await import("../watchdog.js")).pathsOf(context),
  },
  device: {
    page: "modbus",
    opened: ["module", "slave_id"],
    fields: from(() => import("../modbus.js")),
  },
  text: {
    page: "variables",
    fields: async (_, __, index) => [{ command: "string<A>", at: { A: index }, label: "value" }],
  },
};
const FROM_0 = ["output", "pwm", "text"];

// The page that has all of a kind; null where there is none.
/** @param {string} label */
export const pageOf = (label) => KINDS[kindOf(label).kind ?? ""]?.page ?? null;

/**
 * @param {AdminContext} context
 * @param {string} label
 * @param {{ forms: Set<Unsaved & { restore(): void }>, requests: string[] }} more
 */
export async function settingsOf(context, label, more) {
  const { kind, number } = kindOf(label);
  const own = KINDS[kind ?? ""];
  if (!own?.fields) return null;
  const index = Number(number) - (FROM_0.includes(kind ?? "") ? 0 : 1);
  const [fields, paths] = await Promise.all([
    own.fields(context, label, index),
    own.paths?.(context),
    fetchWords(own.page),
  ]);
  const form = new Form(context, { title: "settings", fields, paths, opened: own.opened, ...more });
  return { form, view: () => speaking(own.page, () => form.view()) };
}
