// MQTT: the broker, how it is reached, and whether it is.

import { html, nothing } from "../vendor/lit-html.js";
import { wordIn, serverText, t } from "../lib/format/words.js";
import { Action } from "../lib/forms/action.js";
import { Form } from "../lib/forms/form.js";
import * as api from "../lib/live/api.js";
import { Followed } from "../lib/live/live.js";

// So long a broker may take to answer.
const MAX_LOOKS = 20;
const LOOK_MS = 500;

/** @param {string} key */
const makeRefusal = (key) => new api.Refused({ status: 0, detail: wordIn("mqtt", key) ?? "" });

/** @type {PartOf} */
export function partOf(context) {
  const outbox = new Followed(context, api.outbox);
  return [new Broker(context, outbox), discoveryCard(context), outbox];
}

class Broker {
  #context;
  #outbox;
  #form;
  #isClosed = false;

  /** @param {AdminContext} context @param {Followed<Outbox>} outbox */
  constructor(context, outbox) {
    this.#context = context;
    this.#outbox = outbox;
    const forget = new Action(context, {
      label: "forget",
      danger: "forget_danger",
      command: "mqtt",
      values: () => ({ ...letters(context.settings.mqtt), E: "" }),
    });
    /** @type {Action} */
    const attempt = new Action(context, {
      plainLabel: () => t(this.#form.isChanged ? "save_and_try" : "try_broker"),
      done: "link_running",
      isReady: () => this.#form.field("mqtt", "A")?.typed === true,
      perform: () => this.#try(),
    });
    /** @type {Form} */
    this.#form = new Form(context, {
      title: "broker",
      lead: () => this.#connection(),
      tail: () => html`${attempt.view()}
      ${context.settings.mqtt.password === null ? nothing : forget.view()}`,
      fields: [
        { command: "mqtt", letter: "A", label: "enabled" },
        { command: "mqtt", letter: "B", label: "host" },
        { command: "mqtt", letter: "C", label: "port", hint: "port_hint" },
        { command: "mqtt", letter: "G", label: "tls" },
        { command: "mqtt", letter: "D", label: "username" },
        { command: "mqtt", letter: "E", label: "password" },
        { command: "mqtt", letter: "F", label: "prefix", hint: "prefix_hint" },
      ],
    });
  }

  view() {
    return this.#form.view();
  }

  close() {
    this.#isClosed = true;
  }

  // Tests the connection of the form and shows the result.
  async #try() {
    if (this.#form.isChanged && !(await this.#form.save())) throw makeRefusal("try_not_saved");
    for (let looks = 0; looks < MAX_LOOKS && !this.#isClosed; looks++) {
      if (this.#context.live.state.MQTT === 1) return;
      await this.#outbox.look();
      const { problem } = this.#outbox.value?.channels.mqtt ?? {};
      if (problem) throw new api.Refused({ status: 0, detail: problem });
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    throw makeRefusal("try_no_answer");
  }

  #connection() {
    const { problem, waiting = 0 } = this.#outbox.value?.channels.mqtt ?? {};
    const state = this.#state();
    return html`<p class="guard" data-state=${state} role="status">
      <strong>${t(`link_${state}`)}</strong>
      ${problem ? html`<span class="problem">${serverText(problem)}</span>` : nothing}
      ${waiting ? html`<span>${t("waiting", { waiting })}</span>` : nothing}
    </p>`;
  }

  #state() {
    if (!this.#context.settings.mqtt.enabled) return "off";
    if (this.#context.live.state.MQTT === 1) return "running";
    return this.#outbox.value?.capture ? "kept" : "down";
  }
}

/** @param {Api.Mqtt} mqtt */
const letters = ({ enabled, host, port, username, prefix, tls }) => ({
  A: enabled,
  B: host,
  C: port,
  D: username,
  F: prefix,
  G: tls,
});

/** @param {AdminContext} context */
function discoveryCard(context) {
  return new Form(context, {
    title: "discovery",
    note: "discovery_note",
    fields: [{ command: "mqttdiscovery", label: "discovery_topic", hint: "discovery_hint" }],
  });
}
