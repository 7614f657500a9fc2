// The states in the overviews of Messages, System and More: what is set up, and what it does.

import { serverText, t } from "../../lib/format/words.js";
import { NO_STATE } from "../../lib/frame/overview.js";
import { numberRules } from "../../lib/live/tree.js";
import { findingsOf } from "../../lib/things/findings.js";
import { stateWord } from "../../lib/things/labels.js";
import { STATES } from "../../lib/things/messages.js";
import { accountsOf, things } from "../../lib/things/things.js";

/** @import { RowState } from "../../lib/frame/overview.js" */
/** @typedef {Outbox["channels"][string]} Figures */
/** @typedef {(context: AdminContext) => RowState} StateOf */

/** @returns {RowState} */
const notSetUp = () => ({ text: t("state_not_set_up"), kind: "off" });

/** @param {boolean} on @returns {RowState} */
const onOrOff = (on) => ({ text: stateWord(on), kind: on ? undefined : "off" });

/** @param {(string | null | undefined)[]} parts */
const join = (parts) => parts.filter(Boolean).join(" · ");

// Messages

// Where a channel sends to; "" where it is not set up.
/** @type {Record<string, (context: AdminContext) => string>} */
const TARGETS = {
  email: ({ settings: { email } }) => [email.host, email.recipient].filter(Boolean).join(" → "),
  gsm: ({ live }) => live.state.modem?.operator ?? "",
  http: ({ settings: { http } }) => http.map(({ url }) => url).filter(Boolean).join(", "),
  mqtt: ({ settings: { mqtt } }) => (mqtt.enabled ? mqtt.host : ""),
  snmp: ({ settings: { snmp } }) => (snmp.enabled ? stateWord(true) : ""),
};
// The channels of the outbox that belong to them.
/** @type {Record<string, RegExp>} */
const CHANNELS = { email: /^email$/, gsm: /^sms$/, http: /^http/, mqtt: /^mqtt$/, snmp: /^snmp$/ };

// `outbox` gives what was sent and failed; null before it was read.
/** @param {() => Outbox | null} outbox @returns {Record<string, StateOf>} */
export function channelStates(outbox) {
  const states = Object.keys(TARGETS).map((name) => {
    /** @type {StateOf} */
    const stateOf = (context) => {
      const channels = outbox()?.channels ?? {};
      const own = Object.entries(channels).filter(([channel]) => CHANNELS[name].test(channel));
      return channelState(TARGETS[name](context), own.map(([, figures]) => figures));
    };
    return [name, stateOf];
  });
  /** @type {StateOf} */
  const all = () => deliveredState("", Object.values(outbox()?.channels ?? {}));
  return { ...Object.fromEntries(states), outbox: all };
}

/** @param {string} target @param {Figures[]} figures @returns {RowState} */
function channelState(target, figures) {
  return target === "" ? notSetUp() : deliveredState(target, figures);
}

// A problem comes before the numbers: with it nothing is sent.
/** @param {string} target @param {Figures[]} figures @returns {RowState} */
function deliveredState(target, figures) {
  const problem = figures.map((one) => one.problem).find(Boolean);
  if (problem) return { text: join([target, serverText(problem)]), kind: "attention" };
  const counts = STATES.map((state) => ({
    state,
    count: figures.reduce((sum, one) => sum + one[state], 0),
  })).filter(({ count }) => count > 0);
  if (counts.length === 0) return target ? { text: target } : { text: t("none_sent"), kind: "off" };
  const texts = counts.map(({ state, count }) => t(`count_${state}`, { count }));
  const hasFailed = counts.some(({ state }) => state === "failed");
  return { text: join([target, ...texts]), kind: hasFailed ? "attention" : undefined };
}

// System

/** @type {Record<string, StateOf>} */
export const SYSTEM_STATES = {
  interface: ({ settings }) => ({ text: join([settings.name, settings.timezone]) }),
  accounts: (context) => ({ text: join([signInText(context), countAccounts(context)]) }),
  display: ({ settings }) => onOrOff(settings.oled.enabled),
  modbus_server: ({ settings }) => onOrOff(settings.modbus_tcp.enabled),
  storage: () => ({ text: t("storage_note"), kind: "off" }),
  backup: () => ({ text: t("backup_note"), kind: "off" }),
  firmware: ({ settings: { profile } }) => ({ text: `HW ${profile.hw} SW ${profile.sw}` }),
};

// Only a controller that no other machine can reach is open without an account.
/** @param {AdminContext} context */
const signInText = ({ settings, overview }) =>
  t(settings.access.required || overview.accountName ? "state_signed_in" : "state_no_sign_in");

/** @param {AdminContext} context */
const countAccounts = ({ settings }) =>
  t("count_accounts", { count: accountsOf(settings).filter((one) => one?.name).length });

// More

/** @type {Record<string, (context: Context) => string>} */
const PAGE_STATES = {
  status: (context) => (findingsOf(context).length === 0 ? t("no_findings") : ""),
  rules: ({ settings }) => countText("count_rules", numberRules(settings?.rules).length),
  schedule: ({ settings }) =>
    countText("count_entries", (settings?.schedule ?? []).filter(Boolean).length),
  things: (context) => countText("count_things", things(context).length),
};

/** @param {string} key @param {number} count */
const countText = (key, count) => (count > 0 ? t(key, { count }) : "");

// While the connection is lost, nothing is claimed.
/** @param {Context} context @param {string} page @returns {RowState} */
export const pageState = (context, page) =>
  context.live.connection === "lost"
    ? NO_STATE
    : { text: PAGE_STATES[page]?.(context) ?? "", kind: "off" };
