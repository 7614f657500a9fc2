// All accounts in one list: name, role, what they may do, last sign-in. A row opens its drawer.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { shortMoment } from "../../lib/format/moments.js";
import { t } from "../../lib/format/words.js";
import * as api from "../../lib/live/api.js";
import { observe } from "../../lib/live/drawing.js";
import { icon } from "../../lib/things/signs.js";
import { accountsOf, thingAddress } from "../../lib/things/things.js";

const MAX_SIGN_INS = 2000;
// The administrator and the user; control users come after them.
export const ADMINISTRATOR = 0;
export const USER = 1;
export const FIRST_CONTROL_USER = 2;

/** @param {number} index */
export const accountLabel = (index) => `ACCOUNT${index}`;

/** @param {number} index */
export const roleOf = (index) =>
  index === ADMINISTRATOR ? "admin" : index === USER ? "user" : "control";

export class People {
  /** @type {{ name: string, role: string, trusted?: string[], trusted_role?: string }} */
  account = { name: "", role: "" };
  #context;
  // Time of the last sign-in, by name; null before it was read.
  /** @type {Signal<Map<string, number> | null>} */
  #signIns = signal(null);

  /** @param {AdminContext} context */
  constructor(context) {
    observe(this, "account");
    this.#context = context;
  }

  async open() {
    const query = { cause: "sign-in", limit: MAX_SIGN_INS };
    const [account, entries] = await Promise.all([api.account(), api.journal(query)]);
    this.account = account;
    const signedIn = entries.filter(({ what }) => what === "signed_in");
    this.#signIns.value = new Map(signedIn.map(({ by, time }) => [by.account ?? "", time]));
  }

  get #count() {
    return accountsOf(this.#context.settings).filter((account) => account?.name).length;
  }

  view() {
    const { settings } = this.#context;
    const accounts = accountsOf(settings);
    const free = accounts.indexOf(null);
    return html`<section class="card list across" aria-labelledby="accounts-list">
      <header>
        <h2 id="accounts-list">${t("accounts_in_all", { count: this.#count })}</h2>
        ${free < 0
          ? html`<small>${t("all_accounts_used", { max: accounts.length })}</small>`
          : html`<a href=${thingAddress(accountLabel(free))}
              >${icon("plus", "s")}<span>${t("add_account")}</span></a
            >`}
      </header>
      <table class="people">
        <thead>
          <tr>
            <th>${t("name")}</th>
            <th>${t("role")}</th>
            <th>${t("may")}</th>
            <th>${t("last_sign_in")}</th>
          </tr>
        </thead>
        <tbody>
          ${accounts.map((account, index) =>
            account && account.name ? this.#row(account, index) : nothing,
          )}
        </tbody>
      </table>
    </section>`;
  }

  /** @param {Account} account @param {number} index */
  #row(account, index) {
    const isOwn = account.name === this.account.name;
    return html`<tr>
      <td>
        <a class="name" href=${thingAddress(accountLabel(index))}>${account.name}</a>
        ${isOwn ? html`<small>${t("own_account")}</small>` : nothing}
      </td>
      <td>${t(`role_${roleOf(index)}`)}</td>
      <td>${t(mayWord(this.#context.settings, account, index))}</td>
      <td data-label=${t("last_sign_in")}>${this.#lastSignIn(account.name)}</td>
    </tr>`;
  }

  /** @param {string} name */
  #lastSignIn(name) {
    if (this.#signIns.value === null) return "";
    const time = this.#signIns.value.get(name);
    if (time === undefined) return html`<span class="quiet">${t("no_sign_in")}</span>`;
    return shortMoment(time, this.#context.live.state.time);
  }
}

/** @typedef {NonNullable<ReturnType<typeof accountsOf>[number]>} Account */

// The key of what an account may do.
/** @param {Settings} settings @param {Account} account @param {number} index */
function mayWord({ access, ui }, account, index) {
  if ("active" in account && !account.active) return "may_nothing";
  if (account.password === null && access.required) return "may_without_password";
  if (index === ADMINISTRATOR) return "may_all";
  return index === USER && ui.user_read_only ? "may_look" : "may_switch";
}
