// The settings in a drawer: those of a thing by its kind, or what concerns all of a list. Each
// module of `settings/` has the words of the same name.

import { html, nothing } from "../../vendor/lit-html.js";
import { Form } from "../../lib/form.js";
import { kindOf } from "../../lib/things.js";
import { fetchWords, speaking } from "../../lib/words.js";
import { LISTS } from "./lists.js";

// Kind -> its module.
/** @type {Record<string, string>} */
export const MODULES = {
  output: "outputs",
  pwm: "pwm",
  digital: "digital",
  analog: "analog",
  differential: "differential",
  onewire: "onewire",
  temperature: "weather",
  humidity: "weather",
  pressure: "weather",
  mapped: "modbus",
  meter: "energy",
  variable: "variables",
  watchdog: "watchdog",
  device: "modbus",
  write: "modbus_writes",
  text: "variables",
};
// Kinds of which older versions have fewer -> their rows in the settings.
/** @type {Record<string, "differentials" | "power" | "modbus_slots">} */
const ROWS = { differential: "differentials", meter: "power", device: "modbus_slots" };
// Numbers of terminals are counted from 1, but those of outputs.
const FROM_0 = ["output", "pwm", "text"];

/** @param {string} name @returns {Promise<SettingsModule>} */
async function load(name) {
  const [module] = await Promise.all([import(`../../settings/${name}.js`), fetchWords(name)]);
  return module;
}

// The cards, each with whose words it speaks.
/** @param {AdminContext} context @param {string} label @param {MoreOfForm} more */
async function cardsFor(context, label, more) {
  const { kind, number } = kindOf(label);
  const isCommon = kind === "all";
  const list = isCommon ? LISTS.find(({ name }) => name === number) : null;
  const names = isCommon ? list?.common ?? [] : [MODULES[kind ?? ""]].filter(Boolean);
  const index = Number(number) - (FROM_0.includes(kind ?? "") ? 0 : 1);
  const rows = ROWS[kind ?? ""];
  if (rows && index >= context.settings[rows].length) return [];
  const modules = await Promise.all(names.map(load));
  return modules.flatMap(({ cardsOf, commonOf }, at) => {
    const cards = isCommon ? commonOf(context, more) : cardsOf(context, { index, label, more });
    return cards.map((card) => ({ words: names[at], card }));
  });
}

/** @param {AdminContext} context @param {string} label @param {MoreOfForm} more */
export async function settingsOf(context, label, more) {
  const cards = await cardsFor(context, label, more);
  return {
    forms: cards.flatMap(({ card }) => (card instanceof Form ? [card] : [])),
    open: () => Promise.all(cards.map(({ card }) => card.open?.())),
    close: () => cards.forEach(({ card }) => card.close?.()),
    view: () =>
      cards.map(({ words, card }) => {
        const drawn = speaking(words, () => card.view());
        return drawn === nothing ? nothing : html`<section>${drawn}</section>`;
      }),
  };
}
