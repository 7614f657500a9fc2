// Messages: the ways in which the controller tells others, and what became of what it said.

import { findPage } from "../lib/navigation.js";
import { PartsPage } from "../lib/parts.js";
import { t } from "../lib/words.js";

/** @param {boolean} on */
const word = (on) => t(on ? "state_on" : "state_off");

/** @type {Record<string, (context: AdminContext) => string>} */
const STATES = {
  email: ({ settings: { email } }) => [email.host, email.recipient].filter(Boolean).join(" → "),
  http: ({ settings: { http } }) => http.flatMap(({ url }) => (url ? [url] : [])).join(", "),
  gsm: ({ live }) => live.state.modem?.operator ?? "",
  mqtt: ({ settings: { mqtt } }) => (mqtt.enabled ? mqtt.host : word(false)),
  snmp: ({ settings: { snmp } }) => word(snmp.enabled),
};

export class Page extends PartsPage {
  /** @param {Context} context */
  constructor(context) {
    super(context, /** @type {PageEntry} */ (findPage("messages")), STATES);
  }
}
