// A differential reading: the two others that it is made of.

import { thingChoice } from "../lib/forms/fields.js";
import { Form } from "../lib/forms/form.js";

const TOGETHER = "diffsel=<A>*<B>*<C>*<D>";

/** @type {CardsOf} */
export const cardsOf = (context, { index, more }) => [
  new Form(context, {
    title: "settings",
    fields: [
      { command: "diffname", at: { A: index }, label: "name" },
      ...(context.commands.find(TOGETHER) ? together(context, index) : oneByOne(context, index)),
    ],
    ...more,
  }),
];

/** @param {AdminContext} context @param {number} index */
function together(context, index) {
  const at = { A: index };
  const draw = thingChoice(context);
  return [
    { command: TOGETHER, at, letter: "B", label: "first", draw },
    { command: TOGETHER, at, letter: "C", label: "operator" },
    { command: TOGETHER, at, letter: "D", label: "second", draw },
  ];
}

// Older versions choose the inputs one by one; the second inputs are numbered after the first.
/** @param {AdminContext} context @param {number} index */
function oneByOne(context, index) {
  const at = { A: index };
  const after = { A: index + context.settings.differentials.length };
  const draw = thingChoice(context);
  const path = `differentials.${index}`;
  return [
    { command: "diffsel=<A><B>", at, label: "first", path: `${path}.first`, draw },
    { command: "diffzsel", at, label: "operator" },
    { command: "diffsel=<A><B>", at: after, label: "second", path: `${path}.second`, draw },
  ];
}
