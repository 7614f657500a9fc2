// The drawer of one account: its name, what it may do, and a new password. All of it is saved
// together; what is typed stays until the controller has accepted it.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { speaking, t } from "../../lib/format/words.js";
import { Action } from "../../lib/forms/action.js";
import { saveOnSubmit } from "../../lib/forms/draft_form.js";
import { copyable } from "../../lib/forms/controls.js";
import { toast } from "../../lib/forms/draft_form.js";
import { fetchPasswordWords } from "../../lib/forms/passwords.js";
import { problemOf } from "../../lib/forms/schema.js";
import { go, here } from "../../lib/frame/router.js";
import * as api from "../../lib/live/api.js";
import { accountsOf } from "../../lib/things/things.js";
import { PasswordFields, passwordTask } from "./password_fields.js";
import { ADMINISTRATOR, FIRST_CONTROL_USER, roleOf, USER } from "./people.js";

// `isOn`: whether a control user may sign in, and whether the user may only look.
/** @typedef {{ name: string, isOn: boolean }} Typed */

// The password that was set here last: it can be corrected without typing it again, so that a
// mistyped one locks no one out.
/** @type {{ name: string, password: string } | null} */
let setHere = null;

export class AccountForm {
  #context;
  #index;
  #task = passwordTask();
  #password;
  // What is typed; null while it is as saved.
  /** @type {Signal<Typed | null>} */
  #draft = signal(null);
  #isSaved = signal(false);
  #removal;

