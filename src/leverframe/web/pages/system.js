// System: what belongs to no thing.

import { t } from "../lib/format/words.js";
import { findPage } from "../lib/frame/frame.js";
import { PartsPage } from "../lib/frame/parts.js";
import { stateWord } from "../lib/things/labels.js";

/** @type {Record<string, (context: AdminContext) => string>} */
const STATES = {
  interface: ({ settings }) => settings.name,
  // Only a controller that no other machine can reach is open without an account.
  accounts: ({ settings, overview }) =>
    t(settings.access.required || overview.accountName ? "state_signed_in" : "state_no_sign_in"),
  display: ({ settings }) => stateWord(settings.oled.enabled),
  modbus_server: ({ settings }) => stateWord(settings.modbus_tcp.enabled),
  firmware: ({ settings: { profile } }) => `HW ${profile.hw} SW ${profile.sw}`,
};

export class Page extends PartsPage {
  /** @param {Context} context */
  constructor(context) {
    super(context, /** @type {PageEntry} */ (findPage("system")), STATES);
  }
}
