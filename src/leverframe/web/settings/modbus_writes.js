// What rules write to a Modbus module: the place, the two values, and what came of it.

import { html, nothing } from "../vendor/lit-html.js";
import { shortMoment } from "../lib/format/moments.js";
import { numberText } from "../lib/format/numbers.js";
import { serverText, t } from "../lib/format/words.js";
import { Action } from "../lib/forms/action.js";
import { choice } from "../lib/forms/fields.js";
import { Form } from "../lib/forms/form.js";
import { moduleName } from "../lib/things/buses.js";
import { reasonText } from "../lib/things/messages.js";

const COMMAND = "mod_write_set<A>";

/** @type {CardsOf} */
export function cardsOf(context, { index, more }) {
  const at = { A: index + 1 };
  const own = () => context.settings.modbus_writes[index];
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
        plainLabel: () => {
          const value = begins ? own().on_value : own().off_value;
          return t("write_now", { value: numberText(value) });
        },
        done: "written",
        command: "mod_write_run",
        values: { ...at, B: begins },
      }),
  );
  return [
    new Form(context, {
      title: "settings",
      note: "intro",
      tail: () =>
        own().slot === 0
          ? nothing
          : html`<div class="buttons">${buttons.map((button) => button.view())}</div>`,
      fields: [
        field("B", "name"),
        { ...field("C", "slot"), draw: slotChoice(context) },
        field("D", "register", "register_hint"),
        field("E", "type"),
        field("F", "on_value"),
        field("G", "off_value", "off_hint"),
        field("H", "endian", "endian_hint"),
      ],
      opened: ["name", "slot", "register", "type", "on_value", "off_value"],
      ...more,
    }),
    { view: () => lastWrites(context.live.state, own()) },
  ];
}

// Modules by their names, as where a reading is chosen.
/** @param {AdminContext} context @returns {Draw} */
const slotChoice = ({ settings }) => (field, drawn) => {
  const slots = settings.modbus_slots.map((_, index) => index + 1);
  const schema = { ...drawn.schema, enum: [0, ...slots] };
  return choice(field, { ...drawn, schema }, (slot) =>
    slot === "0"
      ? t("inactive")
      : `${slot} · ${moduleName(settings, settings.modbus_slots[Number(slot) - 1].module)}`,
  );
};

// Those to the same place.
/** @param {State} state @param {Settings["modbus_writes"][number]} own */
function lastWrites({ modbus_writes: writes = [], time }, { slot, register }) {
  if (slot === 0) return nothing;
  const here = writes.filter((one) => one.slot === slot && one.register === register);
  return html`<div>
    <h2>${t("last_writes")}</h2>
    ${here.length === 0
      ? html`<p class="empty">${t("none_yet")}</p>`
      : html`<dl class="values">
          ${[...here].reverse().map(
            (write) => html`<div>
              <dt>${shortMoment(write.time, time)} <small>${reasonText(write.reason)}</small></dt>
              <dd>${write.value} · ${outcome(write)}</dd>
            </div>`,
          )}
        </dl>`}
  </div>`;
}

/** @param {Api.WriteReport} write */
const outcome = ({ outcome: came, problem }) =>
  html`${t(`outcome_${came.replaceAll(" ", "_")}`)}${problem
    ? html`<br /><small class="attention">${serverText(problem)}</small>`
    : nothing}`;
