// HTTP1 to HTTP4: what rules request elsewhere, how, and what was answered.

import { html, nothing } from "../vendor/lit-html.js";
import { t } from "../lib/format/words.js";
import { Action } from "../lib/forms/action.js";
import { NEVER } from "../lib/forms/bound_field.js";
import { Form } from "../lib/forms/form.js";
import { ReadingCodes } from "../lib/forms/reading_codes.js";
import { address } from "../lib/frame/router.js";
import * as api from "../lib/live/api.js";
import { Followed } from "../lib/live/live.js";
import { messageList, messagesOf } from "../lib/things/messages.js";

const LAST = 3;

/** @type {PartOf} */
export function partOf(context) {
  const outbox = new Followed(context, api.outbox);
  const marker = () => (context.settings.http_double_percent ? "%%" : "%");
  const codes = new ReadingCodes(context, { marker, note: "codes_note" });
  return [
    ...context.settings.http.map((_, index) => requestCard(context, index, outbox, codes)),
    commonCard(context),
    codes,
    outbox,
  ];
}

/**
 * @param {AdminContext} context
 * @param {number} index
 * @param {Followed<Outbox>} outbox
 * @param {ReadingCodes} codes
 */
function requestCard(context, index, outbox, { draw }) {
  const at = { A: index + 1 };
  const setting = `http.${index}`;
  const forget = forgetAction(context, index);
  return new Form(context, {
    heading: `HTTP${index + 1}`,
    lead: () => answers(context, index, outbox.value),
    tail: () => forget.view(),
    fields: [
      { command: "http<A>", at, label: "url", hint: "url_hint", path: `${setting}.url`, draw },
      { command: "httppost<A>", at, letter: "B", label: "post", path: `${setting}.post` },
      { command: "httppost<A>", at, letter: "C", label: "body", path: `${setting}.body`, draw },
      {
        command: "httpauth<A>",
        at,
        letter: "B",
        label: "username",
        hint: "login_hint",
        path: `${setting}.username`,
      },
      {
        command: "httpauth<A>",
        at,
        letter: "C",
        label: "password",
        path: `${setting}.password`,
        forgottenBy: isOtherServer,
      },
    ],
  });
}

// The newest requests and what the other side answered.
/** @param {AdminContext} context @param {number} index @param {Outbox | null} outbox */
function answers({ live }, index, outbox) {
  const channel = `http${index + 1}`;
  const messages = messagesOf(outbox, channel).slice(0, LAST);
  if (messages.length === 0) return html`<p class="note">${t("none_yet")}</p>`;
  return html`${messageList(messages, live.state.time)}
    <p class="note">
      <a href=${address("messages", { open: "outbox", channel })}>${t("to_outbox")}</a>
    </p>`;
}

// The controller sends a password only to the server that it was given for.
/** @param {BoundField[]} fields */
function isOtherServer(fields) {
  const url = fields.find(({ spec }) => spec.command === "http<A>");
  return Boolean(url?.typed && url.saved) && serverOf(url?.typed) !== serverOf(url?.saved);
}

const PORTS = { http: "80", https: "443" };

/** @param {unknown} url */
function serverOf(url) {
  const found = /^(?:(https?):\/\/)?([^:/]*)(?::(\d+))?/.exec(String(url).trim().toLowerCase());
  const [, scheme = "http", host = "", port] = found ?? [];
  return `${scheme}://${host}:${port ?? PORTS[/** @type {keyof typeof PORTS} */ (scheme)]}`;
}

/** @param {AdminContext} context */
function commonCard(context) {
  return new Form(context, {
    title: "all_requests",
    fields: [
      { command: "httpperiod", label: "period", unit: "s", none: NEVER },
      { command: "httpdouble", label: "double", hint: "double_hint" },
    ],
  });
}

// Shown only where there is something to forget.
/** @param {AdminContext} context @param {number} index */
function forgetAction(context, index) {
  const action = new Action(context, {
    label: "forget",
    danger: "forget_danger",
    command: "httpauth<A>",
    values: { A: index + 1, B: "", C: "" },
  });
  return {
    view: () => (context.settings.http[index].password === null ? nothing : action.view()),
  };
}
