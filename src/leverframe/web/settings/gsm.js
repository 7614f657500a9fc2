// GSM: how the modem is doing, who may command it, what SMS1-SMS4 say and to whom.

import { html } from "../vendor/lit-html.js";
import { Action } from "../lib/action.js";
import { Form } from "../lib/form.js";
import { ReadingCodes } from "../lib/reading_codes.js";
import { t } from "../lib/words.js";
import { ModemCommands } from "./gsm/commands.js";
import { modemStatus } from "./gsm/status.js";

export class Part {
  #context;
  #codes;
  #modem;
  #access;
  #messages;
  #test;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#codes = new ReadingCodes(context, { marker: "%", hasWidth: false, note: "codes_note" });
    this.#modem = new ModemCommands(context);
    this.#access = accessCard(context);
    this.#messages = context.settings.gsm.sms.map((_, index) => this.#message(index));
    this.#test = new Action(context, {
      label: "send_test",
      command: "gsmsendsms",
      done: "test_sent",
    });
  }

  async open() {
    await Promise.all([this.#codes.read(), this.#modem.open()]);
  }

  close() {
    this.#modem.close();
  }

  view() {
    const { live, settings } = this.#context;
    return html`<div class="cards">
      ${modemStatus(live.state, settings)} ${this.#access.view()} ${this.#modem.view()}
      ${this.#messages.map((card) => card.view())} ${this.#codes.view()}
      <section class="card">
        <h2>${t("test")}</h2>
        <p class="note">${t("test_note")}</p>
        ${this.#test.view()}
      </section>
    </div>`;
  }

  /** @param {number} index */
  #message(index) {
    const at = { A: index + 1 };
    const number = index + 1;
    const setting = `gsm.sms.${index}`;
    const context = this.#context;
    const { draw } = this.#codes;
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
        {
          command: "gsmsms<A>",
          at,
          letter: "B",
          label: ["on_text", { number }],
          path: `${setting}.on_text`,
          draw,
        },
        {
          command: "gsmsms<A>",
          at,
          letter: "C",
          label: ["off_text", { number }],
          path: `${setting}.off_text`,
          draw,
        },
      ],
    });
  }
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
