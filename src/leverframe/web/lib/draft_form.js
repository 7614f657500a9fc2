// What forms with a look of their own have in common with cards: they are saved, refused, restored
// and left in the same way, and what is typed outlasts refusals and lost connections.
//
// A form gives `hasProblem` (then it cannot be sent), `send(how)` and `letters` (of the fields that
// a refusal can stand beside). Its draft has `isNew`, `isChanged` and `restore()`.

import { html, nothing } from "../vendor/lit-html.js";
import * as api from "./api.js";
import { copyableRequest } from "./copyable.js";
import { focusWrong } from "./focus.js";
import { toast } from "./toast.js";
import { t } from "./words.js";

/** @typedef {{ isNew: boolean, isChanged: boolean, restore(): void }} AnyDraft */

/** @template {AnyDraft} T */
export class DraftForm {
  draft;
  context;
  /** @type {string[]} */
  letters = [];
  saving = false;
  // Has it been tried to save? Before, what is not complete is not wrong.
  tried = false;
  #left;
  // By letter; "" for what is about no field.
  /** @type {Record<string, string>} */
  #refusals = {};

  // `left()` is called when nothing is left to edit.
  /** @param {AdminContext} context @param {T} draft @param {() => void} left */
  constructor(context, draft, left) {
    this.context = context;
    this.draft = draft;
    this.#left = left;
    context.forms.add(this);
  }

  get isChanged() {
    return this.draft.isChanged;
  }

  get hasProblem() {
    return false;
  }

  /** @param {boolean} [_how] @returns {Promise<void>} */
  async send(_how) {}

  /** @param {string} letter */
  refusal(letter) {
    return this.#refusals[letter] ?? null;
  }

  get refusalView() {
    const said = this.#refusals[""];
    return said ? html`<p class="refusal" role="alert">${said}</p>` : nothing;
  }

  // To be called with everything that is typed.
  touched() {
    this.#refusals = {};
    this.context.redraw();
  }

  restore() {
    this.draft.restore();
    this.tried = false;
    this.touched();
  }

  leave() {
    this.drop();
    this.#left();
  }

  // Another one takes its place.
  drop() {
    this.context.forms.delete(this);
  }

  // True when it is saved.
  /** @param {boolean} [how] */
  async save(how) {
    this.tried = true;
    if (this.saving || this.hasProblem) {
      this.context.redraw();
      return false;
    }
    this.saving = true;
    this.context.redraw();
    const done = await this.#sent(how);
    this.saving = false;
    if (done) {
      this.leave();
      this.tellSaved();
    }
    this.context.redraw();
    return done;
  }

  // The form is gone by then: the line at the foot of the page says it.
  tellSaved() {
    toast(t("saved"));
  }

  /** @param {boolean | undefined} how */
  async #sent(how) {
    try {
      await this.send(how);
      return true;
    } catch (error) {
      const refusal = error instanceof api.Refused ? error : null;
      const field = refusal?.problem.field ?? "";
      const said = refusal?.message ?? t("not_sent");
      this.#refusals = { [this.letters.includes(field) ? field : ""]: said };
      return false;
    }
  }

  /** @param {Event} event @returns {void} */
  submitted(event) {
    event.preventDefault();
    const form = /** @type {HTMLElement} */ (event.currentTarget);
    this.save().then((done) => {
      if (!done) focusWrong(form);
    });
  }

  // What was begun from nothing has nothing to go back to; it is cancelled by its button.
  /** @param {KeyboardEvent} event */
  pressed(event) {
    if (event.key !== "Escape" || this.draft.isNew) return;
    event.preventDefault();
    if (this.draft.isChanged) this.restore();
    else this.leave();
  }

  // What saving would send, to be read and copied.
  /** @param {CommandRequest | null} request */
  requestView(request) {
    return html`<details class="request">
      <summary>${t("as_request")}</summary>
      ${copyableRequest(request ? api.curl(request) : "")}
    </details>`;
  }
}
