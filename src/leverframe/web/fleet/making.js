// New controllers: from a template, or as copies of another one.

import { html, nothing } from "../vendor/lit-html.js";
import { t } from "../lib/format/words.js";
import { whyNot } from "../lib/forms/action.js";
import { optionsOf } from "../lib/forms/controls.js";
import * as api from "../lib/live/api.js";
import { FACTORY, TemplateChoice } from "./choices.js";
import * as node from "./node_api.js";

const nothingGiven = () => ({ name: "", count: "1", tags: "", address: "", hw: "", sw: "" });

export class Making {
  #page;
  isOpen = false;
  // The controller that is copied; null for new ones.
  /** @type {string | null} */
  #of = null;
  #given = nothingGiven();
  #template;
  /** @type {MadeReport | null} */
  #made = null;
  /** @type {{ field: string, why: string } | null} */
  #refusal = null;
  #isBusy = false;

  /** @param {FleetPageLike} page */
  constructor(page) {
    this.#page = page;
    this.#template = new TemplateChoice(page);
  }

  /** @param {string | null} of @param {string[]} like */
  open(of, like) {
    this.isOpen = true;
    this.#of = of;
    this.#template.choose(like.length === 1 ? like[0] : FACTORY);
    this.#given = { ...nothingGiven(), name: of ? `${of}-{n}` : "" };
    this.#made = null;
    this.#refusal = null;
    this.#page.redraw();
  }

  #close() {
    this.isOpen = false;
    this.#page.redraw();
  }

  view() {
    if (!this.isOpen) return nothing;
    const title = this.#of ? t("fork_of", { name: this.#of }) : t("new_controllers");
    return html`<section class="card making" aria-label=${title}>
      <h2>${title}</h2>
      <form @submit=${(event) => this.#submit(event)}>
        ${this.#text("name", { required: true, hint: t("hint_name", { n: "{n}" }) })}
        ${this.#text("count", { type: "number", min: 1, max: 1000 })}
        ${this.#of ? nothing : this.#version()}
        ${this.#of ? nothing : this.#template.view(t("make_template"), t("factory"))}
        ${this.#text("tags", { hint: t("hint_tags") })}
        ${this.#text("address", { hint: t("hint_address") })}
        <div class="do">
          <button class="primary" data-do="make" ?disabled=${this.#isBusy}>
            ${t("make", { count: Number(this.#given.count) || 1 })}
          </button>
          <button type="button" class="bare" @click=${() => this.#close()}>${t("close")}</button>
        </div>
      </form>
      ${this.#refused("")}
      ${this.#made ? told(this.#made) : nothing}
    </section>`;
  }

  /**
   * @param {keyof ReturnType<typeof nothingGiven>} key
   * @param {{ type?: string, required?: boolean, hint?: string, min?: number, max?: number }} [how]
   */
  #text(key, { type = "text", required = false, hint = "", min, max } = {}) {
    return html`<label
      ><span>${t(`make_${key}`)}</span>
      <input
        name=${key}
        type=${type}
        autocomplete="off"
        min=${min ?? nothing}
        max=${max ?? nothing}
        ?required=${required}
        .value=${this.#given[key]}
        @input=${(event) => {
          this.#given[key] = event.target.value;
          this.#page.redraw();
        }}
      />
      ${hint ? html`<small>${hint}</small>` : nothing} ${this.#refused(key)}
    </label>`;
  }

  // Under the field that it is about; "" is for what is about none.
  /** @param {string} field */
  #refused(field) {
    if (this.#refusal?.field !== field) return nothing;
    return html`<p class="refusal" role="alert">${this.#refusal.why}</p>`;
  }

  #version() {
    const newest = this.#page.node?.newest ?? {};
    const { hw } = this.#given;
    return html`<label
        ><span>${t("make_hw")}</span>
        <select
          name="hw"
          @change=${(event) => {
            this.#given.hw = event.target.value;
            this.#given.sw = newest[event.target.value] ?? "";
            this.#page.redraw();
          }}
        >
          ${optionsOf(
            [["", t("newest_version")], ...Object.keys(newest).map((name) => [name, name])],
            hw,
          )}
        </select>
      </label>
      ${hw
        ? this.#text("sw", { required: true, hint: t("hint_sw", { newest: newest[hw] }) })
        : nothing}`;
  }

  /** @param {SubmitEvent} event */
  async #submit(event) {
    event.preventDefault();
    this.#isBusy = true;
    this.#refusal = null;
    this.#made = null;
    this.#page.redraw();
    try {
      this.#made = await this.#make();
    } catch (error) {
      this.#refusal = fieldOf(error);
    }
    this.#isBusy = false;
    this.#page.redraw();
  }

  #make() {
    const { name, count, tags, address, hw, sw } = this.#given;
    const places = { count: Number(count) || 1, tags, address };
    if (this.#of) return node.make("fork", { name: this.#of, to: name, ...places });
    const { like, file } = this.#template;
    return node.make("add", { name, hw, sw: hw ? sw : "", like, ...places }, file);
  }
}

// The name of a copy is asked for as `to`.
/** @param {unknown} error */
function fieldOf(error) {
  const why = whyNot(error);
  const named = error instanceof api.Refused ? (error.problem.field ?? "") : "";
  const field = named === "to" ? "name" : named;
  if (!(field in nothingGiven())) return { field: "", why };
  // Where it stands says which field is meant.
  return { field, why: why.replace(new RegExp(`^[^:]*\\b${named}\\s?: `), "") };
}

/** @param {MadeReport} made */
function told({ names, password }) {
  const last = names.length > 1 ? names[names.length - 1] : "";
  return html`<p class="outcome" role="status">
    ${last
      ? t("made_many", { count: names.length, first: names[0], last })
      : t("made_one", { name: names[0] })}
    ${password ? html`<br />${t("made_password")} <code>${password}</code>` : nothing}
  </p>`;
}
