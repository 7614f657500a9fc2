// One path that is read: what it tells, what may stand in its query, and its answer.

import { html, nothing } from "../../vendor/lit-html.js";
import { Action } from "../../lib/action.js";
import * as api from "../../lib/api.js";
import { copyable } from "../../lib/copyable.js";
import { described } from "../../lib/described.js";
import { t } from "../../lib/words.js";
import { answerTo, answerView, problemOf } from "./answer.js";

/** @import { Answer } from "./answer.js" */
/** @typedef {{ name: string, description: string }} Parameter */
/**
 * @typedef {object} Operation
 * @property {string} summary
 * @property {Parameter[]} [parameters]
 * @property {object} [requestBody]
 * @property {string} [x-role]
 */
/**
 * @typedef {object} Reading
 * @property {string} method
 * @property {string} path
 * @property {Operation} operation
 */

export class ReadingCard {
  #context;
  #reading;
  #id;
  /** @type {Record<string, string>} */
  #typed = {};
  #body = "";
  #action;
  /** @type {Answer | null} */
  #answer = null;

  // `reading`: { method, path, operation } of the OpenAPI document.
  /** @param {AdminContext} context @param {Reading} reading @param {string} id */
  constructor(context, reading, id) {
    this.#context = context;
    this.#reading = reading;
    this.#id = id;
    this.#action = new Action(context, {
      label: "send",
      isMain: true,
      done: "answered",
      perform: () => this.#read(),
    });
  }

  get #takesBody() {
    return this.#reading.operation.requestBody !== undefined;
  }

  /** @returns {Asked} */
  get request() {
    const { method, path } = this.#reading;
    const given = Object.entries(this.#typed).filter(([, text]) => text.trim() !== "");
    const query = new URLSearchParams(given).toString();
    const target = query ? `${path}?${query}` : path;
    if (!this.#takesBody) return { method, target };
    return { method, target, body: this.#body, type: "text/plain" };
  }

  view() {
    const { operation } = this.#reading;
    const role = operation["x-role"];
    return html`<div class="command">
      ${role ? html`<p class="note">${t(`role_${role}`)}</p>` : nothing}
      <div class="fields">
        ${(operation.parameters ?? []).map((parameter) => this.#field(parameter))}
        ${this.#takesBody ? this.#bodyField() : nothing}
      </div>
      <div class="request">${copyable(api.curl(this.request))}</div>
      ${this.#action.view()} ${answerView(this.#answer)}
    </div>`;
  }

  /** @param {Parameter} parameter */
  #field({ name, description }) {
    const id = `${this.#id}-${name}`;
    return html`<div class="field">
      <label for=${id}>${name}</label>
      <input
        id=${id}
        autocomplete="off"
        aria-describedby="${id}-hint"
        .value=${this.#typed[name] ?? ""}
        @input=${(event) => this.#type(name, event.target.value)}
      />
      <small class="hint" id="${id}-hint">${described(description).replaceAll("`", "")}</small>
    </div>`;
  }

  #bodyField() {
    return html`<div class="field">
      <label for="${this.#id}-body">${t("body")}</label>
      <input
        id="${this.#id}-body"
        autocomplete="off"
        .value=${this.#body}
        @input=${(event) => {
          this.#body = event.target.value;
          this.#context.redraw();
        }}
      />
    </div>`;
  }

  /** @param {string} name @param {string} text */
  #type(name, text) {
    this.#typed[name] = text;
    this.#context.redraw();
  }

  async #read() {
    this.#answer = await answerTo(this.request);
    const problem = problemOf(this.#answer);
    if (problem) throw new api.Refused(problem);
  }
}
