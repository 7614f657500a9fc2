// The Modbus TCP server: whether others may read and switch this controller.

import { html } from "../vendor/lit-html.js";
import { Form } from "../lib/forms/form.js";

/** @type {PartOf} */
export function partOf(context) {
  const form = new Form(context, {
    title: "server",
    note: "server_note",
    fields: [{ command: "modbuson", label: "server_on" }],
  });
  return [{ view: () => html`<div class="across">${form.view()}</div>` }];
}
