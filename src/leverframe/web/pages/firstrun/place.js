// The steps of the first run that set place and password.

import { html } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { chooseLanguage, currentLanguage, LANGUAGES, t } from "../../lib/format/words.js";
import { ownZone } from "../../lib/format/zone.js";
import { optionsOf } from "../../lib/forms/controls.js";
import { limitsText, choices, problemOf } from "../../lib/forms/schema.js";
import { passwordProblems } from "../../lib/forms/passwords.js";
import * as api from "../../lib/live/api.js";
import { observeMembers } from "../../lib/live/drawing.js";
import { Step } from "./step.js";

// First step: what the controller is called, which language it speaks, and where it stands.

export class PlaceStep extends Step {
  title = "place_title";
  commandsOf = { controller_name: "sname", language: "lang", zone: "timezone" };
  #name;
  #language;
  #zone;

  /** @param {AdminContext} context */
  constructor(context) {
    super(context);
    const { name, timezone } = context.settings;
    this.#name = signal(name);
    this.#language = signal(LANGUAGES[currentLanguage()]);
    this.#zone = signal(timezone || ownZone());
  }

  view() {
    const { commands } = this.context;
    const languages = choices(commands.get("lang").schema("A"));
    return html`${this.field(
      "controller_name",
      html`<input
        id="first-controller_name"
        autocomplete="off"
        placeholder=${t("name_such_as")}
        aria-describedby="first-controller_name-hint"
        .value=${this.#name.value}
        @input=${(event) => {
          this.#name.value = event.target.value;
          this.typing("controller_name");
        }}
      />`,
      limitsText(commands.get("sname").schema("A")),
    )}
    ${this.field(
      "language",
      html`<select id="first-language" @change=${(event) => this.#speak(event.target.value)}>
        ${optionsOf(languages, this.#language.value)}
      </select>`,
    )}
    ${this.field(
      "zone",
      html`<input
          id="first-zone"
          list="first-zones"
          autocomplete="off"
          aria-describedby="first-zone-hint"
          .value=${this.#zone.value}
          @input=${(event) => {
            this.#zone.value = event.target.value;
            this.typing("zone");
          }}
        />
        <datalist id="first-zones">
          ${Intl.supportedValuesOf("timeZone").map((zone) => html`<option value=${zone}></option>`)}
        </datalist>`,
      t("zone_hint"),
    )}`;
  }

  // The page uses the language immediately.
  /** @param {string} language */
  #speak(language) {
    this.#language.value = language;
    const [name] = Object.entries(LANGUAGES).find(([, word]) => word === language) ?? [];
    if (name) chooseLanguage(name);
  }

  check() {
    const { commands } = this.context;
    const typed = {
      controller_name: ["sname", this.#name.value],
      zone: ["timezone", this.#zone.value],
    };
    const problems = Object.entries(typed).map(([field, [command, text]]) => [
      field,
      problemOf(commands.get(command).schema("A"), text) ?? "",
    ]);
    return this.task.sayAll(Object.fromEntries(problems));
  }

  /** @param {string} note */
  send(note) {
    const { commands } = this.context;
    const items = [
      commands.get("sname").query({ A: this.#name.value }),
      commands.get("lang").query({ A: this.#language.value }),
      commands.get("timezone").query({ A: this.#zone.value }),
    ];
    return api.send(`${commands.get("sname").path}?${[...items, note].join("&")}`);
  }
}

// Second step: the administrator's password, typed twice; one that is easy to guess is refused.

// The sign-in page fills the name in.
const NEXT_ACCOUNT = "leverframe.account";

export class PasswordStep extends Step {
  title = "password_title";
  commandsOf = { wanted: "auth" };
  #typed = observeMembers({ wanted: "", again: "" });
  #isShown = signal(false);

  view() {
    const { access } = this.context.settings;
    const { name } = access.admin;
    const schema = this.context.commands.get("passwd").schema("new");
    return html`<p class="note">
        ${t(access.required ? "password_note" : "password_note_open", { name })}
      </p>
      <input type="hidden" name="username" autocomplete="username" .value=${name} />
      ${this.field("wanted", this.#input("wanted"), limitsText(schema))}
      ${this.field("again", this.#input("again"))}
      <label class="check">
        <input
          type="checkbox"
          .checked=${this.#isShown.value}
          @change=${(event) => (this.#isShown.value = event.target.checked)}
        />
        ${t("show")}
      </label>`;
  }

  /** @param {"wanted" | "again"} part */
  #input(part) {
    return html`<input
      id="first-${part}"
      type=${this.#isShown.value ? "text" : "password"}
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
    const { settings, commands } = this.context;
    const names = [settings.access.admin.name, settings.name];
    const schema = commands.get("passwd").schema("new");
    return this.task.sayAll(passwordProblems(this.#typed, schema, names));
  }

  // The sessions of the account end with its old password: every session signs in again, and the
  // first run continues at the step that is stored in the same request.
  /** @param {string} note */
  send(note) {
    const { commands, settings } = this.context;
    sessionStorage.setItem(NEXT_ACCOUNT, settings.access.admin.name);
    const { updates_allowed: updates, admin, user } = settings.access;
    const values = { A: true, B: updates, C: admin.name, D: this.#typed.wanted, E: user.name };
    const auth = commands.get("auth");
    return api.send(`${auth.path}?${auth.query({ ...values, F: "" })}&${note}`);
  }
}
