// The outbox: what waits, what was sent, what failed and why.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { durationText } from "../lib/format/numbers.js";
import { serverText, t } from "../lib/format/words.js";
import { chooser } from "../lib/forms/controls.js";
import { note } from "../lib/frame/router.js";
import * as api from "../lib/live/api.js";
import { Followed } from "../lib/live/live.js";
import { channelName, messageList, messagesOf, STATES } from "../lib/things/messages.js";

/** @typedef {Outbox["channels"][string]} ChannelReport */

const SHOWN = 100;

/** @type {PartOf} */
export const partOf = (context) => [new OutboxCards(context)];

class OutboxCards {
  #context;
  #outbox;
  #channel = signal("");
  #state = signal("");

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#outbox = new Followed(context, api.outbox);
  }

  /** @param {URLSearchParams} [params] */
  async open(params) {
    this.#channel.value = params?.get("channel") ?? "";
    this.#state.value = params?.get("state") ?? "";
    await this.#outbox.open();
  }

  close() {
    this.#outbox.close();
  }

  view() {
    const outbox = this.#outbox.value;
    if (outbox === null) return nothing;
    return html`${outbox.capture
        ? html`<p class="warning across" role="note">${t("capture_note")}</p>`
        : nothing}
      <section class="card across">
        <h2>${t("channels")}</h2>
        <div class="scrolling" tabindex="0" role="region" aria-label=${t("channels")}>
          ${this.#channels(outbox.channels)}
        </div>
      </section>
      <section class="card across">
        <h2>${t("messages")}</h2>
        ${this.#filters(outbox)} ${this.#messages(outbox)}
      </section>`;
  }

  // Channels that are set up or have something to show.
  /** @param {Outbox["channels"]} channels */
  #channels(channels) {
    const used = Object.entries(channels).filter(
      ([name, figures]) =>
        isSetUp(this.#context.settings, name) ||
        figures.problem ||
        STATES.some((state) => figures[state] > 0),
    );
    if (used.length === 0) return html`<p class="empty">${t("no_channels")}</p>`;
    return html`<table>
      <thead>
        <tr>
          <th>${t("channel")}</th>
          <th>${t("condition")}</th>
          ${STATES.map((state) => html`<th class="number">${t(`message_${state}`)}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${used.map(
          ([name, figures]) =>
            html`<tr>
              <td>${channelName(name)}</td>
              <td>${condition(figures, isSetUp(this.#context.settings, name))}</td>
              ${STATES.map((state) => html`<td class="number">${figures[state]}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>`;
  }

  /** @param {Outbox} outbox */
  #filters(outbox) {
    /** @type {[string, string][]} */
    const channels = Object.keys(outbox.channels).map((name) => [name, channelName(name)]);
    /** @type {[string, string][]} */
    const states = STATES.map((state) => [state, t(`message_${state}`)]);
    /** @type {[string, string]} */
    const all = ["", t("all")];
    return html`<div class="filters">
      ${chooser(
        "filter-channel",
        t("channel"),
        [all, ...channels],
        this.#channel.value,
        (chosen) => {
          this.#channel.value = chosen;
          this.#noteAddress();
        },
      )}
      ${chooser("filter-state", t("became"), [all, ...states], this.#state.value, (chosen) => {
        this.#state.value = chosen;
        this.#noteAddress();
      })}
    </div>`;
  }

  // What is shown has an address.
  #noteAddress() {
    const chosen = { open: "outbox", channel: this.#channel.value, state: this.#state.value };
    note("messages", Object.fromEntries(Object.entries(chosen).filter(([, value]) => value)));
  }

  /** @param {Outbox} outbox */
  #messages(outbox) {
    const messages = messagesOf(outbox, this.#channel.value).filter(
      ({ state }) => !this.#state.value || state === this.#state.value,
    );
    if (messages.length === 0) return html`<p class="empty">${t("no_messages")}</p>`;
    const hidden = messages.length - SHOWN;
    return html`${messageList(messages.slice(0, SHOWN), this.#context.live.state.time)}
    ${hidden > 0 ? html`<p class="note">${t("older_hidden", { hidden })}</p>` : nothing}`;
  }
}

// "http2" is the second HTTP request, "snmp" the first receiver of traps.
/** @param {Settings} settings @param {string} channel */
function isSetUp({ email, http, gsm, mqtt, snmp }, channel) {
  const [, kind, number] = /^([a-z]+)(\d*)$/.exec(channel) ?? [];
  const place = Number(number || 1) - 1;
  const trap = [snmp.trap, ...snmp.more_traps][place];
  switch (kind) {
    case "email":
      return Boolean(email.host && email.recipient);
    case "http":
      return Boolean(http[place]?.url);
    case "sms":
      return gsm.sms.some(({ numbers }) => numbers.length > 0);
    case "mqtt":
      return mqtt.enabled;
    default:
      return Boolean(trap?.enabled && trap.host);
  }
}

/** @param {ChannelReport} channel @param {boolean} isReady */
function condition({ problem, next_attempt_in: next, dropped }, isReady) {
  const facts = [
    serverText(problem ?? ""),
    next === null ? "" : t("next_attempt", { time: durationText(Math.ceil(next)) }),
    dropped ? t("dropped", { dropped }) : "",
  ].filter(Boolean);
  if (facts.length === 0) {
    return html`<span class="quiet">${t(isReady ? "in_order" : "state_not_set_up")}</span>`;
  }
  return html`<span class="problem">${facts.join(" ")}</span>`;
}
