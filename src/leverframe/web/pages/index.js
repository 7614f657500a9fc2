// The one list of pages, in the order of the navigation. Title: `page_NAME` of words/frame.json.
//
// name    the route `#/NAME`, the module pages/NAME.js and the words words/NAME.json
// group   where it stands in the navigation; `group_NAME` of words/frame.json
// role    who may open it: "control" is everybody who may look and switch
// early   the page can be drawn before the commands and the words of code lists are there
// bare    the page needs no visible heading
// needs   a command without which the page makes no sense in this version
// simulated   only where the board is simulated

/** @type {PageEntry[]} */
export const PAGES = [
  { name: "status", group: "status", role: "control", early: true, bare: true },
  { name: "panel", group: "panel", role: "control", bare: true },
  { name: "charts", group: "charts", role: "control", bare: true },
  { name: "rules", group: "rules", role: "admin" },
  { name: "schedule", group: "schedule", role: "admin" },
  { name: "analog", group: "inputs", role: "admin" },
  { name: "digital", group: "inputs", role: "admin" },
  { name: "differential", group: "inputs", role: "admin" },
  { name: "energy", group: "inputs", role: "admin" },
  { name: "variables", group: "inputs", role: "admin" },
  { name: "outputs", group: "outputs", role: "admin" },
  { name: "pwm", group: "outputs", role: "admin" },
  { name: "pid", group: "outputs", role: "admin" },
  { name: "watchdog", group: "outputs", role: "admin" },
  { name: "display", group: "outputs", role: "admin" },
  { name: "onewire", group: "buses", role: "admin" },
  { name: "i2c", group: "buses", role: "admin" },
  { name: "weather", group: "buses", role: "admin" },
  { name: "serial", group: "buses", role: "admin" },
  { name: "gsm", group: "buses", role: "admin" },
  { name: "modbus", group: "buses", role: "admin" },
  { name: "modbus_devices", group: "buses", role: "admin", needs: "mod_custom_save" },
  { name: "modbus_writes", group: "buses", role: "admin" },
  { name: "email", group: "notify", role: "admin" },
  { name: "http", group: "notify", role: "admin" },
  { name: "mqtt", group: "notify", role: "admin" },
  { name: "snmp", group: "notify", role: "admin" },
  { name: "outbox", group: "notify", role: "admin" },
  { name: "interface", group: "system", role: "admin" },
  { name: "accounts", group: "system", role: "control" },
  { name: "backup", group: "system", role: "admin" },
  { name: "firmware", group: "system", role: "admin" },
  { name: "log", group: "system", role: "admin" },
  { name: "simulation", group: "system", role: "admin", simulated: true },
  { name: "console", group: "system", role: "admin" },
];

// Beside the navigation: where a phone finds all that its bar has no room for.
export const MORE = { name: "more", group: "more", role: "control", wordless: true };

// The bar at the bottom of a phone.
export const PHONE_GROUPS = ["status", "panel", "rules"];

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
