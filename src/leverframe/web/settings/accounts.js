// Accounts: one's own password for everybody; for the administrator all accounts and what they may.

import { html, nothing } from "../vendor/lit-html.js";
import { Form } from "../lib/form.js";
import { t } from "../lib/words.js";
import { OwnPassword } from "./accounts/own_password.js";
import { UsersForm } from "./accounts/users.js";

/** @type {PartOf} */
export function partOf(context) {
  const own = new OwnPassword(context);
  return [
    { view: () => trustedNote(own.account) },
    own,
    ...(context.isAdmin ? [signInCard(context), rightsCard(context), new UsersForm(context)] : []),
  ];
}

// What the configuration opens without a password must not be overlooked here.
/** @param {OwnPassword["account"]} account */
function trustedNote({ trusted, trusted_role }) {
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
