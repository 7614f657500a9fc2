// System: what belongs to no thing.

import { findPage } from "../lib/navigation.js";
import { PartsPage } from "../lib/parts.js";
import { t } from "../lib/words.js";

/** @param {boolean} on */
const word = (on) => t(on ? "state_on" : "state_off");

/** @type {Record<string, (context: AdminContext) => string>} */
const STATES = {
  interface: ({ settings }) => settings.name,
  accounts: ({ settings }) =>
    t(settings.access.required ? "state_signed_in" : "state_no_sign_in"),
  display: ({ settings }) => word(settings.oled.enabled),
  modbus_server: ({ settings }) => word(settings.modbus_tcp.enabled),
  firmware: ({ settings: { profile } }) => `HW ${profile.hw} SW ${profile.sw}`,
};

export class Page extends PartsPage {
  /** @param {Context} context */
  constructor(context) {
    super(context, /** @type {PageEntry} */ (findPage("system")), STATES);
  }
}
