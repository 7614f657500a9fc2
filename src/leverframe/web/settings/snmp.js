// SNMP: the agent that answers questions, its SNMPv3 user, and who gets traps or informs.

import { nothing } from "../vendor/lit-html.js";
import { t } from "../lib/format/words.js";
import { Action } from "../lib/forms/action.js";
import { Form } from "../lib/forms/form.js";

/** @type {PartOf} */
export const partOf = (context) => [
  agentCard(context),
  userCard(context),
  trapCard(context),
  ...context.settings.snmp.more_traps.map((_, index) => moreTrapsCard(context, index)),
];

// A button that empties the secrets of a card; only where one is set.
/**
 * @param {AdminContext} context
 * @param {string} command
 * @param {() => (string | null)[]} secrets
 * @param {() => ByLetter} values
 */
function forgetting(context, command, secrets, values) {
  const action = new Action(context, {
    label: "forget",
    danger: "forget_danger",
    command,
    values,
  });
  return () => (secrets().every((secret) => secret === null) ? nothing : action.view());
}

/** @param {AdminContext} context */
function agentCard(context) {
  const snmp = () => context.settings.snmp;
  return new Form(context, {
    title: "agent",
    note: "agent_note",
    tail: forgetting(
      context,
      "snmp",
      () => [snmp().read_community, snmp().write_community],
      () => ({ A: snmp().enabled, B: "", C: "" }),
    ),
    fields: [
      { command: "snmp", letter: "A", label: "enabled" },
      { command: "snmp", letter: "B", label: "read_community", hint: "community_hint" },
      { command: "snmp", letter: "C", label: "write_community", hint: "community_hint" },
    ],
  });
}

/** @param {AdminContext} context */
function userCard(context) {
  const snmp = () => context.settings.snmp;
  return new Form(context, {
    title: "v3",
    note: "v3_note",
    tail: forgetting(
      context,
      "snmpv3",
      () => [snmp().authentication_key, snmp().privacy_key],
      () => ({ A: snmp().user, B: "", C: "" }),
    ),
    fields: [
      { command: "snmpv3", letter: "A", label: "user", hint: "user_hint" },
      { command: "snmpv3", letter: "B", label: "authentication_key" },
      { command: "snmpv3", letter: "C", label: "privacy_key" },
      { command: "snmpprivacy", label: "privacy" },
    ],
  });
}

/** @param {AdminContext} context */
function trapCard(context) {
  return new Form(context, {
    title: "trap",
    note: "trap_note",
    fields: [
      { command: "snmptrap", letter: "A", label: "trap_enabled" },
      { command: "snmptrap", letter: "B", label: "host" },
      { command: "snmptrap", letter: "C", label: "port" },
      { command: "snmptrap", letter: "D", label: "community" },
      informField(1, "snmp.trap"),
    ],
  });
}

/** @param {AdminContext} context @param {number} index */
function moreTrapsCard(context, index) {
  const receiver = `snmp.more_traps.${index}`;
  const field = (/** @type {string} */ letter, /** @type {string} */ name, label = name) => ({
    command: "snmptrap<A>",
    at: { A: index + 2 },
    letter,
    label,
    path: `${receiver}.${name}`,
  });
  return new Form(context, {
    heading: () => `${t("trap")} ${index + 2}`,
    fields: [
      field("B", "enabled", "trap_enabled"),
      field("C", "host"),
      field("D", "port"),
      field("E", "community"),
      informField(index + 2, receiver),
    ],
  });
}

/** @param {number} number @param {string} receiver */
function informField(number, receiver) {
  return {
    command: "snmpinform<A>",
    at: { A: number },
    letter: "B",
    label: "inform",
    hint: "inform_hint",
    path: `${receiver}.inform`,
  };
}
