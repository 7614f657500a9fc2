// What rules write to Modbus modules: the place, the two values, and what came of it.

import { html, nothing } from "../vendor/lit-html.js";
import { Action } from "../lib/action.js";
import { Form } from "../lib/form.js";
import { address } from "../lib/router.js";
import { clock, serverText, t } from "../lib/words.js";

const COMMAND = "mod_write_set<A>";

export class Page {
  #context;
  #cards;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#cards = context.settings.modbus_writes.map((_, index) => card(context, index));
  }

  async open() {}

  close() {}

  view() {
    return html`<p class="note">${t("intro")}</p>
      <div class="cards">
        ${this.#cards.map((one) => one.view())}
        <section class="card">
          <h2>${t("last_writes")}</h2>
          ${this.#lastWrites()}
          <p class="note">${t("once_note")} <a href=${address("console")}>${t("to_console")}</a></p>
        </section>
      </div>`;
  }

  #lastWrites() {
    const writes = this.#context.live.state.modbus_writes ?? [];
    if (writes.length === 0) return html`<p class="empty">${t("none_yet")}</p>`;
    return html`<dl class="values">
      ${[...writes].reverse().map(
        (write) => html`<div>
          <dt>${place(write)} <small>${clock(write.time)} · ${write.reason}</small></dt>
          <dd>${write.value} · ${outcome(write)}</dd>
        </div>`,
      )}
    </dl>`;
  }
}

/** @param {Api.WriteReport} write */
const place = ({ slot, type, register }) =>
  t(type === "coil" ? "coil_of" : "register_of", { slot, register });

/** @param {Api.WriteReport} write */
const outcome = ({ outcome: came, problem }) =>
  html`${t(`outcome_${came.replaceAll(" ", "_")}`)}${problem
    ? html`<br /><small class="attention">${serverText(problem)}</small>`
    : nothing}`;

/** @param {AdminContext} context @param {number} index */
function card(context, index) {
  const at = { A: index + 1 };
  /** @param {string} letter @param {string} name @param {string} [hint] */
  const field = (letter, name, hint) => ({
    command: COMMAND,
    at,
    letter,
    label: name,
    hint,
    path: `modbus_writes.${index}.${name}`,
  });
  const buttons = [true, false].map(
    (begins) =>
      new Action(context, {
        label: begins ? "write_on" : "write_off",
        done: "written",
        command: "mod_write_run",
        values: { A: index + 1, B: begins },
      }),
  );
  return new Form(context, {
    heading: () => heading(index, context.settings.modbus_writes[index].name),
    tail: () =>
      context.settings.modbus_writes[index].slot === 0
        ? nothing
        : html`${buttons.map((button) => button.view())}`,
    fields: [
      field("B", "name"),
      field("C", "slot", "slot_hint"),
      field("D", "register", "register_hint"),
      field("E", "type"),
      field("F", "on_value"),
      field("G", "off_value", "off_hint"),
      field("H", "endian", "endian_hint"),
    ],
  });
}

/** @param {number} index @param {string} name */
const heading = (index, name) =>
  `${t("write", { number: index + 1 })}${name ? ` · ${name}` : ""}`;
