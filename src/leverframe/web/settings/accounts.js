// Accounts: the own password for every user; for the administrator all accounts and permissions.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { wordIn, t } from "../lib/format/words.js";
import { Form } from "../lib/forms/form.js";
import { limitsText } from "../lib/forms/schema.js";
import { Task } from "../lib/forms/task.js";
import { leave } from "../lib/frame/frame.js";
import * as api from "../lib/live/api.js";
import { observe } from "../lib/live/drawing.js";
import { UsersForm } from "./accounts/users.js";

/** @type {PartOf} */
export function partOf(context) {
  const own = new OwnPassword(context);
  return [
    { view: () => trustNote(own.account) },
    own,
    ...(context.isAdmin ? [signInCard(context), rightsCard(context), new UsersForm(context)] : []),
  ];
}

// What the configuration opens without a password must not be overlooked here.
/** @param {OwnPassword["account"]} account */
function trustNote({ trusted, trusted_role }) {
  if (!trusted?.length) return nothing;
  return html`<section class="card trusted">
    <h2>${t("trusted")}</h2>
    <p>${t(`trusted_${trusted_role}`, { networks: trusted.join(", ") })}</p>
  </section>`;
}

/** @param {AdminContext} context */
function signInCard(context) {
  return new Form(context, {
    title: "sign_in",
    note: "sign_in_note",
    paths: {
      auth: {
        A: "access.required",
        B: "access.updates_allowed",
        C: "access.admin.name",
        D: "access.admin.password",
        E: "access.user.name",
        F: "access.user.password",
      },
    },
    fields: [
      { command: "auth", letter: "A", label: "required", hint: "required_hint" },
      { command: "auth", letter: "B", label: "updates", hint: "updates_hint" },
      { command: "auth", letter: "C", label: "admin_name" },
      {
        command: "auth",
        letter: "D",
        label: "admin_password",
        hint: "kept_hint",
        keepsSecret: true,
      },
      { command: "auth", letter: "E", label: "user_name", hint: "user_hint" },
      {
        command: "auth",
        letter: "F",
        label: "user_password",
        hint: "kept_hint",
        keepsSecret: true,
      },
    ],
  });
}

/** @param {AdminContext} context */
function rightsCard(context) {
  return new Form(context, {
    title: "who",
    fields: [
      { command: "bit3", label: "read_only", hint: "read_only_hint", path: "ui.user_read_only" },
      { command: "bit0", label: "auto_sign_in", hint: "auto_hint", path: "ui.auto_sign_in" },
    ],
  });
}

// Changing one's own password, and signing out.

const EMPTY = { present: "", wanted: "", again: "" };

class OwnPassword {
  /** @type {{ name: string, role: string, trusted?: string[], trusted_role?: string }} */
  account = { name: "", role: "" };
  #context;
  #typed = signal({ ...EMPTY });
  #task = new Task({
    lost: "not_sent",
    fieldOf: ({ problem: { status, field } }) =>
      status === 401 ? "present" : field === "new" ? "wanted" : "",
  });

  /** @param {Context} context */
  constructor(context) {
    observe(this, "account");
    this.#context = context;
    context.forms.add(this);
  }

  async open() {
    this.account = await api.account();
  }

  get isChanged() {
    return Object.values(this.#typed.value).some((typed) => typed !== "");
  }

  restore() {
    this.#typed.value = { ...EMPTY };
    this.#task.forget();
  }

  // All sessions of the account end, this one too: what follows is the sign-in page.
  async save() {
    const { present, wanted, again } = this.#typed.value;
    if (wanted !== again) {
      this.#task.say(wordIn("accounts", "not_the_same") ?? "", "again");
      return false;
    }
    const isDone = await this.#task.run(async () => {
      await api.changePassword({ username: this.account.name, password: present, new: wanted });
      this.#typed.value = { ...EMPTY };
      api.goToSignIn();
    });
    // What the controller says of it is meant for a sign-in.
    const isWrong = this.#task.refusal("present") !== null;
    if (isWrong) this.#task.say(wordIn("accounts", "present_wrong") ?? "", "present");
    return isDone;
  }

  view() {
    const { name, role } = this.account;
    if (!name) return nothing;
    const isComplete = Object.values(this.#typed.value).every((typed) => typed !== "");
    return html`<form
      class="card"
      novalidate
      ?data-changed=${this.isChanged}
      @submit=${(event) => {
        event.preventDefault();
        if (isComplete && !this.#task.isBusy) this.save();
      }}
    >
      <h2>${t("own")}</h2>
      <p class="note">${t(role === "admin" ? "signed_in_admin" : "signed_in_control", { name })}</p>
      <p class="note">${t("own_note")}</p>
      ${this.#field("present", t("present"), "current-password")}
      ${this.#field("wanted", t("wanted"), "new-password", this.#limits())}
      ${this.#field("again", t("again"), "new-password")} ${this.#task.view()}
      <footer>
        <button class="primary" ?disabled=${!isComplete || this.#task.isBusy}>
          ${t("change")}
        </button>
        <button type="button" @click=${leave}>${t("sign_out")}</button>
      </footer>
    </form>`;
  }

  // What is allowed, as far as this account may know the commands.
  #limits() {
    const schema = this.#context.commands.find("passwd")?.schema("new");
    return schema ? limitsText(schema) : "";
  }

  /** @param {keyof typeof EMPTY} part @param {string} label @param {AutoFill} autocomplete */
  #field(part, label, autocomplete, hint = "") {
    const refusal = this.#task.refusal(part);
    return html`<div class="field" ?data-wrong=${refusal}>
      <label for="own-${part}">${label}</label>
      <input
        id="own-${part}"
        type="password"
        autocomplete=${autocomplete}
        aria-describedby="own-${part}-hint"
        .value=${this.#typed.value[part]}
        @input=${(event) => {
          this.#typed.value = { ...this.#typed.value, [part]: event.target.value };
          this.#task.forget();
        }}
      />
      <small class="hint" id="own-${part}-hint">${hint}</small>
      ${refusal ? html`<p class="wrong" role="alert">${refusal}</p>` : nothing}
    </div>`;
  }
}
