// What the Status page shows and what it hides: one tick for each place of the list.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { t } from "../../lib/format/words.js";
import { Task } from "../../lib/forms/task.js";
import * as api from "../../lib/live/api.js";
import { SHOWN_PLACES } from "../../lib/things/labels.js";
import { kindName } from "../../lib/things/things.js";

const dialog = () =>
  /** @type {HTMLDialogElement | null} */ (document.querySelector("dialog.shown"));

export class Choice {
  #context;
  #overview;
  // The places being chosen; null while the choice is closed.
  /** @type {Signal<string[] | null>} */
  #draft = signal(null);
  #task = new Task();

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    this.#overview = context.overview;
  }

  begin() {
    this.#draft.value = [...this.#overview.visibility];
    this.#task.forget();
    Promise.resolve().then(() => dialog()?.showModal());
  }

  view() {
    const draft = this.#draft.value;
    if (draft === null) return nothing;
    const places = SHOWN_PLACES.slice(0, draft.length);
    return html`<dialog
      class="shown"
      aria-labelledby="shown-title"
      @close=${() => (this.#draft.value = null)}
    >
      <form method="dialog" @submit=${(event) => this.#save(event)}>
        <h2 id="shown-title">${t("choose_shown")}</h2>
        <p class="note">${t("choose_note")}</p>
        <div class="ticks">${places.map((place, index) => this.#tick(draft, place, index))}</div>
        ${this.#task.view()}
        <footer>
          <button class="primary" value="save">${t("save")}</button>
          <button value="cancel" formnovalidate>${t("cancel")}</button>
        </footer>
      </form>
    </dialog>`;
  }

  /** @param {string[]} draft @param {string} place @param {number} index */
  #tick(draft, place, index) {
    if (!this.#isOffered(place)) return nothing;
    return html`<label>
      <input
        type="checkbox"
        .checked=${draft[index] !== "0"}
        @change=${(event) => (draft[index] = event.target.checked ? "1" : "0")}
      />
      <span>${this.#nameOf(place)}</span>
    </label>`;
  }

  // A thing by its name, with what it is beside it.
  /** @param {string} place */
  #nameOf(place) {
    if (place === "rules") return t("part_rules");
    if (place === "log") return t("page_log");
    const name = this.#overview.name(place);
    const kind = kindName(place);
    return name ? html`${name} <small>${kind}</small>` : kind;
  }

  // Everything that the page has now, and what is hidden already.
  /** @param {string} place */
  #isOffered(place) {
    if (place === "rules" || place === "log") return true;
    return this.#overview.isPresent(place) || !this.#overview.isVisible(place);
  }

  /** @param {ControlEvent} event */
  async #save(event) {
    if (event.submitter?.getAttribute("value") !== "save") return;
    event.preventDefault();
    const shown = (this.#draft.value ?? []).map((one) => one !== "0");
    const { target, body } = this.#context.commands.get("echeck").request({ A: shown });
    if (await this.#task.run(() => api.send(target, body))) dialog()?.close();
  }
}
