// The mail or the SMS of a rule. It is written in the sentence and stored in a slot of the channel
// that nothing else uses. Both are saved in one request.

import { t } from "../../lib/format/words.js";
import { isSame, numberRules } from "../../lib/live/tree.js";

/**
 * `after` is sent when the rule is no longer met.
 * @typedef {{ says: string, after: string, to: string }} Message
 */
/** @typedef {"mail" | "sms"} Kind */
/** @typedef {Pick<Settings, "rules" | "schedule" | "watchdog" | "email" | "gsm">} Slots */

/** @type {Message} */
export const NO_MESSAGE = { says: "", after: "", to: "" };
// The watchdog sends this one.
const OF_WATCHDOG = 0;
const SHOWN = 32;

// What an action sends, and from which slot; null where it sends neither.
/** @param {string} action @returns {{ kind: Kind, slot: number } | null} */
export function channelOf(action) {
  const [, channel, number = "1"] = /^(eMail|SMS)\s?(\d)?$/.exec(action) ?? [];
  if (!channel) return null;
  return { kind: channel === "SMS" ? "sms" : "mail", slot: Number(number) - 1 };
}

// What the slot of an action says, and to whom.
/** @param {Slots | null} slots @param {string} action @returns {Message} */
export function messageOf(slots, action) {
  const channel = channelOf(action);
  if (!channel || !slots) return NO_MESSAGE;
  const { kind, slot } = channel;
  if (kind === "mail") {
    const { on_texts: says, off_texts: after, recipient } = slots.email;
    return { says: says[slot], after: after[slot], to: recipient };
  }
  const { on_text: says, off_text: after, numbers } = slots.gsm.sms[slot];
  return { says, after, to: numbers.join(", ") };
}

// Whether anything but the rule at a place sends it.
/** @param {Slots} slots @param {string} action @param {number} index */
export function isUsedElsewhere({ rules, schedule, watchdog }, action, index) {
  const channel = channelOf(action);
  const isOfWatchdog = channel?.kind === "mail" && channel.slot === OF_WATCHDOG;
  return (
    numberRules(rules).some(({ number, rule }) => rule.action === action && number !== index + 1) ||
    schedule.some((entry) => entry?.action === action) ||
    (isOfWatchdog && watchdog.some(({ host, email }) => host && email))
  );
}

// The slot for a message of its own: an empty one, or else one that nothing sends any more.
/** @param {Slots} slots @param {string[]} actions @param {Kind} kind @param {number} index */
export function freeSlot(slots, actions, kind, index) {
  const unused = actions.filter(
    (action) => channelOf(action)?.kind === kind && !isUsedElsewhere(slots, action, index),
  );
  const isEmpty = (/** @type {string} */ action) => {
    const { says, after } = messageOf(slots, action);
    return says === "" && after === "";
  };
  return unused.find(isEmpty) ?? unused[0] ?? null;
}

// The slot that a message gets instead of one that is used; any other action stays.
/** @param {Slots} slots @param {string[]} actions @param {string} action @param {number} index */
export function ownSlot(slots, actions, action, index) {
  const kind = channelOf(action)?.kind;
  return (kind && freeSlot(slots, actions, kind, index)) || action;
}

// Actions as they are offered: of messages the rule's own one, and those that say something.
/**
 * @param {Slots} slots
 * @param {string[]} actions
 * @param {string} chosen
 * @param {number} index
 */
export function offeredActions(slots, actions, chosen, index) {
  const own = Object.fromEntries(
    /** @type {Kind[]} */ (["mail", "sms"]).map((kind) => {
      const isChosen = channelOf(chosen)?.kind === kind && !isUsedElsewhere(slots, chosen, index);
      return [kind, isChosen ? chosen : freeSlot(slots, actions, kind, index)];
    }),
  );
  return actions.flatMap((action) => {
    const kind = channelOf(action)?.kind;
    if (!kind || own[kind] === action) return [{ action, isOwn: Boolean(kind) }];
    const { says, after } = messageOf(slots, action);
    return says || after || action === chosen ? [{ action, isOwn: false }] : [];
  });
}

// "send a mail", or which of those that others send.
/** @param {Slots} slots @param {string} action @param {boolean} isOwn */
export function messageName(slots, action, isOwn) {
  const kind = channelOf(action)?.kind;
  if (isOwn) return t(`send_${kind}`);
  return t(`send_${kind}_saying`, { text: cut(textOf(messageOf(slots, action))) });
}

// "mail “Door open”", for a line about the rule.
/** @param {Slots} slots @param {string} action */
export function messageText(slots, action) {
  const kind = channelOf(action)?.kind;
  const text = textOf(messageOf(slots, action));
  return text ? t(`said_${kind}`, { text: cut(text) }) : t(`unsaid_${kind}`);
}

/** @param {Message} message */
const textOf = ({ says, after }) => says || after;

/** @param {string} text */
const cut = (text) => (text.length > SHOWN ? `${text.slice(0, SHOWN - 1)}…` : text);

// The recipients as the command takes them.
/** @param {Kind} kind @param {string} to */
export const recipients = (kind, to) =>
  kind === "mail"
    ? to.trim()
    : to
        .split(/[,;:]/)
        .map((number) => number.replace(/[\s()./-]/g, ""))
        .filter(Boolean);

/** @param {Commands} commands @param {Kind} kind */
export const commandOf = (commands, kind) =>
  kind === "sms" ? commands.get("rulesms") : commands.get("rulemail");

// The command that stores a message; none where it is as it was.
/**
 * @param {Commands} commands
 * @param {string} action
 * @param {Message} message
 * @param {Message} before
 */
export function messageItems(commands, action, message, before) {
  const channel = channelOf(action);
  if (!channel || isSame(message, before)) return [];
  const { kind, slot } = channel;
  const { says, after, to } = message;
  const values = { A: slot + 1, B: says, C: after, D: recipients(kind, to) };
  return [commandOf(commands, kind).query(values)];
}
