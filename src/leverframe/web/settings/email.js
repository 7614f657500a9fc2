// E-mail: the server, who gets mail, and a text for each edge of the four mails.

import { html, nothing } from "../vendor/lit-html.js";
import { wordIn, t } from "../lib/format/words.js";
import { Action } from "../lib/forms/action.js";
import { Form } from "../lib/forms/form.js";
import { ReadingCodes } from "../lib/forms/reading_codes.js";
import { address } from "../lib/frame/router.js";
import * as api from "../lib/live/api.js";
import { Followed } from "../lib/live/live.js";
import { messageList, messagesOf } from "../lib/things/messages.js";

// The longest form: the only one with all eight texts and TLS.
const WHOLE =
  "em1=<A>&em2=<B>&em3=<C>&em4=<D>&em5=<E>&em6=<F>&em7=<G>&em8=<H>&em9=<I>";
const MAILS = [1, 2, 3, 4];
const LAST = 5;

/** @type {PartOf} */
export function partOf(context) {
  const outbox = new Followed(context, api.outbox);
  const codes = new ReadingCodes(context, { marker: "%", note: "codes_note" });
  const cards = [serverCard(context), textsCard(context, codes.draw)];
  const test = new Action(context, {
    plainLabel: () =>
      t(cards.some((card) => card.isChanged) ? "save_and_send_test" : "send_test"),
    done: "test_taken",
    perform: async () => {
      await saveAll(cards);
      await api.send(context.commands.get("testemail").request({}).target);
      await outbox.look();
    },
  });
  const beside = {
    open: () => codes.open(),
    view: () =>
      html`<div class="stack">${testOutcome(context, outbox.value, test)} ${codes.view()}</div>`,
  };
  return [...cards, beside, outbox];
}

// What stands in the forms is tried, not what was saved before.
/** @param {Form[]} cards */
async function saveAll(cards) {
  for (const card of cards) {
    if (card.isChanged && !(await card.save())) {
      throw new api.Refused({ status: 400, detail: wordIn("email", "test_not_saved") ?? "" });
    }
  }
}

/** @param {AdminContext} context @param {Outbox | null} outbox @param {Action} test */
function testOutcome({ live }, outbox, test) {
  const messages = messagesOf(outbox, "email").slice(0, LAST);
  return html`<section class="card">
    <h2>${t("test")}</h2>
    <p class="note">${t("test_note")}</p>
    ${test.view()}
    ${messages.length === 0
      ? html`<p class="empty">${t("none_yet")}</p>`
      : messageList(messages, live.state.time)}
    <p>
      <a href=${address("messages", { open: "outbox", channel: "email" })}>${t("to_outbox")}</a>
    </p>
  </section>`;
}

const SERVER = ["em1=<A>", "em2=<A>"];

// The controller sends a password only to the server that it was given for.
/** @param {BoundField[]} fields */
function isOtherServer(fields) {
  const parts = fields.filter(({ spec }) => SERVER.includes(spec.command));
  return parts.every(({ typed, saved }) => typed && saved) && parts.some((part) => part.isChanged);
}

/** @param {AdminContext} context */
function serverCard(context) {
  const forget = new Action(context, {
    label: "forget",
    danger: "forget_danger",
    command: "em4=<A>",
    values: { A: "" },
  });
  return new Form(context, {
    title: "server",
    tail: () => (context.settings.email.password === null ? nothing : forget.view()),
    fields: [
      { command: "em1=<A>", label: "host" },
      { command: "em2=<A>", label: "port" },
      { command: "em3=<A>", label: "username" },
      { command: "em4=<A>", label: "password", forgottenBy: isOtherServer },
      { command: "em5=<A>", label: "recipient", hint: "recipient_hint" },
      { command: "em6=<A>", label: "sender" },
      { command: "em7=<A>", label: "subject" },
    ],
  });
}

/** @param {AdminContext} context @param {Draw} draw */
function textsCard(context, draw) {
  /** @param {Settings} settings */
  const read = ({ email }) => [...email.on_texts, ...email.off_texts];
  /** @param {string} label @param {number} number @param {number} part @returns {FieldSpec} */
  const text = (label, number, part) => ({
    command: WHOLE,
    letter: "H",
    part,
    label: [label, { number }],
    read,
    draw,
  });
  return new Form(context, {
    title: "texts",
    note: "texts_note",
    paths: { [WHOLE]: { H: read } },
    fields: [
      { command: WHOLE, letter: "I", label: "tls", hint: "tls_hint" },
      ...MAILS.flatMap((number) => [
        text("text_on", number, number - 1),
        text("text_off", number, number - 1 + MAILS.length),
      ]),
      {
        command: WHOLE,
        letter: "D",
        label: "password_again",
        hint: "password_again_hint",
        // Only a password that is set has to come along.
        get hidden() {
          return context.settings.email.password === null;
        },
      },
    ],
  });
}
