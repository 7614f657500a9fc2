// The lists of things: which kinds stand in each, what is free to be added, and where that is set
// which concerns all of a list.

import { html, nothing } from "../../vendor/lit-html.js";
import { fetchWords, speaking } from "../../lib/format/words.js";
import { Form } from "../../lib/forms/form.js";
import { kindOf } from "../../lib/things/things.js";

/**
 * @typedef {object} List
 * @property {string} name the rest of a key `list_...`
 * @property {string[]} kinds
 * @property {string} [needs] a command without which nothing can be added
 * @property {(settings: Settings) => string | null} [free] the label of the first that is not used
 * @property {string[]} [common] modules of settings/ with what concerns all
 * @property {boolean} [isFound] new ones are found by what concerns all
 */

/** @type {List[]} */
export const LISTS = [
  { name: "outputs", kinds: ["output"], common: ["outputs"] },
  { name: "pwm", kinds: ["pwm"], common: ["pwm"] },
  { name: "digital", kinds: ["digital"], common: ["digital"] },
  {
    name: "analog",
    kinds: ["analog"],
    free: ({ analog_inputs: inputs }) => place("INPA", inputs, ({ sensor }) => sensor === "off"),
  },
  {
    name: "sensors",
    kinds: [
      ...["onewire", "temperature", "humidity", "pressure", "dewpoint", "co2", "particles"],
      ...["distance", "board", "supply"],
    ],
    common: ["onewire", "i2c", "serial"],
    isFound: true,
  },
  {
    name: "differential",
    kinds: ["differential"],
    free: ({ differentials }) =>
      place("DIFF", differentials, ({ first, second }) => first === second),
  },
  {
    name: "meters",
    kinds: ["meter"],
    free: ({ power }) => place("POWER", power, ({ name }) => name === ""),
    common: ["energy"],
  },
  {
    name: "devices",
    kinds: ["device"],
    free: ({ modbus_slots: slots }) => place("SLOT", slots, ({ module }) => module === "OFF"),
  },
  {
    name: "mapped",
    kinds: ["mapped"],
    needs: "modbusmapping",
    free: ({ modbus_mapping: mapping }) => place("m", mapping, ({ slot }) => slot === 0),
  },
  {
    name: "writes",
    kinds: ["write"],
    needs: "mod_write_set<A>",
    free: ({ modbus_writes: writes }) => place("WRITE", writes, ({ slot }) => slot === 0),
  },
  {
    name: "watchdog",
    kinds: ["watchdog"],
    needs: "wdog1",
    free: ({ watchdog }) => place("WDOG", watchdog, ({ host }) => host === ""),
  },
  {
    name: "variables",
    kinds: ["variable"],
    needs: "eventname",
    free: ({ event_variables: variables }) =>
      place("EVENT", variables, ({ name }) => name === ""),
  },
  {
    name: "texts",
    kinds: ["text"],
    needs: "string<A>",
    free: ({ variables }) => place("STRING", variables.strings, (text) => text === "", 0),
    common: ["variables"],
  },
];

/**
 * @template T
 * @param {string} prefix
 * @param {T[]} all
 * @param {(one: T) => boolean} isFree
 * @param {number} [first]
 */
function place(prefix, all, isFree, first = 1) {
  const index = all.findIndex(isFree);
  return index < 0 ? null : `${prefix}${index + first}`;
}

/** @param {string | null} kind */
export const listOf = (kind) => LISTS.find(({ kinds }) => kinds.includes(kind ?? ""));

// Where that is set which concerns all of a list; null where there is nothing.
/** @param {List | undefined} list */
export const commonOf = (list) => (list?.common ? `all-${list.name}` : null);

// The settings in a drawer: those of a thing by its kind, or what concerns all of a list. Each
// module of `settings/` has the words of the same name.

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
  account: "accounts",
};
// Kinds of which older versions have fewer -> their rows in the settings.
/** @type {Record<string, "differentials" | "power" | "modbus_slots">} */
const ROWS = { differential: "differentials", meter: "power", device: "modbus_slots" };
// Numbers of terminals are counted from 1, but those of outputs.
const FROM_0 = ["output", "pwm", "text", "account"];

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
  return modules.flatMap(({ cardsOf, commonOf: cardsOfAll }, at) => {
    const cards = isCommon ? cardsOfAll(context, more) : cardsOf(context, { index, label, more });
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
