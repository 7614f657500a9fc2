// GSM: how the modem is doing, who may command it, what SMS1-SMS4 say and to whom.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { t } from "../lib/format/words.js";
import { Action } from "../lib/forms/action.js";
import { reading } from "../lib/forms/controls.js";
import { Form } from "../lib/forms/form.js";
import { ReadingCodes } from "../lib/forms/reading_codes.js";
import { problemOf } from "../lib/forms/schema.js";
import { Task } from "../lib/forms/task.js";
import * as api from "../lib/live/api.js";
import { thingAddress } from "../lib/things/things.js";

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

// Commands to the modem by hand, and what it answered.

const READ_AGAIN_MS = 1000;

class ModemCommands {
  #context;
  #command;
  #typed = signal("");
  #task = new Task();
  // As in /api/modem: { command, answer, unasked }.
  /** @type {Signal<Partial<Modem>>} */
  #heard = signal({});
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #stop = () => {};
  #closed = false;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#command = context.commands.get("gsmcmd");
  }

  async open() {
    await this.#read();
    this.#stop = this.#context.live.listen(() => this.#readSoon());
  }

  close() {
    this.#closed = true;
    this.#stop();
    clearTimeout(this.#timer);
  }

  view() {
    const { unasked = [] } = this.#heard.value;
    return html`<form class="card" novalidate @submit=${(event) => this.#onSubmit(event)}>
      <h2>${t("by_hand")}</h2>
      <p class="note">${t("by_hand_note")}</p>
      <div class="field" ?data-wrong=${this.#task.refusal() !== null}>
        <label for="gsmcmd">${t("command")}</label>
        <input
          id="gsmcmd"
          autocomplete="off"
          autocapitalize="characters"
          aria-describedby=${this.#task.refusal() ? "gsmcmd-wrong" : nothing}
          aria-invalid=${this.#task.refusal() ? "true" : "false"}
          .value=${this.#typed.value}
          @input=${(event) => this.#type(event.target.value)}
        />
        ${this.#task.refusal()
          ? html`<p class="wrong" id="gsmcmd-wrong" role="alert">${this.#task.refusal()}</p>`
          : nothing}
      </div>
      <footer><button class="primary">${t("send")}</button></footer>
      <div role="status">${this.#conversation()}</div>
      ${unasked.length
        ? html`<h3>${t("unasked")}</h3>
            <pre tabindex="0">${unasked.join("\n")}</pre>`
        : nothing}
    </form>`;
  }

  #conversation() {
    const { command, answer } = this.#heard.value;
    if (!command) return nothing;
    return html`<pre class="answer">
${[`> ${command}`, ...(answer ?? [t("waiting_for_answer")])].join("\n")}</pre
    >`;
  }

  /** @param {string} typed */
  #type(typed) {
    this.#typed.value = typed;
    this.#task.forget();
  }

  /** @param {Event} event */
  async #onSubmit(event) {
    event.preventDefault();
    const problem = problemOf(this.#command.schema("A"), this.#typed.value);
    if (problem !== null) return this.#task.say(problem);
    await this.#task.run(async () => {
      await api.send(this.#command.request({ A: this.#typed.value }).target);
      this.#typed.value = "";
      await this.#read();
    });
  }

  #readSoon() {
    if (this.#closed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#read();
    }, READ_AGAIN_MS);
  }

  // An answer is no part of the stream: it is looked for until it is there.
  async #read() {
    try {
      this.#heard.value = await api.modem();
    } catch {
      this.#readSoon();
      return;
    }
    const { command, answer } = this.#heard.value;
    if (command && !answer) this.#readSoon();
  }
}

// The modem at a glance: state, SIM card, network and signal.

const MODULE = "GSM modem SIM800L";
// In dBm, from which on the signal is called so.
const GOOD = -75;
const FAIR = -95;

// What the controller says by its own words, by key of ours.
const STATES = {
  "not connected": "state_not_connected",
  starting: "state_starting",
  silent: "state_silent",
  "waiting for the SIM card": "state_waiting",
  ready: "state_ready",
};
const REGISTRATIONS = {
  "not registered": "network_none",
  home: "network_home",
  searching: "network_searching",
  denied: "network_denied",
  unknown: "network_unknown",
  roaming: "network_roaming",
};

/** @param {Record<string, string>} words @param {string} state */
const word = (words, state) => (words[state] ? t(words[state]) : state);

/** @param {State} live @param {Settings} settings */
function modemStatus({ modem }, { serial }) {
  const { sim, registration, operator, signal_dbm: dbm } = modem ?? {};
  const state = modem?.state ?? "not connected";
  return html`<section class="card modem" data-state=${state}>
    <h2>${t("modem")}</h2>
    ${serial.module === MODULE
      ? nothing
      : html`<p class="note">
          ${t("not_chosen")} <a href=${thingAddress("all-sensors")}>${t("to_serial")}</a>
        </p>`}
    ${reading({ name: t("state"), value: word(STATES, state), absent: state === "silent" })}
    ${reading({ name: t("signal"), ...strength(dbm) })}
    ${reading({
      name: t("network"),
      value: operator ?? "–",
      detail: registration ? word(REGISTRATIONS, registration) : "",
    })}
    ${reading({ name: t("sim_card"), value: sim ?? "–" })}
  </section>`;
}

/** @param {number | null | undefined} dbm */
function strength(dbm) {
  if (dbm === null || dbm === undefined) return { value: "–" };
  const judged = dbm >= GOOD ? "signal_good" : dbm >= FAIR ? "signal_fair" : "signal_weak";
  return { value: String(dbm), unit: "dBm", absent: dbm < FAIR, detail: t(judged) };
}
