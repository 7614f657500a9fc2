// Messages: the channels of the controller, and the results of its messages.

import { t } from "../lib/format/words.js";
import { findPage } from "../lib/frame/frame.js";
import { PartsPage } from "../lib/frame/parts.js";
import { stateWord } from "../lib/things/labels.js";

/** @param {(string | null | undefined)[]} parts @param {string} between */
const joinNames = (parts, between) => parts.filter(Boolean).join(between) || t("state_not_set_up");

/** @type {Record<string, (context: AdminContext) => string>} */
const STATES = {
  email: ({ settings: { email } }) => joinNames([email.host, email.recipient], " → "),
  http: ({ settings: { http } }) => joinNames(http.map(({ url }) => url), ", "),
  gsm: ({ live }) => joinNames([live.state.modem?.operator], ""),
  mqtt: ({ settings: { mqtt } }) => (mqtt.enabled ? mqtt.host : stateWord(false)),
  snmp: ({ settings: { snmp } }) => stateWord(snmp.enabled),
};

export class Page extends PartsPage {
  /** @param {Context} context */
  constructor(context) {
    super(context, /** @type {PageEntry} */ (findPage("messages")), STATES);
  }
}
