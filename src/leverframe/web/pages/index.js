// The one list of pages, in the order of the navigation. Title: `page_NAME` of words/frame.json.
//
// name    the route `#/NAME`, the module pages/NAME.js and the words words/NAME.json
// group   where it stands in the navigation; `group_NAME` of words/frame.json
// part    pages of one group that belong together
// role    who may open it: "control" is everybody who may look and switch
// styles  the style sheets styles/NAME.css that it needs besides those of all pages
// early   the page can be drawn before the commands and the words of code lists are there
// bare    the page needs no visible heading
// alone   it stands without header and navigation
// needs   a command without which the page makes no sense in this version
// simulated   only where the board is simulated

/** @type {PageEntry[]} */
export const PAGES = [
  { name: "status", group: "status", role: "control", early: true, bare: true },
  { name: "timeline", group: "timeline", role: "control", bare: true, styles: ["timeline"] },
  { name: "charts", group: "charts", role: "control", bare: true },
  { name: "rules", group: "rules", role: "admin", styles: ["bench", "rules"] },
  { name: "schedule", group: "schedule", role: "admin", styles: ["rules", "schedule"] },
  { name: "things", group: "things", role: "control" },
  { name: "outputs", group: "things", part: "outputs", role: "admin" },
  { name: "pwm", group: "things", part: "outputs", role: "admin" },
  { name: "pid", group: "things", part: "outputs", role: "admin", styles: ["pid"] },
  { name: "watchdog", group: "things", part: "outputs", role: "admin" },
  { name: "display", group: "things", part: "outputs", role: "admin" },
  { name: "analog", group: "things", part: "inputs", role: "admin" },
  { name: "digital", group: "things", part: "inputs", role: "admin" },
  { name: "differential", group: "things", part: "inputs", role: "admin" },
  { name: "energy", group: "things", part: "inputs", role: "admin" },
  { name: "variables", group: "things", part: "inputs", role: "admin" },
  { name: "onewire", group: "things", part: "buses", role: "admin" },
  { name: "i2c", group: "things", part: "buses", role: "admin" },
  { name: "weather", group: "things", part: "buses", role: "admin" },
  { name: "serial", group: "things", part: "buses", role: "admin" },
  { name: "modbus", group: "things", part: "buses", role: "admin" },
  {
    name: "modbus_devices",
    group: "things",
    part: "buses",
    role: "admin",
    needs: "mod_custom_save",
  },
  { name: "modbus_writes", group: "things", part: "buses", role: "admin" },
  { name: "panel", group: "panel", role: "control", bare: true },
  { name: "email", group: "messages", role: "admin" },
  { name: "http", group: "messages", role: "admin" },
  { name: "mqtt", group: "messages", role: "admin" },
  { name: "gsm", group: "messages", role: "admin" },
  { name: "snmp", group: "messages", role: "admin" },
  { name: "outbox", group: "messages", role: "admin" },
  { name: "interface", group: "system", role: "admin" },
  { name: "accounts", group: "system", role: "control" },
  { name: "backup", group: "system", role: "admin" },
  { name: "firmware", group: "system", role: "admin" },
  { name: "log", group: "system", role: "admin" },
  { name: "simulation", group: "system", role: "admin", simulated: true, styles: ["bench"] },
  { name: "console", group: "system", role: "admin", styles: ["bench", "console"] },
];

// Beside the navigation: where a phone finds all that its bar has no room for.
export const MORE = { name: "more", group: "more", role: "control", wordless: true };

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
