// New controllers: from a template, or as copies of another one.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { t } from "../lib/format/words.js";
import { optionsOf } from "../lib/forms/controls.js";
import { CONNECTION, refusalView, Task } from "../lib/forms/task.js";
import { observe } from "../lib/live/drawing.js";
import { FACTORY, TemplateChoice } from "./choices.js";
import * as node from "./node_api.js";

const nothingGiven = () => ({ name: "", count: "1", tags: "", address: "", hw: "", sw: "" });

export class Making {
  #page;
  isOpen = false;
  // The controller that is copied; null for new ones.
  /** @type {Signal<string | null>} */
  #of = signal(null);
  #given = signal(nothingGiven());
  #template;
  /** @type {Signal<MadeReport | null>} */
  #made = signal(null);
  #task = new Task({ lost: CONNECTION, fieldOf });

  /** @param {FleetPageLike} page */
  constructor(page) {
    observe(this, "isOpen");
    this.#page = page;
    this.#template = new TemplateChoice(page);
  }

  /** @param {string | null} of @param {string[]} like */
  open(of, like) {
    this.isOpen = true;
    this.#of.value = of;
    this.#template.choose(like.length === 1 ? like[0] : FACTORY);
    this.#given.value = { ...nothingGiven(), name: of ? `${of}-{n}` : "" };
    this.#made.value = null;
    this.#task.forget();
  }

  view() {
    if (!this.isOpen) return nothing;
    const title = this.#of.value ? t("fork_of", { name: this.#of.value }) : t("new_controllers");
    return html`<section class="card making" aria-label=${title}>
      <h2>${title}</h2>
      <form @submit=${(event) => this.#submit(event)}>
        ${this.#text("name", { required: true, hint: t("hint_name", { n: "{n}" }) })}
        ${this.#text("count", { type: "number", min: 1, max: 1000 })}
        ${this.#of.value ? nothing : this.#version()}
        ${this.#of.value ? nothing : this.#template.view(t("make_template"), t("factory"))}
        ${this.#text("tags", { hint: t("hint_tags") })}
        ${this.#text("address", { hint: t("hint_address") })}
        <div class="do">
          <button class="primary" data-do="make" ?disabled=${this.#task.isBusy}>
            ${t("make", { count: Number(this.#given.value.count) || 1 })}
          </button>
          <button type="button" class="bare" @click=${() => (this.isOpen = false)}>
            ${t("close")}
          </button>
        </div>
      </form>
      ${this.#task.view()} ${this.#made.value ? resultText(this.#made.value) : nothing}
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
        .value=${this.#given.value[key]}
        @input=${(event) =>
          (this.#given.value = { ...this.#given.value, [key]: event.target.value })}
      />
      ${hint ? html`<small>${hint}</small>` : nothing} ${this.#refusalOf(key)}
    </label>`;
  }

  // Under the field that it is about; "" is for what is about none.
  /** @param {string} field */
  #refusalOf(field) {
    // Where it stands says which field is meant.
    const named = new RegExp(`^[^:]*\\b(${field === "name" ? "name|to" : field})\\s?: `);
    return refusalView(this.#task.refusal(field)?.replace(named, "") ?? null);
  }

  #version() {
    const newest = this.#page.node?.newest ?? {};
    const { hw } = this.#given.value;
    return html`<label
        ><span>${t("make_hw")}</span>
        <select
          name="hw"
          @change=${(event) => {
            const chosen = event.target.value;
            this.#given.value = { ...this.#given.value, hw: chosen, sw: newest[chosen] ?? "" };
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
  #submit(event) {
    event.preventDefault();
    this.#made.value = null;
    return this.#task.run(async () => (this.#made.value = await this.#make()));
  }

  #make() {
    const { name, count, tags, address, hw, sw } = this.#given.value;
    const places = { count: Number(count) || 1, tags, address };
    if (this.#of.value) return node.make("fork", { name: this.#of.value, to: name, ...places });
    const { like, file } = this.#template;
    return node.make("add", { name, hw, sw: hw ? sw : "", like, ...places }, file);
  }
}

// The name of a copy is asked for as `to`.
/** @param {import("../lib/live/api.js").Refused} refused */
function fieldOf({ problem: { field = "" } }) {
  const own = field === "to" ? "name" : (field ?? "");
  return own in nothingGiven() ? own : "";
}

/** @param {MadeReport} made */
function resultText({ names, password }) {
  const last = names.length > 1 ? names[names.length - 1] : "";
  return html`<p class="outcome" role="status">
    ${last
      ? t("made_many", { count: names.length, first: names[0], last })
      : t("made_one", { name: names[0] })}
    ${password ? html`<br />${t("made_password")} <code>${password}</code>` : nothing}
  </p>`;
}
