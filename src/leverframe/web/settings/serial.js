// The serial port: which module is connected to it, and what that module says besides readings.

import { html, nothing } from "../vendor/lit-html.js";
import { serverText, t } from "../lib/format/words.js";
import { Action } from "../lib/forms/action.js";
import { reading } from "../lib/forms/controls.js";
import { Form } from "../lib/forms/form.js";
import { address } from "../lib/frame/router.js";

const GSM_MODEM = "GSM modem SIM800L";
const SCANNER = "bar/QR code scanner";

/** @type {CommonOf} */
export function commonOf(context, more) {
  const lighting = new Action(context, {
    label: "connect_lighting",
    command: "lightmod",
    done: "lighting_done",
  });
  return [
    new Form(context, {
      title: "page_serial",
      note: "module_note",
      lead: () => lastCodeView(context),
      tail: () => (context.settings.serial.lighting ? nothing : lighting.view()),
      fields: [
        { command: "usart_sensor", label: "connected", path: "serial.module" },
        { command: "sdm120bitrate=<A>", label: "bitrate", hint: "meter_note", unit: "bit/s" },
      ],
      opened: ["connected"],
      ...more,
    }),
  ];
}

// What it measures is in the list of sensors.
/** @param {AdminContext} context */
function lastCodeView({ live, settings }) {
  const trouble = live.state.troubles?.["serial module"];
  const { module, lighting } = settings.serial;
  if (trouble) return html`<p class="attention">${serverText(trouble)}</p>`;
  if (lighting) return html`<p class="note">${t("lighting_connected")}</p>`;
  if (module === GSM_MODEM) {
    return html`<p><a href=${address("messages", { open: "gsm" })}>${t("to_gsm")}</a></p>`;
  }
  if (module !== SCANNER) return nothing;
  return reading({ name: t("last_code"), value: live.state.barcode ?? "–" });
}
