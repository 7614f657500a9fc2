// The choice of a field whose codes are things: each by the name that people gave it.

import { choice } from "./fields.js";
import { readingName } from "./things.js";

/** @param {Context} context @returns {Draw} */
export const thingChoice = (context) => (field, drawn) =>
  choice(field, drawn, (word) => readingName(context, word));
