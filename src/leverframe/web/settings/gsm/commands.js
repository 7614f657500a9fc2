// Commands to the modem by hand, and what it answered.

import { html, nothing } from "../../vendor/lit-html.js";
import * as api from "../../lib/api.js";
import { problemOf } from "../../lib/schema.js";
import { t } from "../../lib/words.js";

const READ_AGAIN_MS = 1000;

export class ModemCommands {
  #context;
  #command;
  #typed = "";
  /** @type {string | null} */
  #problem = null;
  // As /api/modem tells: { command, answer, unasked }.
  /** @type {Partial<Modem>} */
  #heard = {};
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
    const { unasked = [] } = this.#heard;
    return html`<form class="card" novalidate @submit=${(event) => this.#submitted(event)}>
      <h2>${t("by_hand")}</h2>
      <p class="note">${t("by_hand_note")}</p>
      <div class="field" ?data-wrong=${this.#problem !== null}>
        <label for="gsmcmd">${t("command")}</label>
        <input
          id="gsmcmd"
          autocomplete="off"
          autocapitalize="characters"
          aria-describedby=${this.#problem ? "gsmcmd-wrong" : nothing}
          aria-invalid=${this.#problem ? "true" : "false"}
          .value=${this.#typed}
          @input=${(event) => this.#type(event.target.value)}
        />
        ${this.#problem
          ? html`<p class="wrong" id="gsmcmd-wrong" role="alert">${this.#problem}</p>`
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
    const { command, answer } = this.#heard;
    if (!command) return nothing;
    return html`<pre class="answer">
${[`> ${command}`, ...(answer ?? [t("waiting_for_answer")])].join("\n")}</pre
    >`;
  }

  /** @param {string} typed */
  #type(typed) {
    this.#typed = typed;
    this.#problem = null;
    this.#context.redraw();
  }

  /** @param {Event} event */
  async #submitted(event) {
    event.preventDefault();
    this.#problem = problemOf(this.#command.schema("A"), this.#typed);
    if (this.#problem === null) await this.#send();
    this.#context.redraw();
  }

  async #send() {
    try {
      await api.send(this.#command.request({ A: this.#typed }).target);
      this.#typed = "";
      await this.#read();
    } catch (error) {
      this.#problem = error instanceof api.Refused ? error.message : t("not_reached");
    }
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
      this.#heard = await api.modem();
    } catch {
      this.#readSoon();
      return;
    }
    const { command, answer } = this.#heard;
    if (command && !answer) this.#readSoon();
    this.#context.redraw();
  }
}
