// Panel, the "Status for user": a picture with outputs, inputs and readings where they are.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { t } from "../lib/format/words.js";
import { Action } from "../lib/forms/action.js";
import { refusalView, Task } from "../lib/forms/task.js";
import * as api from "../lib/live/api.js";
import { contactWord, INPUTS, OUTPUTS, PWMS } from "../lib/things/labels.js";
import { Switches } from "../lib/things/switches.js";
import { kindName, thingName } from "../lib/things/things.js";
import { Layout } from "./panel/layout.js";
import { Stage } from "./panel/stage.js";

export class Page {
  #context;
  #overview;
  #switches;
  #layout;
  #stage;
  /** @type {Signal<string | null>} */
  #picture = signal(null);
  #removal;
  #task = new Task({ lost: "not_sent" });

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    this.#overview = context.overview;
    this.#switches = new Switches(context);
    this.#layout = new Layout(context);
    this.#stage = new Stage(this.#layout, (labels) => this.#element(labels));
    this.#removal = new Action(context, {
      label: "remove_picture",
      danger: "remove_danger",
      perform: () => this.#removePicture(),
    });
  }

  async open() {
    addEventListener("keydown", this.#onKeydown);
    await this.#readPicture();
  }

  close() {
    removeEventListener("keydown", this.#onKeydown);
    this.#layout.end();
    this.#stage.close();
  }

  async #readPicture() {
    const { picture } = await api.panel();
    this.#picture.value = picture;
    this.#stage.picture = picture;
  }

  async #removePicture() {
    await api.send(this.#context.commands.get("delpicture").request({}).target);
    await this.#readPicture();
  }

  /** @param {ControlEvent} event */
  async #upload(event) {
    const [file] = event.target.files ?? [];
    if (!file) return;
    await this.#task.run(async () => {
      await api.uploadPicture(file);
      await this.#readPicture();
    });
    event.target.value = "";
  }

  view() {
    const isArranged = this.#layout.isArranged;
    const isEmpty = this.#layout.placed.length === 0 && this.#picture.value === null;
    return html`<div class="panel">
      ${isArranged ? this.#advice() : nothing}
      ${isEmpty && !isArranged
        ? this.#teach()
        : this.#stage.view((labels) => this.#name(labels[0]))}
      ${isArranged ? this.#tray() : this.#list(isEmpty)}
    </div>`;
  }

  tools() {
    if (!this.#context.isAdmin) return nothing;
    if (!this.#layout.isArranged) {
      return html`<button type="button" @click=${() => this.#layout.begin()}>
        ${t("arrange")}
      </button>`;
    }
    return html`<label class="file">
        <small>${t("choose_picture")}</small>
        <input
          type="file"
          accept="image/png,image/jpeg,image/gif,image/webp"
          @change=${(event) => this.#upload(event)}
        />
      </label>
      ${this.#picture.value === null ? nothing : this.#removal.view()}
      <button type="button" class="primary" @click=${() => this.#layout.save()}>
        ${t("save")}
      </button>
      <button type="button" ?disabled=${!this.#layout.canUndo} @click=${() => this.#layout.undo()}>
        ${t("undo")}
      </button>
      <button type="button" @click=${() => this.#layout.end()}>${t("cancel")}</button>`;
  }

  #advice() {
    return html`${refusalView(this.#layout.refusal ?? this.#task.refusal())}
      <p class="note" id="arrange-keys">
        ${t("arrange_note")} <span class="keys">${t("arrange_keys")}</span>
      </p>`;
  }

  // The key that undoes everywhere.
  /** @param {KeyboardEvent} event */
  #onKeydown = (event) => {
    if (!this.#layout.isArranged || !(event.ctrlKey || event.metaKey) || event.key !== "z") return;
    event.preventDefault();
    this.#layout.undo();
  };

  // Empty places teach.
  #teach() {
    return html`<p class="empty">${this.#context.isAdmin ? t("teach_admin") : t("teach_user")}</p>`;
  }

  #tray() {
    const unplaced = this.#layout.unplaced;
    return html`<section class="card" aria-labelledby="tray">
      <h2 id="tray">${t("tray")}</h2>
      <p class="note">${t("tray_note")}</p>
      <div class="tray">
        ${unplaced.map(
          ({ index, labels }) =>
            html`<button
              type="button"
              data-element=${labels[0]}
              @pointerdown=${(event) => this.#stage.take(event, index)}
              @click=${() => this.#stage.putDown(index)}
            >
              ${this.#distinctName(labels[0])}
            </button>`,
        )}
      </div>
    </section>`;
  }

  // A phone has no room for levers on a picture: there all that is on it stands below, too. Where
  // nothing is on it, everything does.
  /** @param {boolean} isEmpty */
  #list(isEmpty) {
    const elements = isEmpty ? this.#layout.elements : this.#layout.placed;
    if (elements.length === 0) return nothing;
    return html`<section class=${isEmpty ? "card list-of-all" : "card list-of-placed"}>
      ${elements.map(({ labels }) => html`<div class="item">${this.#element(labels)}</div>`)}
    </section>`;
  }

  /** @param {string} label */
  #name(label) {
    return thingName(this.#context, label);
  }

  // An output and its meter may have one name.
  /** @param {string} label */
  #distinctName(label) {
    const name = this.#name(label);
    const alike = this.#layout.elements.filter(({ labels }) => this.#name(labels[0]) === name);
    return alike.length > 1 ? `${name} · ${kindName(label)}` : name;
  }

  /** @param {string[]} labels */
  #element(labels) {
    const [label] = labels;
    if (OUTPUTS.includes(label) || PWMS.includes(label)) return this.#switches.lever(label);
    const isStale = this.#context.live.connection === "lost";
    return html`<div class="reading" ?data-stale=${isStale}>
      <span class="name">${this.#name(label)}</span>
      ${INPUTS.includes(label) ? this.#level(label) : labels.map((one) => this.#value(one, labels))}
    </div>`;
  }

  /** @param {string} label */
  #level(label) {
    const on = this.#overview.isOn(label);
    return html`<span class="value" ?data-absent=${on === null}>
      ${on === null ? "–" : contactWord(on)}
    </span>`;
  }

  /** @param {string} label @param {string[]} labels */
  #value(label, labels) {
    if (!this.#overview.isPresent(label)) return nothing;
    const { text, unit, absent } = this.#overview.formatValue(label);
    const since = this.#overview.absentSince(label);
    const isOneOfMany = labels.length > 2;
    return html`<span class="value" ?data-absent=${absent}>
        ${isOneOfMany ? html`<small>${label}</small>` : nothing} ${text}<small
          >${absent ? "" : unit}</small
        >
      </span>
      ${absent && since
        ? html`<small class="gone">
            ${t("gone_since", { time: this.#overview.moment(since) })}
          </small>`
        : nothing}`;
  }
}
