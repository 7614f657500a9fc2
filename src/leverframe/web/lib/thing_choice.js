// The choice of a field whose codes are things: each by the name that people gave it.

import { choice } from "./fields.js";
import { namedCode } from "./things.js";

/** @param {Context} context @returns {Draw} */
export const thingChoice = (context) => (field, drawn) =>
  choice(field, drawn, (word) => namedCode(context, word));
