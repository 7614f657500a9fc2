// Tenants and their people, for the operator: listed, made and removed.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { t } from "../lib/format/words.js";
import { CONNECTION, Task } from "../lib/forms/task.js";
import { Confirmed } from "./confirmed.js";
import * as node from "./node_api.js";
import { passwords } from "./start_again.js";
import { addressWith } from "./view.js";

export class Tenants {
  #confirmed = new Confirmed();
  /** @type {Signal<{ tenants: FleetTenant[], accounts: FleetAccount[] } | null>} */
  #known = signal(null);
  // Passwords are shown once: they stay until the next ones are made.
  /** @type {Signal<AccountMade | null>} */
  #made = signal(null);
  /** @type {Signal<OpenControllers | null>} */
  #open = signal(null);
  #task = new Task({ lost: CONNECTION });
  #isAsked = false;

  view() {
    if (!this.#isAsked) {
      this.#isAsked = true;
      this.#task.run(() => this.#fetch());
    }
    const owners = this.#known.value
      ? ["", ...this.#known.value.tenants.map(({ name }) => name)]
      : [];
    return html`${this.#task.view("")}
      <section class="card tenants" aria-label=${t("tenants")}>
        ${owners.map((owner) => this.#tenant(owner))}
        <form class="do" data-form="tenant" @submit=${(event) => this.#addTenant(event)}>
          <label>${t("tenant_name")} <input name="tenant" required autocomplete="off" /></label>
          <button data-do="tenant">${t("tenant_add")}</button>
        </form>
        ${this.#task.view("tenant")}
      </section>
      ${this.#made.value ? passwordsText(this.#made.value) : nothing}
      ${this.#open.value ? openShown(this.#open.value) : nothing}
      <section class="card tenants" aria-label=${t("account_add")}>
        <form class="do" data-form="account" @submit=${(event) => this.#addAccount(event)}>
          <label>${t("account_name")} <input name="name" required autocomplete="off" /></label>
          <select name="tenant" aria-label=${t("tenant")}>
            ${owners.map((owner) => html`<option value=${owner}>${titleOf(owner)}</option>`)}
          </select>
          <select name="role" aria-label=${t("account_role")}>
            <option value="user">${t("role_user")}</option>
            <option value="administrator">${t("role_administrator")}</option>
          </select>
          <button data-do="account">${t("account_add")}</button>
        </form>
        ${this.#task.view("account")}
        <p class="quiet">${t("account_hint")}</p>
      </section>`;
  }

  /** @param {string} owner "" for the operator */
  #tenant(owner) {
    const { tenants = [], accounts = [] } = this.#known.value ?? {};
    const about = tenants.find(({ name }) => name === owner);
    const people = accounts.filter(({ tenant }) => tenant === owner);
    return html`<article class="tenant-of" data-tenant=${owner}>
      <h2>${titleOf(owner)}</h2>
      ${about
        ? html`<p>
            <a href=${addressWith({ view: "", owner, page: 1 })}
              >${t("tenant_controllers", { count: about.controllers })}</a
            >
            <span class="quiet">· ${t("tenant_max", { count: about.max_controllers })}</span>
          </p>`
        : nothing}
      <ul>
        ${people.map((person) => this.#person(person))}
      </ul>
      ${about && about.controllers === 0 && people.length === 0
        ? html`<div class="do">
            ${this.#button(`tenant:${owner}`, "remove-tenant", t("tenant_sure"), () =>
              node.removeTenant(owner),
            )}
          </div>`
        : nothing}
      ${this.#confirmed.refusal(`tenant:${owner}`)}
    </article>`;
  }

  /** @param {FleetAccount} person */
  #person({ name, role }) {
    return html`<li data-account=${name}>
      <b>${name}</b> <span class="quiet">${t(`role_${role}`)}</span>
      <div class="do">
        ${this.#button(`account:${name}`, "remove-account", t("account_sure"), () =>
          node.removeAccount(name),
        )}
      </div>
      ${this.#confirmed.refusal(`account:${name}`)}
    </li>`;
  }

  /**
   * @param {string} about
   * @param {string} what
   * @param {string} question
   * @param {() => Promise<unknown>} work
   */
  #button(about, what, question, work) {
    return this.#confirmed.button(about, what, { word: t("remove"), question }, async () => {
      await work();
      await this.#fetch();
    });
  }

  /** @param {SubmitEvent} event */
  #addTenant(event) {
    const fields = takeForm(event);
    this.#task.run(async () => {
      this.#open.value = await node.addTenant(String(fields.get("tenant")));
      fields.form.reset();
      await this.#fetch();
    }, "tenant");
  }

  /** @param {SubmitEvent} event */
  #addAccount(event) {
    const fields = takeForm(event);
    this.#task.run(async () => {
      const [name, tenant, role] = ["name", "tenant", "role"].map((key) => String(fields.get(key)));
      this.#made.value = this.#open.value = await node.addAccount(name, tenant, role);
      fields.form.reset();
      await this.#fetch();
    }, "account");
  }

  async #fetch() {
    const [tenants, accounts] = await Promise.all([node.tenants(), node.accounts()]);
    this.#known.value = { tenants, accounts };
  }
}

/** @param {string} owner */
const titleOf = (owner) => owner || t("operator");

/** @param {SubmitEvent} event */
function takeForm(event) {
  event.preventDefault();
  const form = /** @type {HTMLFormElement} */ (event.currentTarget);
  const data = new FormData(form);
  return { form, get: (/** @type {string} */ key) => data.get(key) };
}

// What the first account or tenant means for controllers that every user of the machine could use.
/** @param {OpenControllers} answer */
const openShown = ({ protected: results, left_open: count }) =>
  results.length || count
    ? html`<section class="card tenants" role="status">
        ${results.length ? html`<p>${t("protected")} ${passwords({ results })}</p>` : nothing}
        ${results
          .filter(({ password }) => !password)
          .map(({ name, detail }) => html`<p>${name}: ${detail}</p>`)}
        ${count ? html`<p>${t("left_open", { count })}</p>` : nothing}
      </section>`
    : nothing;

/** @param {AccountMade} made */
const passwordsText = ({ name, password, administrator, administrator_password: first }) =>
  html`<section class="card tenants" role="status">
    <p>${t("account_made", { name })} <code>${password}</code></p>
    ${first
      ? html`<p>${t("first_administrator", { name: administrator })} <code>${first}</code></p>`
      : nothing}
  </section>`;
