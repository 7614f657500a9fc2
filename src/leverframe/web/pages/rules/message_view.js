// The blanks of a message in the sentence of its rule, and what it still lacks.

import { html, nothing } from "../../vendor/lit-html.js";
import { t } from "../../lib/format/words.js";
import { address } from "../../lib/frame/router.js";
import { LABELS } from "./blanks.js";
import { channelOf, isUsedElsewhere } from "./messages.js";

/** @import { Draft, Part } from "./draft.js" */
/** @import { Editor } from "./editor.js" */

// A part of the message: what it says, what it says at the end, and to whom it goes.
/** @param {Editor} editor @param {Part} part */
export function messageBlank(editor, part) {
  const problem = editor.problem(part);
  const isAddress = part === "to" && channelOf(editor.draft.typed.action)?.kind === "mail";
  return html`<input
    id=${editor.id(part)}
    class="blank written"
    type=${isAddress ? "email" : "text"}
    autocomplete="off"
    aria-label=${t(LABELS[part])}
    aria-invalid=${problem ? "true" : "false"}
    aria-describedby=${problem ? `${editor.id(part)}-wrong` : nothing}
    .value=${editor.draft.typed.message[part]}
    @input=${(event) => editor.changeMessage(part, event.target.value)}
  />`;
}

// A message may be shared; all mails go to one recipient, by one server.
/** @param {AdminContext} context @param {Draft} draft */
export function messageNote({ settings }, { typed, index }) {
  const channel = channelOf(typed.action);
  if (!channel) return nothing;
  const isShared = isUsedElsewhere(settings, typed.action, index);
  return html`${isShared ? html`<p class="aside">${t("message_shared")}</p>` : nothing}
  ${channel.kind === "mail" ? mailNote(settings, typed.message.to) : nothing}`;
}

/** @param {Settings} settings @param {string} to */
function mailNote({ email: { host, recipient } }, to) {
  const isOther = to.trim() !== recipient && recipient !== "";
  if (host && !isOther) return nothing;
  return html`<p class="aside">
    ${isOther ? t("mail_to_all", { recipient }) : nothing}
    ${host
      ? nothing
      : html`${t("mail_without_server")}
          <a href=${address("messages", { open: "email" })}>${t("mail_set_up")}</a>`}
  </p>`;
}
