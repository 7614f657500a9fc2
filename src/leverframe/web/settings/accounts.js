// Accounts: who may do what. The administrator has all of them in one list, and a drawer for each;
// every other account has its own password.

import { html, nothing } from "../vendor/lit-html.js";
import { t } from "../lib/format/words.js";
import { Form } from "../lib/forms/form.js";
import { thingAddress } from "../lib/things/things.js";
import { AccountForm } from "./accounts/account_form.js";
import { OwnPassword } from "./accounts/own_password.js";
import { accountLabel, People } from "./accounts/people.js";

/** @type {PartOf} */
export function partOf(context) {
  if (!context.isAdmin) return [new OwnPassword(context)];
  const people = new People(context);
  return [{ view: () => trustNote(people.account) }, people, signInCard(context)];
}

/** @type {CardsOf} */
export const cardsOf = (context, { index, more }) => [new AccountForm(context, index, more)];

/** @type {CommonOf} */
export const commonOf = () => [];

// What the configuration opens without a password must not be overlooked here.
/** @param {People["account"]} account */
function trustNote({ trusted, trusted_role }) {
  if (!trusted?.length) return nothing;
  return html`<section class="card trusted">
    <h2>${t("trusted")}</h2>
    <p>${t(`trusted_${trusted_role}`, { networks: trusted.join(", ") })}</p>
  </section>`;
}

/** @param {AdminContext} context */
function signInCard(context) {
  const hasPassword = () => context.settings.access.admin.password !== null;
  /** @param {string} letter */
  const kept = (letter) => ({ command: "auth", letter, hidden: true, keepsSecret: true });
  return new Form(context, {
    title: "sign_in",
    lead: () => (hasPassword() ? nothing : passwordFirst()),
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
      {
        command: "auth",
        letter: "A",
        label: "required",
        hint: "required_hint",
        // Switched on without a password, it would be refused.
        get hidden() {
          return !hasPassword();
        },
      },
      kept("D"),
      kept("F"),
      { command: "bit0", label: "auto_sign_in", hint: "auto_hint", path: "ui.auto_sign_in" },
      { command: "auth", letter: "B", label: "updates", hint: "updates_hint" },
    ],
  });
}

const passwordFirst = () =>
  html`<p class="note">
    ${t("password_first")} <a href=${thingAddress(accountLabel(0))}>${t("set_password")}</a>
  </p>`;
