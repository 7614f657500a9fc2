// I2C: which sensors are connected, and how fast the bus is.

import { html } from "../vendor/lit-html.js";
import { t } from "../lib/format/words.js";
import { Action } from "../lib/forms/action.js";
import { optionsOf } from "../lib/forms/controls.js";
import { Form } from "../lib/forms/form.js";
import { choices } from "../lib/forms/schema.js";

// Behind the primary sensor where the particulate sensor is connected, too.
const WITH_SPS30 = " + SPS30";

/** @type {CommonOf} */
export function commonOf(context, more) {
  // The controller detects which sensor is connected.
  const detect = new Action(context, {
    label: "detect",
    command: "bme280detect",
    done: "detected",
  });
  return [
    new Form(context, {
      title: "sensors",
      lead: () => html`<p class="note">${t("detect_note")}</p>
        ${detect.view()}`,
      fields: [
        {
          command: "i2csensors",
          label: "primary",
          read: ({ i2c }) => i2c.primary + (i2c.sps30 ? WITH_SPS30 : ""),
          draw: sensorChoice,
        },
        { command: "i2csfreq", label: "frequency", unit: "kHz", hint: "bus_note" },
      ],
      opened: ["primary"],
      ...more,
    }),
  ];
}

// One code says both which sensor is the primary one and whether there is an SPS30.
/** @param {DrawnField} field @param {Drawn} drawn */
function sensorChoice(field, { schema, change }) {
  const primary = String(field.typed).replace(WITH_SPS30, "");
  const hasSps30 = String(field.typed).endsWith(WITH_SPS30);
  const offered = choices(schema).filter(([word]) => !word.endsWith(WITH_SPS30));
  /** @param {string} sensor @param {boolean} sps30 */
  const choose = (sensor, sps30) => change(sensor + (sps30 ? WITH_SPS30 : ""));
  return html`<select
      id=${field.id}
      aria-describedby="${field.id}-hint"
      @change=${(event) => choose(event.target.value, hasSps30)}
    >
      ${optionsOf(offered, primary)}
    </select>
    <label class="toggle">
      <input
        id="${field.id}-sps30"
        type="checkbox"
        role="switch"
        .checked=${hasSps30}
        @change=${(event) => choose(primary, event.target.checked)}
      />
      <span>${t("sps30")}</span>
    </label>`;
}
