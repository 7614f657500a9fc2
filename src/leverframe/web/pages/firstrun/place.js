// First step: what the controller is called, which language it speaks, and where it stands.

import { html } from "../../vendor/lit-html.js";
import * as api from "../../lib/api.js";
import { optionsOf } from "../../lib/options.js";
import { allowed, choices, problemOf } from "../../lib/schema.js";
import { chooseLanguage, LANGUAGES, currentLanguage, t } from "../../lib/words.js";
import { ownZone } from "../../lib/zone.js";
import { Step } from "./step.js";

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
    this.#name = name;
    this.#language = LANGUAGES[currentLanguage()];
    this.#zone = timezone || ownZone();
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
        .value=${this.#name}
        @input=${(event) => {
          this.#name = event.target.value;
          this.typing("controller_name");
        }}
      />`,
      allowed(commands.get("sname").schema("A")),
    )}
    ${this.field(
      "language",
      html`<select id="first-language" @change=${(event) => this.#speak(event.target.value)}>
        ${optionsOf(languages, this.#language)}
      </select>`,
    )}
    ${this.field(
      "zone",
      html`<input
          id="first-zone"
          list="first-zones"
          autocomplete="off"
          aria-describedby="first-zone-hint"
          .value=${this.#zone}
          @input=${(event) => {
            this.#zone = event.target.value;
            this.typing("zone");
          }}
        />
        <datalist id="first-zones">
          ${Intl.supportedValuesOf("timeZone").map((zone) => html`<option value=${zone}></option>`)}
        </datalist>`,
      t("zone_hint"),
    )}`;
  }

  // The page speaks it at once.
  /** @param {string} language */
  #speak(language) {
    this.#language = language;
    const [name] = Object.entries(LANGUAGES).find(([, word]) => word === language) ?? [];
    if (name) chooseLanguage(name);
    this.context.redraw();
  }

  check() {
    const { commands } = this.context;
    const typed = { controller_name: ["sname", this.#name], zone: ["timezone", this.#zone] };
    this.refusals = Object.fromEntries(
      Object.entries(typed).map(([field, [command, text]]) => [
        field,
        problemOf(commands.get(command).schema("A"), text) ?? "",
      ]),
    );
    return Object.values(this.refusals).every((said) => said === "");
  }

  /** @param {string} note */
  send(note) {
    const { commands } = this.context;
    const items = [
      commands.get("sname").query({ A: this.#name }),
      commands.get("lang").query({ A: this.#language }),
      commands.get("timezone").query({ A: this.#zone }),
    ];
    return api.send(`${commands.get("sname").path}?${[...items, note].join("&")}`);
  }
}
