// GSM: how the modem is doing, who may command it, what SMS1-SMS4 say and to whom.

import { html } from "../vendor/lit-html.js";
import { Action } from "../lib/action.js";
import { Form } from "../lib/form.js";
import { ReadingCodes } from "../lib/reading_codes.js";
import { t } from "../lib/words.js";
import { ModemCommands } from "./gsm/commands.js";
import { modemStatus } from "./gsm/status.js";

/** @type {PartOf} */
export function partOf(context) {
  const codes = new ReadingCodes(context, { marker: "%", hasWidth: false, note: "codes_note" });
  const test = new Action(context, {
    label: "send_test",
    command: "gsmsendsms",
    done: "test_sent",
  });
  return [
    { view: () => modemStatus(context.live.state, context.settings) },
    accessCard(context),
    new ModemCommands(context),
    ...context.settings.gsm.sms.map((_, index) => messageCard(context, index, codes)),
    codes,
    { view: () => testCard(test) },
  ];
}

/** @param {Action} test */
const testCard = (test) =>
  html`<section class="card">
    <h2>${t("test")}</h2>
    <p class="note">${t("test_note")}</p>
    ${test.view()}
  </section>`;

/** @param {AdminContext} context @param {number} index @param {ReadingCodes} codes */
function messageCard(context, index, { draw }) {
  const number = index + 1;
  const at = { A: number };
  const setting = `gsm.sms.${index}`;
  /** @param {string} letter @param {string} name @returns {FieldSpec} */
  const text = (letter, name) => ({
    command: "gsmsms<A>",
    at,
    letter,
    label: [name, { number }],
    path: `${setting}.${name}`,
    draw,
  });
  return new Form(context, {
    heading: `SMS${number}`,
    fields: [
      {
        command: "gsmnumber<A>",
        at,
        label: "recipients",
        // Asked for with every drawing: people may change the language.
        get parts() {
          return recipientLabels(context);
        },
        path: `${setting}.numbers`,
      },
      text("B", "on_text"),
      text("C", "off_text"),
    ],
  });
}

/** @param {AdminContext} context */
function recipientLabels({ commands }) {
  const { maxItems } = commands.get("gsmnumber<A>").schema("B");
  return Array.from({ length: maxItems }, (_, index) => t("recipient", { number: index + 1 }));
}

/** @param {AdminContext} context */
function accessCard(context) {
  return new Form(context, {
    title: "access",
    // Browsers that keep passwords look for a name beside them; here there is none.
    lead: () => html`<input hidden autocomplete="username" />`,
    fields: [
      { command: "gsmapn", label: "apn", hint: "apn_hint", secret: true },
      { command: "gsmcode", label: "code", hint: "code_hint", secret: true },
    ],
  });
}
