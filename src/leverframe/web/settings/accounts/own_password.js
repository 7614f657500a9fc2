// Changing one's own password, and signing out.

import { html, nothing } from "../../vendor/lit-html.js";
import * as api from "../../lib/api.js";
import { leave } from "../../lib/frame.js";
import { allowed } from "../../lib/schema.js";
import { known, t } from "../../lib/words.js";

const EMPTY = { present: "", wanted: "", again: "" };

export class OwnPassword {
  /** @type {{ name: string, role: string, trusted?: string[], trusted_role?: string }} */
  account = { name: "", role: "" };
  #context;
  #typed = { ...EMPTY };
  // By field; "" for what is about none of them.
  /** @type {Record<string, string>} */
  #refusals = {};
  #busy = false;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    context.forms.add(this);
  }

  async open() {
    this.account = await api.account();
    this.#context.redraw();
  }

  get isChanged() {
    return Object.values(this.#typed).some((typed) => typed !== "");
  }

  restore() {
    this.#typed = { ...EMPTY };
    this.#refusals = {};
    this.#context.redraw();
  }

  // All sessions of the account end, this one too: what follows is the sign-in page.
  async save() {
    const { present, wanted, again } = this.#typed;
    if (wanted !== again) {
      this.#refusals = { again: known("accounts", "not_the_same") ?? "" };
      this.#context.redraw();
      return false;
    }
    this.#busy = true;
    this.#refusals = {};
    this.#context.redraw();
    try {
      await api.changePassword({ username: this.account.name, password: present, new: wanted });
      this.#typed = { ...EMPTY };
      api.goToSignIn();
      return true;
    } catch (error) {
      this.#refuse(error);
      return false;
    } finally {
      this.#busy = false;
      this.#context.redraw();
    }
  }

  /** @param {unknown} error */
  #refuse(error) {
    const isWrong = error instanceof api.Refused && error.problem.status === 401;
    const wrong = known("accounts", "present_wrong") ?? "";
    if (!(error instanceof api.Refused)) this.#refusals = { "": t("not_sent") };
    else if (isWrong) this.#refusals = { present: wrong };
    else if (error.problem.field === "new") this.#refusals = { wanted: error.message };
    else this.#refusals = { "": error.message };
  }

  view() {
    const { name, role } = this.account;
    if (!name) return nothing;
    const isComplete = Object.values(this.#typed).every((typed) => typed !== "");
    return html`<form
      class="card"
      novalidate
      ?data-changed=${this.isChanged}
      @submit=${(event) => {
        event.preventDefault();
        if (isComplete && !this.#busy) this.save();
      }}
    >
      <h2>${t("own")}</h2>
      <p class="note">${t(role === "admin" ? "signed_in_admin" : "signed_in_control", { name })}</p>
      <p class="note">${t("own_note")}</p>
      ${this.#field("present", t("present"), "current-password")}
      ${this.#field("wanted", t("wanted"), "new-password", this.#limits())}
      ${this.#field("again", t("again"), "new-password")}
      ${this.#refusals[""]
        ? html`<p class="refusal" role="alert">${this.#refusals[""]}</p>`
        : nothing}
      <footer>
        <button class="primary" ?disabled=${!isComplete || this.#busy}>${t("change")}</button>
        <button type="button" @click=${leave}>${t("sign_out")}</button>
      </footer>
    </form>`;
  }

  // What is allowed, as far as this account may know the commands.
  #limits() {
    const schema = this.#context.commands.find("passwd")?.schema("new");
    return schema ? allowed(schema) : "";
  }

  /** @param {keyof typeof EMPTY} part @param {string} label @param {AutoFill} autocomplete */
  #field(part, label, autocomplete, hint = "") {
    const refusal = this.#refusals[part];
    return html`<div class="field" ?data-wrong=${refusal}>
      <label for="own-${part}">${label}</label>
      <input
        id="own-${part}"
        type="password"
        autocomplete=${autocomplete}
        aria-describedby="own-${part}-hint"
        .value=${this.#typed[part]}
        @input=${(event) => {
          this.#typed[part] = event.target.value;
          this.#refusals = {};
          this.#context.redraw();
        }}
      />
      <small class="hint" id="own-${part}-hint">${hint}</small>
      ${refusal ? html`<p class="wrong" role="alert">${refusal}</p>` : nothing}
    </div>`;
  }
}
