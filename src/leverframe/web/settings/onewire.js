// 1-Wire: find the thermometers on the bus and give them to DS1-DS8; name and correct each.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { t } from "../lib/format/words.js";
import { Action } from "../lib/forms/action.js";
import { Form } from "../lib/forms/form.js";
import { Task } from "../lib/forms/task.js";
import * as api from "../lib/live/api.js";
import { ShownMap } from "../lib/live/drawing.js";
import { idsOnBus, NO_ID } from "../lib/things/buses.js";
import { thingName } from "../lib/things/things.js";

const FIRST_EXTRA_SLOT = 4;

/** @type {CardsOf} */
export function cardsOf(context, { index, label, more }) {
  const at = { A: index + 1 };
  const path = `onewire.${index}`;
  const free = new Action(context, {
    label: "free",
    command: "dswrite=<A>:<B>",
    values: { ...at, B: NO_ID },
    danger: ["free_danger", { label: thingName(context, label) }],
    done: "freed",
  });
  return [
    new Form(context, {
      title: "settings",
      tail: () => (context.settings.onewire[index].id === NO_ID ? nothing : free.view()),
      fields: [
        { command: "tname", at: { A: index }, label: "name", path: `${path}.name` },
        { command: "dswrite=<A>:<B>", at, label: "id", path: `${path}.id`, none: [NO_ID, ""] },
        { command: "dsOffset=<A>:<B>", at, label: "offset", unit: "°C", path: `${path}.offset` },
      ],
      opened: ["name", "offset"],
      ...more,
    }),
  ];
}

/** @type {CommonOf} */
export const commonOf = (context, more) => [
  new BusScan(context),
  ...context.settings.onewire_extra.map((_, sensor) => extraCard(context, sensor, more)),
];

// Further thermometers, which the choice of m1-m30 calls slots 4 to 6.
/** @param {AdminContext} context @param {number} sensor @param {MoreOfForm} more */
function extraCard(context, sensor, more) {
  const slot = FIRST_EXTRA_SLOT + sensor;
  return new Form(context, {
    title: ["extra", { number: sensor + 1 }],
    note: "extra_note",
    isUnused: () =>
      context.settings.onewire_extra[sensor].names.every((name) => name === "") &&
      context.settings.modbus_mapping.every((mapped) => mapped.slot !== slot),
    fields: context.settings.onewire_extra[sensor].names.map((_, number) => ({
      command: "onewirename<A><B>",
      at: { A: sensor, B: number },
      label: ["extra_name", { number }],
    })),
    ...more,
  });
}

// Going through the IDs that answer on the 1-Wire bus, and giving each a position.

class BusScan {
  #context;
  // The IDs of the last scan; null before the first.
  /** @type {Signal<string[] | null>} */
  #found = signal(null);
  #scanning = signal(false);
  #stopped = false;
  #task = new Task();
  // By ID: the position that is chosen and not yet given.
  /** @type {ShownMap<string, string>} */
  #chosen = new ShownMap();

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
  }

  close() {
    this.#stopped = true;
  }

  view() {
    return html`<div>
      <h2>${t("scan_title")}</h2>
      <p class="note">${t("scan_note")}</p>
      ${this.#found.value === null ? nothing : this.#findings(this.#found.value)}
      ${this.#task.view()}
      <footer>
        <button
          type="button"
          class="primary"
          ?disabled=${this.#scanning.value}
          @click=${() => this.#task.run(() => this.#scan())}
        >
          ${t("scan")}
        </button>
        <span role="status">${this.#progress()}</span>
      </footer>
    </div>`;
  }

  #progress() {
    if (this.#found.value === null) return "";
    const count = this.#found.value.length;
    return t(this.#scanning.value ? "scanning" : "scanned", { count });
  }

  /** @param {string[]} found */
  #findings(found) {
    if (found.length === 0) {
      return this.#scanning.value ? nothing : html`<p class="empty">${t("nothing_found")}</p>`;
    }
    return html`<ul class="found">
      ${found.map((id) => this.#finding(id))}
    </ul>`;
  }

  /** @param {string} id */
  #finding(id) {
    const owner = this.#positions().find(([, one]) => one.id === id);
    return html`<li>
      <code>${id}</code>
      ${owner
        ? html`<span>${t("assigned", { label: this.#nameOf(owner[0]) })}</span>`
        : this.#assignment(id)}
    </li>`;
  }

  /** @param {string} id */
  #assignment(id) {
    const chosen = this.#choiceFor(id);
    return html`<span class="assign">
      <select
        aria-label=${t("position_of", { id })}
        @change=${(event) => this.#chosen.set(id, event.target.value)}
      >
        ${this.#positions().map(
          ([label, { id: taken }]) =>
            html`<option value=${label} .selected=${label === chosen}>
              ${taken === NO_ID ? this.#nameOf(label) : t("taken", { label: this.#nameOf(label) })}
            </option>`,
        )}
      </select>
      <button type="button" @click=${() => this.#task.run(() => this.#assign(id))}>
        ${t("assign")}
      </button>
    </span>`;
  }

  /** @param {string} label */
  #nameOf(label) {
    return thingName(this.#context, label);
  }

  // [label, setting] of DS1-DS8.
  /** @returns {[string, Api.OneWireSensor][]} */
  #positions() {
    return this.#context.settings.onewire.map((one, index) => [`DS${index + 1}`, one]);
  }

  // The free positions go to the sensors without one in turn, unless others were chosen.
  /** @param {string} id */
  #choiceFor(id) {
    const positions = this.#positions();
    const free = positions.filter(([, one]) => one.id === NO_ID);
    const assigned = new Set(positions.map(([, one]) => one.id));
    const waiting = (this.#found.value ?? []).filter((one) => !assigned.has(one));
    const [offered] = free[waiting.indexOf(id)] ?? positions[0];
    return this.#chosen.get(id) ?? offered;
  }

  async #scan() {
    this.#scanning.value = true;
    try {
      for await (const found of idsOnBus(this.#context.commands)) {
        if (this.#stopped) return;
        this.#found.value = found;
      }
    } finally {
      this.#scanning.value = false;
    }
  }

  /** @param {string} id */
  async #assign(id) {
    const position = Number(this.#choiceFor(id).slice(2));
    const bind = this.#context.commands.get("dswrite=<A>:<B>");
    await api.send(bind.request({ A: position, B: id }).target);
    this.#chosen.delete(id);
    await this.#context.readSettings();
  }
}
