// One command: its fields, what it is for and for whom, the request, and the answer to it.

import { html, nothing } from "../../vendor/lit-html.js";
import { Action } from "../../lib/action.js";
import * as api from "../../lib/api.js";
import { copyable } from "../../lib/copyable.js";
import { described } from "../../lib/described.js";
import { t } from "../../lib/words.js";
import { answerTo, answerView, problemOf } from "./answer.js";
import { fieldName } from "./field_names.js";
import { FieldSet } from "./field_set.js";

/** @import { Answer } from "./answer.js" */

// Something is lost, or the controller is away for a while.
const DANGEROUS = new Set([
  ...["eeprom_reset", "devrestart", "lk3restart", "upgrade", "settingsupload", "wwwfileupload"],
  ...["eventdel", "delpicture", "users_save", "auth", "eclear"],
]);

export class CommandCard {
  #context;
  #command;
  #id;
  // One, or one for each entry of a list.
  #sets;
  /** @type {File | null} */
  #file = null;
  #action;
  /** @type {Answer | null} */
  #answer = null;

  /** @param {AdminContext} context @param {Command} command @param {string} id */
  constructor(context, command, id) {
    this.#context = context;
    this.#command = command;
    this.#id = id;
    this.#sets = [this.#newSet(0)];
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
      described(fieldName(this.#command, letter)),
    );
  }

  get #hasProblem() {
    if (this.#kind === "upload") return this.#file === null;
    return this.#sets.some((set) => set.hasProblem);
  }

  /** @returns {Asked} */
  get request() {
    const { method } = this.#command;
    if (this.#kind === "list") {
      return { method, ...this.#command.listRequest(this.#sets.map((set) => set.values)) };
    }
    if (this.#kind === "upload") {
      const { target } = this.#command.request({});
      const type = this.#file?.type || "application/octet-stream";
      return { method, target, body: this.#file, type };
    }
    return { method, ...this.#command.request(this.#sets[0].values) };
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
      ${answerView(this.#answer)}
    </div>`;
  }

  #sending() {
    return html`<div class="request">${copyable(api.curl(this.request))}</div>
      ${this.#action.view()}`;
  }

  #fields() {
    if (this.#kind === "upload") return this.#upload();
    const changed = () => this.#context.redraw();
    if (this.#kind !== "list") return this.#sets[0].view(changed);
    return html`${this.#sets.map(
        (set, number) => html`<fieldset class="entry">
          <legend>${t("entry", { number: number + 1 })}</legend>
          ${set.view(changed)}
          <button type="button" @click=${() => this.#remove(set)}>${t("remove")}</button>
        </fieldset>`,
      )}
      <button type="button" @click=${() => this.#add()}>${t("add")}</button>`;
  }

  #upload() {
    const { content, max_bytes: size } = this.#command.body ?? {};
    return html`<div class="field">
      <label for="${this.#id}-file"
        >${t("file")} <small>${described(content ?? "")}</small></label
      >
      <input id="${this.#id}-file" type="file" @change=${(event) => this.#choose(event)} />
      <small class="hint">${t("bytes_at_most", { size })}</small>
    </div>`;
  }

  /** @param {ControlEvent} event */
  #choose(event) {
    this.#file = event.target.files?.[0] ?? null;
    this.#context.redraw();
  }

  #add() {
    this.#sets = [...this.#sets, this.#newSet(this.#sets.length)];
    this.#context.redraw();
  }

  /** @param {FieldSet} set */
  #remove(set) {
    this.#sets = this.#sets.filter((one) => one !== set);
    this.#context.redraw();
  }

  // A refusal stands beside the field that it names, and in the outcome of the button.
  async #send() {
    this.#answer = await answerTo(this.request);
    const problem = problemOf(this.#answer);
    if (!problem) return;
    this.#sets.find((set) => set.has(problem.field))?.refuse(problem.field, problem.detail);
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
