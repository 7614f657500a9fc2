// The choice of a field whose codes are things: each by the name that people gave it.

import { choice } from "./fields.js";
import { kindOf, thingName } from "./things.js";
import { code } from "./words.js";

/** @param {Context} context @returns {Draw} */
export const thingChoice = (context) => (field, drawn) =>
  choice(field, drawn, (word) => (kindOf(word).kind ? thingName(context, word) : code(word)));
