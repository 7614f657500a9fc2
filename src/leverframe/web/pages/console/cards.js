// One command: its fields, what it is for and for whom, the request, and the answer to it.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { t } from "../../lib/format/words.js";
import { Action } from "../../lib/forms/action.js";
import { copyable } from "../../lib/forms/controls.js";
import * as api from "../../lib/live/api.js";
import { describe } from "../../lib/live/commands.js";
import { observeMembers } from "../../lib/live/drawing.js";
import { fieldName, FieldSet } from "./fields.js";

// Something is lost, or the controller is away for a while.
const DANGEROUS = new Set([
  ...["eeprom_reset", "devrestart", "lk3restart", "upgrade", "settingsupload", "wwwfileupload"],
  ...["eventdel", "delpicture", "users_save", "auth", "eclear"],
]);

export class CommandCard {
  #command;
  #id;
  // One, or one for each entry of a list.
  #sets;
  /** @type {Signal<File | null>} */
  #file = signal(null);
  #action;
  /** @type {Signal<Answer | null>} */
  #answer = signal(null);

  /** @param {AdminContext} context @param {Command} command @param {string} id */
  constructor(context, command, id) {
    this.#command = command;
    this.#id = id;
    this.#sets = signal([this.#newSet(0)]);
    this.#action = new Action(context, {
      label: "send",
      isMain: true,
      done: "answered",
      danger: DANGEROUS.has(command.items[0]?.name) ? "danger_note" : undefined,
      perform: () => this.#send(),
    });
  }

  get #kind() {
    return this.#command.body?.kind ?? "query";
  }

  /** @param {number} number */
  #newSet(number) {
    const { fields, body } = this.#command;
    const own = body?.fields ?? fields;
    const written = this.#kind === "form" ? own.map(withSpaces) : own;
    return new FieldSet(written, `${this.#id}-${number}`, (letter) =>
      describe(fieldName(this.#command, letter)),
    );
  }

  get #hasProblem() {
    if (this.#kind === "upload") return this.#file.value === null;
    return this.#sets.value.some((set) => set.hasProblem);
  }

  /** @returns {Asked} */
  get request() {
    const { method } = this.#command;
    if (this.#kind === "list") {
      return { method, ...this.#command.listRequest(this.#sets.value.map((set) => set.values)) };
    }
    if (this.#kind === "upload") {
      const { target } = this.#command.request({});
      const type = this.#file.value?.type || "application/octet-stream";
      return { method, target, body: this.#file.value, type };
    }
    return { method, ...this.#command.request(this.#sets.value[0].values) };
  }

  view() {
    const { role, available, deprecated } = this.#command;
    return html`<div class="command">
      <p class="note">
        ${t(`role_${role}`)} · ${versions(available)}
        ${deprecated ? ` · ${t("deprecated")}` : nothing}
      </p>
      ${this.#fields()}
      ${this.#hasProblem ? html`<p class="note">${t("not_ready")}</p>` : this.#sending()}
      ${answerView(this.#answer.value)}
    </div>`;
  }

  #sending() {
    return html`<div class="request">${copyable(api.curl(this.request))}</div>
      ${this.#action.view()}`;
  }

  #fields() {
    if (this.#kind === "upload") return this.#upload();
    if (this.#kind !== "list") return this.#sets.value[0].view();
    return html`${this.#sets.value.map(
        (set, number) =>
          html`<fieldset class="entry">
            <legend>${t("entry", { number: number + 1 })}</legend>
            ${set.view()}
            <button type="button" @click=${() => this.#remove(set)}>${t("remove")}</button>
          </fieldset>`,
      )} <button type="button" @click=${() => this.#add()}>${t("add")}</button>`;
  }

  #upload() {
    const { content, max_bytes: size } = this.#command.body ?? {};
    return html`<div class="field">
      <label for="${this.#id}-file">${t("file")} <small>${describe(content ?? "")}</small></label>
      <input id="${this.#id}-file" type="file" @change=${(event) => this.#choose(event)} />
      <small class="hint">${t("bytes_at_most", { size })}</small>
    </div>`;
  }

  /** @param {ControlEvent} event */
  #choose(event) {
    this.#file.value = event.target.files?.[0] ?? null;
  }

  #add() {
    this.#sets.value = [...this.#sets.value, this.#newSet(this.#sets.value.length)];
  }

  /** @param {FieldSet} set */
  #remove(set) {
    this.#sets.value = this.#sets.value.filter((one) => one !== set);
  }

  // A refusal stands beside the field that it names, and in the outcome of the button.
  async #send() {
    this.#answer.value = await answerTo(this.request);
    const problem = problemOf(this.#answer.value);
    if (!problem) return;
    this.#sets.value.find((set) => set.has(problem.field))?.refuse(problem.field, problem.detail);
    throw new api.Refused(problem);
  }
}

