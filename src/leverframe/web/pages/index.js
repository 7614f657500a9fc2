// The one list of pages, in the order of the navigation. Title: `page_NAME` of words/frame.json.
//
// name    the route `#/NAME`, the module pages/NAME.js and the words words/NAME.json
// group   where it stands in the navigation; `group_NAME` of words/frame.json
// parts   groups of settings that open on it: modules settings/NAME.js
// role    who may open it: "control" is every account
// styles  the style sheets styles/NAME.css that it needs besides those of all pages
// early   the page can be drawn before the commands and the words of code lists are there
// bare    the page needs no visible heading
// alone   it stands without header and navigation
// timed   times stand on it: it says whose they are, where the reader's clock shows others
// simulated   only where the board is simulated

/** @type {PageEntry[]} */
export const PAGES = [
  { name: "status", group: "status", role: "control", early: true, bare: true, timed: true },
  {
    name: "timeline",
    group: "timeline",
    role: "control",
    bare: true,
    timed: true,
    styles: ["timeline"],
  },
  { name: "log", group: "log", role: "admin", timed: true },
  { name: "charts", group: "charts", role: "control", timed: true },
  { name: "rules", group: "rules", role: "admin", timed: true, styles: ["bench", "rules"] },
  {
    name: "schedule",
    group: "schedule",
    role: "admin",
    timed: true,
    styles: ["rules", "schedule"],
  },
  { name: "things", group: "things", role: "control", timed: true, styles: ["things"] },
  { name: "pid", group: "things", role: "admin", timed: true, styles: ["pid"] },
  { name: "panel", group: "panel", role: "control" },
  {
    name: "messages",
    group: "messages",
    role: "admin",
    wordless: true,
    styles: ["overview"],
    parts: ["email", "gsm", "http", "mqtt", "snmp", "outbox"],
  },
  {
    name: "system",
    group: "system",
    role: "control",
    wordless: true,
    styles: ["overview"],
    parts: [
      ...["interface", "accounts", "certificate"],
      ...["display", "modbus_server", "storage", "backup", "firmware"],
    ],
  },
  {
    name: "simulation",
    group: "system",
    role: "admin",
    simulated: true,
    timed: true,
    styles: ["bench"],
  },
  { name: "console", group: "system", role: "admin", styles: ["bench", "console"] },
];

// Beside the navigation: where a phone finds all that its bar has no room for.
/** @type {PageEntry} */
export const MORE = {
  name: "more",
  group: "more",
  role: "control",
  wordless: true,
  styles: ["overview"],
};

// Beside it, too: offered by Status while it is not finished. It stands alone, without a frame.
/** @type {PageEntry} */
export const FIRST_RUN = {
  name: "firstrun",
  group: "system",
  role: "admin",
  bare: true,
  alone: true,
  styles: ["firstrun"],
};

// The bar at the bottom of a phone.
export const PHONE_GROUPS = ["status", "timeline", "rules", "things"];

// Pages of earlier versions that people may have noted, and what has their settings now: the page,
// and the drawer that opens over it.
/** @type {Record<string, Params>} */
const IN_THINGS = {
  outputs: { thing: "all-outputs" },
  pwm: { thing: "all-pwm" },
  digital: { thing: "all-digital" },
  energy: { thing: "all-meters" },
  variables: { thing: "all-texts" },
  onewire: { thing: "all-sensors" },
  i2c: { thing: "all-sensors" },
  serial: { thing: "all-sensors" },
  weather: {},
  watchdog: {},
  analog: {},
  differential: {},
  modbus: {},
  modbus_devices: {},
  modbus_writes: {},
};

/** @param {string} name @returns {{ page: string, params: Params } | null} */
export function findMoved(name) {
  if (name in IN_THINGS) return { page: "things", params: IN_THINGS[name] };
  const page = PAGES.find(({ parts }) => parts?.includes(name));
  return page ? { page: page.name, params: { open: name } } : null;
}

// What the setting "homepage" calls them.
/** @type {Record<string, string>} */
export const HOMEPAGES = {
  Status: "status",
  "Status for user": "panel",
  "Serial Port": "serial",
  Modbus: "modbus",
};

/** @param {string} name @returns {Promise<{ Page: new (context: Context) => Page }>} */
export const load = (name) => import(`./${name}.js`);