  /** @param {AdminContext} context @param {number} index @param {MoreOfForm} more */
  constructor(context, index, more) {
    this.#context = context;
    this.#index = index;
    this.#password = new PasswordFields(context, this.#task, `account-${index}`);
    this.#removal = new Action(context, {
      label: "remove_account",
      danger: "remove_danger",
      perform: () => this.#remove(),
    });
    more.forms?.add(this);
  }

  async open() {
    await fetchPasswordWords();
  }

  get #stored() {
    return accountsOf(this.#context.settings)[this.#index] ?? null;
  }

  get #isControlUser() {
    return this.#index >= FIRST_CONTROL_USER;
  }

  /** @returns {Typed} */
  get #unchanged() {
    const stored = this.#stored;
    const isActive = stored && "active" in stored ? stored.active === true : true;
    const isReadOnly = this.#context.settings.ui.user_read_only;
    return { name: stored?.name ?? "", isOn: this.#index === USER ? isReadOnly : isActive };
  }

  get #typed() {
    return this.#draft.value ?? this.#unchanged;
  }

  get #isRenamed() {
    return this.#typed.name !== this.#unchanged.name;
  }

  get isChanged() {
    return (
      this.#isRenamed || this.#typed.isOn !== this.#unchanged.isOn || this.#password.isChanged
    );
  }

  // The administrator's own password is asked for before a new one is set.
  get #needsPresent() {
    if (this.#index !== ADMINISTRATOR || this.#stored?.password === null) return false;
    return setHere?.name !== this.#unchanged.name;
  }

  // The controller keeps the password of a control user by the name.
  get #needsPassword() {
    return this.#isControlUser && (this.#stored === null || this.#isRenamed);
  }

  restore() {
    this.#draft.value = null;
    this.#password.restore();
    this.#task.forget();
  }

  /** @param {Partial<Typed>} part */
  #type(part) {
    this.#draft.value = { ...this.#typed, ...part };
    this.#task.forget();
  }

  get #nameSchema() {
    const [command, letter] = this.#isControlUser
      ? ["users_save", "B"]
      : ["auth", this.#index === USER ? "E" : "C"];
    return this.#context.commands.get(command).schema(letter);
  }

  #check() {
    const problem = problemOf(this.#nameSchema, this.#typed.name);
    if (problem) return this.#task.sayAll({ name: problem });
    if (!this.#password.isChanged && !this.#needsPassword) return true;
    return this.#password.check(this.#typed.name, this.#needsPresent);
  }

  async save() {
    if (this.#task.isBusy || !this.#check()) return false;
    this.#isSaved.value = await this.#task.run(async () => {
      if (this.#isControlUser) await send(this.#request);
      else await this.#sendSettings();
      await this.#context.readSettings();
      this.restore();
    });
    this.#password.sayRefused();
    return this.#isSaved.value;
  }

  get #ownItem() {
    const { name, isOn } = this.#typed;
    return [{ A: this.#place, B: name, C: this.#password.typed.wanted, D: isOn }];
  }

  get #place() {
    return this.#index - FIRST_CONTROL_USER;
  }

  // All control users go together: the others stay as they are.
  /** @param {ByLetter[]} own */
  #usersRequest(own) {
    const { users } = this.#context.settings.access;
    const others = users.flatMap((user, place) =>
      user && place !== this.#place ? [{ A: place, B: user.name, C: "", D: user.active }] : [],
    );
    const all = [...others, ...own].sort((one, other) => Number(one.A) - Number(other.A));
    return this.#context.commands.get("users_save").listRequest(all);
  }

  // Name and password of the administrator or the user; the other account stays as it is.
  /** @param {string} secret */
  #authRequest(secret) {
    const { required, updates_allowed: updates, admin, user } = this.#context.settings.access;
    const values = { A: required, B: updates, C: admin.name, D: "", E: user.name, F: "" };
    const { name } = this.#typed;
    const own = this.#index === ADMINISTRATOR ? { C: name, D: secret } : { E: name, F: secret };
    return this.#context.commands.get("auth").request({ ...values, ...own });
  }

  // What saving would send, unless a current password goes with it.
  get #request() {
    if (this.#isControlUser) return this.#usersRequest(this.#ownItem);
    return this.#authRequest(this.#password.typed.wanted);
  }

  // A session survives the change of its own password, but not of its name: the name comes last.
  async #sendSettings() {
    const { wanted } = this.#password.typed;
    const isAdministrator = this.#index === ADMINISTRATOR;
    const isKnown = this.#stored?.password !== null;
    const isOwnChange = isAdministrator && isKnown && wanted !== "";
    if (isOwnChange) await this.#changeOwn(wanted);
    if (this.#index === USER && this.#typed.isOn !== this.#unchanged.isOn) await this.#sendRight();
    if (!this.#isRenamed && (isOwnChange || wanted === "")) return;
    await send(this.#authRequest(isOwnChange ? "" : wanted));
  }

  /** @param {string} wanted */
  async #changeOwn(wanted) {
    const { name } = this.#unchanged;
    const password = this.#needsPresent ? this.#password.typed.present : setHere?.password;
    await api.changePassword({ username: name, password: password ?? "", new: wanted });
    setHere = { name, password: wanted };
  }

  async #sendRight() {
    const command = this.#context.commands.get("bit3");
    await send(command.request({ [command.lastLetter]: this.#typed.isOn }));
  }

  async #remove() {
    const { name } = this.#unchanged;
    await send(this.#usersRequest([]));
    this.restore();
    await this.#context.readSettings();
    const { name: page, params } = here();
    go(page, Object.fromEntries(params));
    toast(speaking("accounts", () => t("account_removed", { name })));
  }

  view() {
    return html`<form
      class="card"
      novalidate
      ?data-changed=${this.isChanged}
      @submit=${(event) => saveOnSubmit(event, () => this.save())}
      @keydown=${(event) => {
        if (event.key !== "Escape" || !this.isChanged) return;
        event.preventDefault();
        this.restore();
      }}
    >
      <h2>${t(`role_${roleOf(this.#index)}`)}</h2>
      <p class="note">${t(`role_note_${roleOf(this.#index)}`)}</p>
      ${this.#nameField()} ${this.#toggle()}
      ${this.#password.view({ needsPresent: this.#needsPresent, note: this.#passwordNote })}
      ${this.#task.view()} ${this.#footer()}
      ${this.#isControlUser && this.#stored ? this.#removal.view() : nothing}
    </form>`;
  }

  get #passwordNote() {
    if (this.#needsPassword) return this.#stored ? t("renamed_hint") : "";
    return this.#stored?.password === null ? "" : t("kept_hint");
  }

  #nameField() {
    const id = `account-${this.#index}-name`;
    const refusal = this.#task.refusal("name");
    return html`<div class="field" ?data-wrong=${refusal}>
      <label for=${id}>${t("name")}</label>
      <input
        id=${id}
        autocomplete="off"
        .value=${this.#typed.name}
        @input=${(event) => this.#type({ name: event.target.value })}
      />
      ${refusal ? html`<p class="wrong" role="alert">${refusal}</p>` : nothing}
    </div>`;
  }

  #toggle() {
    const hasRight = this.#isControlUser || this.#context.commands.find("bit3") !== null;
    if (this.#index === ADMINISTRATOR || !hasRight) return nothing;
    return html`<div class="field">
      <label class="toggle">
        <input
          type="checkbox"
          role="switch"
          .checked=${this.#typed.isOn}
          @change=${(event) => this.#type({ isOn: event.target.checked })}
        />
        <span>${t(this.#isControlUser ? "active" : "read_only")}</span>
      </label>
    </div>`;
  }

  #footer() {
    const isSaved = this.#isSaved.value && !this.isChanged;
    const isOwn = this.#index === ADMINISTRATOR && setHere !== null;
    return html`<footer>
        <button class="primary" ?disabled=${!this.isChanged || this.#task.isBusy}>
          ${t("save")}
        </button>
        <button type="button" ?disabled=${!this.isChanged} @click=${() => this.restore()}>
          ${t("discard")}
        </button>
        <span class="saved" role="status">${isSaved ? t("saved") : ""}</span>
        <details class="request">
          <summary>${t("as_request")}</summary>
          ${copyable(api.curl(this.#request))}
        </details>
      </footer>
      ${isSaved && isOwn ? html`<p class="note">${t("own_note")}</p>` : nothing}`;
  }
}

/** @param {CommandRequest} request */
const send = ({ target, body }) => api.send(target, body);
