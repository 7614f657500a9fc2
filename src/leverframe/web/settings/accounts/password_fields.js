// The fields for a new password: the current one where it is needed, and the new one twice.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { t, wordIn } from "../../lib/format/words.js";
import { passwordProblems } from "../../lib/forms/passwords.js";
import { limitsText } from "../../lib/forms/schema.js";
import { Task } from "../../lib/forms/task.js";

const EMPTY = { present: "", wanted: "", again: "" };

// What the controller refuses stands at the field that it is about.
export const passwordTask = () =>
  new Task({
    lost: "not_sent",
    fieldOf: ({ problem: { status, field } }) =>
      status === 401 ? "present" : field === "new" ? "wanted" : "",
  });

export class PasswordFields {
  #context;
  #task;
  #id;
  #typed = signal({ ...EMPTY });

  /** @param {Context} context @param {Task} task @param {string} id */
  constructor(context, task, id) {
    this.#context = context;
    this.#task = task;
    this.#id = id;
  }

  get typed() {
    return this.#typed.value;
  }

  get isChanged() {
    return Object.values(this.#typed.value).some((typed) => typed !== "");
  }

  restore() {
    this.#typed.value = { ...EMPTY };
  }

  // What is allowed, as far as this account may know the commands.
  get #schema() {
    return this.#context.commands.find("passwd")?.schema("new");
  }

  // Whether it can be sent; else the task says why not.
  /** @param {string} name @param {boolean} needsPresent */
  check(name, needsPresent) {
    const names = [name, this.#context.overview.deviceName];
    const problems = passwordProblems(this.typed, this.#schema, names);
    const isMissing = needsPresent && this.typed.present === "";
    const present = isMissing ? (wordIn("accounts", "present_needed") ?? "") : "";
    return this.#task.sayAll({ present, ...problems });
  }

  // What the controller says of a wrong password is meant for a sign-in.
  sayRefused() {
    if (this.#task.refusal("present") === null) return;
    this.#task.say(wordIn("accounts", "present_wrong") ?? "", "present");
  }

  /** @param {{ needsPresent: boolean, note?: string }} how */
  view({ needsPresent, note = "" }) {
    const limits = this.#schema ? limitsText(this.#schema) : "";
    const hint = [note, limits].filter(Boolean).join(" ");
    return html`${needsPresent
      ? this.#field("present", t("present"), "current-password")
      : nothing}
    ${this.#field("wanted", t("wanted"), "new-password", hint)}
    ${this.#field("again", t("again"), "new-password")}`;
  }

  /** @param {keyof typeof EMPTY} part @param {string} label @param {AutoFill} autocomplete */
  #field(part, label, autocomplete, hint = "") {
    const id = `${this.#id}-${part}`;
    const refusal = this.#task.refusal(part);
    return html`<div class="field" ?data-wrong=${refusal}>
      <label for=${id}>${label}</label>
      <input
        id=${id}
        type="password"
        autocomplete=${autocomplete}
        aria-describedby="${id}-hint"
        .value=${this.typed[part]}
        @input=${(event) => {
          this.#typed.value = { ...this.typed, [part]: event.target.value };
          this.#task.forget();
        }}
      />
      <small class="hint" id="${id}-hint">${hint}</small>
      ${refusal ? html`<p class="wrong" role="alert">${refusal}</p>` : nothing}
    </div>`;
  }
}
