// Messages: the channels of the controller, and the results of its messages.

import { findPage } from "../lib/frame/frame.js";
import { PartsPage } from "../lib/frame/parts.js";
import * as api from "../lib/live/api.js";
import { Followed } from "../lib/live/live.js";
import { channelStates } from "./overview/states.js";

export class Page extends PartsPage {
  #outbox;

  /** @param {Context} context */
  constructor(context) {
    const outbox = new Followed(context, api.outbox);
    const page = /** @type {PageEntry} */ (findPage("messages"));
    super(
      context,
      page,
      channelStates(() => outbox.value),
    );
    this.#outbox = outbox;
  }

  /** @param {URLSearchParams} params */
  async open(params) {
    await super.open(params);
    // The outbox itself follows what is in it.
    if (this.isOverview) await this.#outbox.open();
  }

  close() {
    this.#outbox.close();
    super.close();
  }
}
