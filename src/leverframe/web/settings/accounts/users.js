// The control users: a list that is saved as a whole. They look and switch, and set up nothing.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { t } from "../../lib/format/words.js";
import { copyable } from "../../lib/forms/controls.js";
import { limitsText, problemOf } from "../../lib/forms/schema.js";
import { Task } from "../../lib/forms/task.js";
import * as api from "../../lib/live/api.js";
import { focusWrong } from "../../lib/live/drawing.js";
import { isSame } from "../../lib/live/tree.js";

/** @typedef {{ name: string, password: string, active: boolean }} User */

export class UsersForm {
  #context;
  #command;
  // What is typed; null while the list is as saved. Each: { name, password, active }.
  /** @type {Signal<User[] | null>} */
  #draft = signal(null);
  #task = new Task({ lost: "not_sent" });
  #saved = signal(false);

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#command = context.commands.get("users_save");
    context.forms.add(this);
  }

  get #stored() {
    return this.#context.settings.access.users
      .filter((user) => user !== null)
      .map(({ name, active }) => ({ name, password: "", active }));
  }

  get #users() {
    return this.#draft.value ?? this.#stored;
  }

  get isChanged() {
    return this.#draft.value !== null && !isSame(this.#draft.value, this.#stored);
  }

  get #max() {
    return this.#context.settings.access.users.length;
  }

  restore() {
    this.#draft.value = null;
    this.#task.forget();
  }

  /** @param {User[]} users */
  #put(users) {
    this.#draft.value = users;
    this.#task.forget();
    this.#saved.value = false;
  }

  /** @param {number} index @param {keyof User} part @param {string | boolean} value */
  #change(index, part, value) {
    this.#put(this.#users.with(index, { ...this.#users[index], [part]: value }));
  }

  /** @param {string} letter @param {string} typed */
  #problem(letter, typed) {
    return this.isChanged ? problemOf(this.#command.schema(letter), typed) : null;
  }

  get #request() {
    return this.#command.listRequest(
      this.#users.map(({ name, password, active }, place) => ({
        A: place,
        B: name,
        C: password,
        D: active,
      })),
    );
  }

  async save() {
    const isWrong = this.#users.some(
      ({ name, password }) => this.#problem("B", name) ?? this.#problem("C", password),
    );
    if (this.#task.isBusy || isWrong) return false;
    this.#saved.value = await this.#task.run(async () => {
      const { target, body } = this.#request;
      await api.send(target, body);
      await this.#context.readSettings();
      this.#draft.value = null;
    });
    return this.#saved.value;
  }

  view() {
    return html`<form
      class="card across"
      novalidate
      ?data-changed=${this.isChanged}
      @submit=${async (event) => {
        event.preventDefault();
        const form = event.currentTarget;
        if (!(await this.save())) focusWrong(form);
      }}
      @keydown=${(event) => event.key === "Escape" && this.isChanged && this.restore()}
    >
      <h2>${t("users")}</h2>
      <p class="note">${t("users_note")}</p>
      ${this.#users.length === 0
        ? html`<p class="empty">${t("no_users")}</p>`
        : html`<ul class="people">
            ${this.#users.map((user, index) => this.#row(user, index))}
          </ul>`}
      ${this.#task.view()} ${this.#footer()}
    </form>`;
  }

  /** @param {User} user @param {number} index */
  #row({ name, password, active }, index) {
    return html`<li>
      ${this.#input(index, "name", t("user"), name, "B")}
      ${this.#input(index, "password", t("new_password"), password, "C")}
      <label class="toggle">
        <input
          type="checkbox"
          role="switch"
          .checked=${active}
          @change=${(event) => this.#change(index, "active", event.target.checked)}
        />
        <span>${t("active")}</span>
      </label>
      <button type="button" @click=${() => this.#put(this.#users.toSpliced(index, 1))}>
        ${t("remove")}
      </button>
    </li>`;
  }

  /**
   * @param {number} index
   * @param {keyof User} part
   * @param {string} label
   * @param {string} typed
   * @param {string} letter
   */
  #input(index, part, label, typed, letter) {
    const problem = this.#problem(letter, typed);
    const id = `users-${index}-${part}`;
    const isSecret = part === "password";
    return html`<div class="field" ?data-wrong=${problem}>
      <label for=${id}>${label}</label>
      <input
        id=${id}
        type=${isSecret ? "password" : "text"}
        autocomplete=${isSecret ? "new-password" : "off"}
        placeholder=${isSecret && this.#isKnown(index) ? t("password_stays") : ""}
        aria-describedby="${id}-hint"
        .value=${typed}
        @input=${(event) => this.#change(index, part, event.target.value)}
      />
      <small class="hint" id="${id}-hint">${limitsText(this.#command.schema(letter))}</small>
      ${problem ? html`<p class="wrong" role="alert">${problem}</p>` : nothing}
    </div>`;
  }

  // A password belongs to its name: a renamed user needs a new one.
  /** @param {number} index */
  #isKnown(index) {
    return this.#stored.some(({ name }) => name === this.#users[index].name);
  }

  #footer() {
    const isFull = this.#users.length >= this.#max;
    const add = () => this.#put([...this.#users, { name: "", password: "", active: true }]);
    return html`<footer>
      <button class="primary" ?disabled=${!this.isChanged || this.#task.isBusy}>
        ${t("save")}
      </button>
      <button type="button" ?disabled=${!this.isChanged} @click=${() => this.restore()}>
        ${t("discard")}
      </button>
      <button type="button" ?disabled=${isFull} @click=${add}>${t("add_user")}</button>
      <small>${t("how_many", { count: this.#users.length, max: this.#max })}</small>
      <span class="saved" role="status"
        >${this.#saved.value && !this.isChanged ? t("saved") : ""}</span
      >
      <details class="request">
        <summary>${t("as_request")}</summary>
        ${copyable(api.curl(this.#request))}
      </details>
    </footer>`;
  }
}
