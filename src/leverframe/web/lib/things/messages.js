// Messages of the outbox in words: when, what, to whom, and what became of it.

import { html, nothing } from "../../vendor/lit-html.js";
import { moment } from "../format/moments.js";
import { serverText, t } from "../format/words.js";
import { causeOf } from "./signs.js";

export const STATES = /** @type {const} */ (["waiting", "failed", "sent", "captured"]);

/** @type {Record<string, string>} */
const CHANNELS = { email: "E-mail", sms: "SMS", mqtt: "MQTT" };
/** @param {string} channel */
export const channelName = (channel) => CHANNELS[channel] ?? channel.toUpperCase();

// All messages of an outbox, newest first; of one channel only where it is named.
/** @param {Outbox | null} outbox @param {string} [channel] */
export function messagesOf(outbox, channel) {
  return STATES.flatMap((state) => outbox?.[state] ?? [])
    .filter((message) => !channel || message.channel === channel)
    .sort((one, other) => other.number - one.number);
}

// Who wanted something, as the engine writes it: "rule 3", "command 192.168.1.20 admin", "test".
/** @param {string} reason */
export function reasonText(reason) {
  if (reason === "test" || reason === "period") return t(`message_${reason}`);
  const [, kind, detail = ""] = /^(\w+) ?(.*)$/s.exec(reason) ?? [];
  if (!kind) return reason;
  if (kind === "rule") return t("message_by_rule", { number: detail });
  return [causeOf(kind).word(), detail].filter(Boolean).join(" · ");
}

/** @param {Message} message @param {number} now */
function messageLine(message, now) {
  const { state, channel, target, created, attempts } = message;
  const { problem, answer, uncertain, content } = message;
  return html`<li data-state=${state}>
    <time>${moment(created, now)}</time>
    <span>
      <strong class="became">${t(`message_${state}`)}</strong>
      ${channelName(channel)} · ${target}
    </span>
    <small>
      ${[reasonText(message.reason), attempts ? t("message_attempts", { attempts }) : ""]
        .filter(Boolean)
        .join(" · ")}
    </small>
    ${problem ? html`<small class="problem">${serverText(problem)}</small>` : nothing}
    ${uncertain ? html`<small class="problem">${t("message_uncertain")}</small>` : nothing}
    ${answer ? html`<small>${t("message_answer", { answer })}</small>` : nothing}
    ${content ? html`<small>${contentView(content)}</small>` : nothing}
  </li>`;
}

// What a captured message says, each once; how it would have been wrapped is read at /api/outbox.
const SAYING = ["subject", "text", "body", "path", "label", "value"];
/** @param {Record<string, unknown>} content */
const contentView = (content) =>
  [...new Set(SAYING.map((part) => content[part] ?? ""))].filter((one) => one !== "").join(" · ");

/** @param {Message[]} messages @param {number} now */
export function messageList(messages, now) {
  return html`<ol class="log messages">
    ${messages.map((message) => messageLine(message, now))}
  </ol>`;
}
