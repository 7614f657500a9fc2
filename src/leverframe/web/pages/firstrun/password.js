// Second step: the administrator's password, typed twice; one that is easy to guess is refused.

import { html } from "../../vendor/lit-html.js";
import * as api from "../../lib/api.js";
import { weakness } from "../../lib/passwords.js";
import { allowed, problemOf } from "../../lib/schema.js";
import { t } from "../../lib/words.js";
import { Step } from "./step.js";

export class PasswordStep extends Step {
  title = "password_title";
  commandsOf = { wanted: "auth" };
  #typed = { wanted: "", again: "" };
  #isShown = false;

  view() {
    const { access } = this.context.settings;
    const { name } = access.admin;
    const schema = this.context.commands.get("passwd").schema("new");
    return html`<p class="note">
        ${t(access.required ? "password_note" : "password_note_open", { name })}
      </p>
      <input type="hidden" name="username" autocomplete="username" .value=${name} />
      ${this.field("wanted", this.#input("wanted"), allowed(schema))}
      ${this.field("again", this.#input("again"))}
      <label class="check">
        <input
          type="checkbox"
          .checked=${this.#isShown}
          @change=${(event) => {
            this.#isShown = event.target.checked;
            this.context.redraw();
          }}
        />
        ${t("show")}
      </label>`;
  }

  /** @param {"wanted" | "again"} part */
  #input(part) {
    return html`<input
      id="first-${part}"
      type=${this.#isShown ? "text" : "password"}
      autocomplete="new-password"
      aria-describedby="first-${part}-hint"
      .value=${this.#typed[part]}
      @input=${(event) => {
        this.#typed[part] = event.target.value;
        this.typing(part);
      }}
    />`;
  }

  check() {
    const { wanted, again } = this.#typed;
    const { settings, commands } = this.context;
    const names = [settings.access.admin.name, settings.name];
    const weak = weakness(wanted, names);
    const schema = commands.get("passwd").schema("new");
    const wrong = problemOf(schema, wanted) ?? (weak && t(`weak_${weak}`));
    this.refusals = wrong ? { wanted: wrong } : wanted === again ? {} : { again: t("not_same") };
    return Object.keys(this.refusals).length === 0;
  }

  // The sessions of the account end with its old password: whoever had one signs in anew, and the
  // first run goes on from the step that is stored in the same moment.
  /** @param {string} note */
  send(note) {
    const { commands, settings } = this.context;
    const { updates_allowed: updates, admin, user } = settings.access;
    const values = { A: true, B: updates, C: admin.name, D: this.#typed.wanted, E: user.name };
    const auth = commands.get("auth");
    return api.send(`${auth.path}?${auth.query({ ...values, F: "" })}&${note}`);
  }
}
