// The lists of things: which kinds stand in each, what is free to be added, and where that is set
// which concerns all of a list.

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