// In a form a plus is a space; everywhere else it is a plus.
/** @param {CommandField} field */
const withSpaces = (field) => ({ ...field, example: field.example.replaceAll("+", "%20") });

// "HW 3.5+ SW 1.36+ before SW 1.57 or HW 3.9"
/** @param {string} available */
export function versions(available) {
  if (available === "all versions") return t("all_versions");
  return available
    .replaceAll(/before (SW \S+)/g, (_, version) => t("versions_before", { version }))
    .replaceAll(" or ", ` ${t("versions_or")} `);
}

// One path that is read: its description, query and answer.

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
  #reading;
  #id;
  /** @type {Record<string, string>} */
  #typed = observeMembers({});
  #body = signal("");
  #action;
  /** @type {Signal<Answer | null>} */
  #answer = signal(null);

  // `reading`: { method, path, operation } of the OpenAPI document.
  /** @param {AdminContext} context @param {Reading} reading @param {string} id */
  constructor(context, reading, id) {
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
    const filled = Object.entries(this.#typed).filter(([, text]) => text.trim() !== "");
    const query = new URLSearchParams(filled).toString();
    const target = query ? `${path}?${query}` : path;
    if (!this.#takesBody) return { method, target };
    return { method, target, body: this.#body.value, type: "text/plain" };
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
      ${this.#action.view()} ${answerView(this.#answer.value)}
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
        @input=${(event) => (this.#typed[name] = event.target.value)}
      />
      <small class="hint" id="${id}-hint">${describe(description).replaceAll("`", "")}</small>
    </div>`;
  }

  #bodyField() {
    return html`<div class="field">
      <label for="${this.#id}-body">${t("body")}</label>
      <input
        id="${this.#id}-body"
        autocomplete="off"
        .value=${this.#body.value}
        @input=${(event) => (this.#body.value = event.target.value)}
      />
    </div>`;
  }

  async #read() {
    this.#answer.value = await answerTo(this.request);
    const problem = problemOf(this.#answer.value);
    if (problem) throw new api.Refused(problem);
  }
}

// What the controller answered: status, kind of content, and the body made readable.

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {string} type
 * @property {number} size
 * @property {string} text
 * @property {boolean} isText
 */

// Longer answers are cut.
const MAX_LETTERS = 20_000;
const IS_TEXT = /json|xml|text|csv/;

// Sends a request and gives its answer; a refusal is an answer, too.
/** @param {Asked} request */
export async function answerTo(request) {
  const { status, type, content } = await api.ask(request);
  const isText = IS_TEXT.test(type);
  const text = isText ? await content.text() : "";
  return { status, type, size: content.size, text: pretty(type, text), isText };
}

/** @param {string} type */
const isJson = (type) => type.includes("json");

/** @param {string} type @param {string} text */
const pretty = (type, text) =>
  isJson(type) && text ? JSON.stringify(JSON.parse(text), null, 2) : text;

// The problem of a refusal; null for other answers.
/** @param {Answer} answer */
export function problemOf({ status, type, text }) {
  if (status < 400) return null;
  return isJson(type) ? JSON.parse(text) : { status, detail: `${status}` };
}

/** @param {Answer | null} answer */
function answerView(answer) {
  if (!answer) return nothing;
  const { status, type, size, text, isText } = answer;
  return html`<section class="reply" aria-live="polite">
    <p>
      <strong class=${status < 400 ? "" : "refusal"}>${status}</strong>
      <span>${type}</span> <small>${t("bytes", { size })}</small>
    </p>
    ${isText && text ? html`<pre tabindex="0">${text.slice(0, MAX_LETTERS)}</pre>` : nothing}
    ${text.length > MAX_LETTERS ? html`<p class="note">${t("cut")}</p>` : nothing}
  </section>`;
}
