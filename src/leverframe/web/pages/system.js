// System: what belongs to no thing.

import { findPage } from "../lib/frame/frame.js";
import { PartsPage } from "../lib/frame/parts.js";
import { SYSTEM_STATES } from "./overview/states.js";

export class Page extends PartsPage {
  /** @param {Context} context */
  constructor(context) {
    super(context, /** @type {PageEntry} */ (findPage("system")), SYSTEM_STATES);
  }
}
