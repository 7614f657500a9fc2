// The Modbus TCP server: whether others may read and switch this controller.

import { Form } from "../lib/form.js";

export class Part {
  #form;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#form = new Form(context, {
      title: "server",
      note: "server_note",
      fields: [{ command: "modbuson", label: "server_on" }],
    });
  }

  async open() {}

  view() {
    return this.#form.view();
  }

  close() {}
}
