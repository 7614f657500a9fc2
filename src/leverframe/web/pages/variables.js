// Variables: the eight event variables of rules, and what clients may keep in the controller.

import { html } from "../vendor/lit-html.js";
import * as api from "../lib/api.js";
import { Form } from "../lib/form.js";
import { Lever } from "../lib/lever.js";
import { nameOf } from "../lib/names.js";
import { reading } from "../lib/reading.js";
import { t } from "../lib/words.js";

export class Page {
  #context;
  #levers;
  #cards;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#levers = labels(context).map((label, index) => lever(context, label, index));
    this.#cards = [namesCard(context), ...storedCards(context)];
  }

  async open() {}

  view() {
    return html`<div class="cards">
      <section class="card">
        <h2>${t("event_variables")}</h2>
        <p class="note">${t("event_variables_note")}</p>
        ${this.#states()}
      </section>
      ${this.#cards.map((card) => card.view())}
    </div>`;
  }

  close() {}

  // Where only rules may set them, they can still be watched.
  #states() {
    const { commands, live } = this.#context;
    if (commands.find("vout<A>")) return this.#levers.map((one) => one.view());
    return labels(this.#context).map((label) =>
      reading({ name: label, value: t(live.state[label] === 1 ? "state_on" : "state_off") }),
    );
  }
}

/** @param {AdminContext} context */
const labels = ({ settings }) => settings.event_variables.map((_, index) => `EVENT${index + 1}`);

/** @param {AdminContext} context @param {string} label @param {number} index */
function lever(context, label, index) {
  return new Lever(context, {
    label,
    name: () => nameOf(context.settings, label),
    act: (on) => api.switchVariable(index, on),
  });
}

/** @param {AdminContext} context */
function namesCard(context) {
  return new Form(context, {
    title: "names",
    fields: labels(context).map((plainLabel, index) => ({ ...nameField(index), plainLabel })),
  });
}

/** @param {number} index @returns {FieldSpec} */
export const nameField = (index) => ({ command: "eventname", at: { A: index } });

/** @param {AdminContext} context */
function storedCards(context) {
  return [
    new Form(context, {
      title: "bits",
      note: "stored_note",
      fields: places(context, "bit<A>").map((at) => ({
        command: "bit<A>",
        at,
        plainLabel: `bit${at.A}`,
        draw: bitSwitch,
      })),
    }),
    new Form(context, { title: "bytes", fields: numbers(context, "byte<A>") }),
    new Form(context, { title: "words", fields: numbers(context, "word<A>") }),
    new Form(context, { title: "dwords", fields: numbers(context, "dword<A>") }),
    new Form(context, { title: "strings", fields: numbers(context, "string<A>") }),
  ];
}

/** @param {AdminContext} context @param {string} command */
const numbers = (context, command) =>
  places(context, command).map((at) => ({
    command,
    at,
    plainLabel: command.replace("<A>", String(at.A)),
  }));

// Those that have a meaning of their own are set elsewhere, and are no places of this command.
/** @param {AdminContext} context @param {string} name */
function places({ commands }, name) {
  const schema = commands.find(name)?.schema("A");
  if (!schema) return [];
  return (schema.enum ?? numbersFrom(schema.minimum, schema.maximum)).map((A) => ({ A }));
}

/** @param {number} min @param {number} max */
const numbersFrom = (min, max) =>
  Array.from({ length: max - min + 1 }, (_, index) => min + index);

/** @param {DrawnField} field @param {Drawn} drawn */
function bitSwitch(field, { change }) {
  return html`<input
    id=${field.id}
    type="checkbox"
    role="switch"
    .checked=${field.typed === "1"}
    @change=${(event) => change(event.target.checked ? "1" : "0")}
  />`;
}
