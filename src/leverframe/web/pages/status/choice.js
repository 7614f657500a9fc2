// What the Status page shows and what it hides: one tick for each place of the list.

import { html, nothing } from "../../vendor/lit-html.js";
import * as api from "../../lib/api.js";
import { SHOWN_PLACES } from "../../lib/labels.js";
import { t } from "../../lib/words.js";

export class Choice {
  #context;
  #overview;
  // The places as they are being chosen; null while nobody chooses.
  #draft = null;
  #refusal = null;

  constructor(context, overview) {
    this.#context = context;
    this.#overview = overview;
  }

  button() {
    if (this.#command === null) return nothing;
    return html`<p class="choose">
      <button type="button" @click=${() => this.#begin()}>${t("choose_shown")}</button>
    </p>`;
  }

  get #command() {
    return this.#context.commands.find("echeck");
  }

  #begin() {
    this.#draft = [...this.#overview.visibility];
    this.#refusal = null;
    this.#context.redraw();
    Promise.resolve().then(() => document.querySelector("dialog.shown")?.showModal());
  }

  #end() {
    this.#draft = null;
    this.#context.redraw();
  }

  view() {
    if (this.#draft === null) return nothing;
    const places = SHOWN_PLACES.slice(0, this.#draft.length);
    return html`<dialog class="shown" aria-labelledby="shown-title" @close=${() => this.#end()}>
      <form method="dialog" @submit=${(event) => this.#save(event)}>
        <h2 id="shown-title">${t("choose_shown")}</h2>
        <p class="note">${t("choose_note")}</p>
        <div class="ticks">
          ${places.map((place, index) => this.#tick(place, index))}
        </div>
        ${this.#refusal ? html`<p class="refusal" role="alert">${this.#refusal}</p>` : nothing}
        <footer>
          <button class="primary" value="save">${t("save")}</button>
          <button value="cancel" formnovalidate>${t("cancel")}</button>
        </footer>
      </form>
    </dialog>`;
  }

  #tick(place, index) {
    if (!this.#isOffered(place)) return nothing;
    const name = this.#overview.name(place);
    const text = place === "rules" ? t("part_rules") : place === "log" ? t("happened") : place;
    return html`<label>
      <input
        type="checkbox"
        .checked=${this.#draft[index] !== "0"}
        @change=${(event) => {
          this.#draft[index] = event.target.checked ? "1" : "0";
        }}
      />
      <span>${name || text}${name ? html` <small>${place}</small>` : nothing}</span>
    </label>`;
  }

  // Everything that the page has now, and what is hidden already.
  #isOffered(place) {
    if (place === "rules" || place === "log") return true;
    return this.#overview.isPresent(place) || !this.#overview.isVisible(place);
  }

  async #save(event) {
    if (event.submitter?.value !== "save") return;
    event.preventDefault();
    const dialog = event.target.closest("dialog");
    const { target, body } = this.#command.request({ A: this.#draft.map((one) => one !== "0") });
    try {
      await api.send(target, body);
      dialog.close();
    } catch (error) {
      this.#refusal = error instanceof api.Refused ? error.message : t("not_reached");
      this.#context.redraw();
    }
  }
}
