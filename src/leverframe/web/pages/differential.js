// Differential readings: each is made of two others.

import { html } from "../vendor/lit-html.js";
import { Form } from "../lib/form.js";
import { headingOf } from "../lib/names.js";
import { shown } from "../lib/quantities.js";
import { liveReading } from "../lib/reading.js";
import { t } from "../lib/words.js";

/** @type {Record<string, string>} */
const SIGNS = { "-": "−", "+": "+", "*": "×", "/": "÷" };

export class Page {
  #cards;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#cards = context.settings.differentials.map((_, index) => card(context, index));
  }

  async open() {}

  view() {
    return html`<div class="cards">${this.#cards.map((one) => one.view())}</div>`;
  }

  close() {}
}

/** @param {AdminContext} context @param {number} index */
function card(context, index) {
  const label = `DIFF${index + 1}`;
  return new Form(context, {
    heading: () => headingOf(context.settings, label),
    lead: () =>
      liveReading(context.live, label, { name: t("now"), detail: calculation(context, index) }),
    fields: fieldsOf(context, index),
  });
}

/** @param {AdminContext} context @param {number} index @returns {FieldSpec[]} */
export const fieldsOf = (context, index) => [
  { command: "diffname", at: { A: index }, label: "name" },
  ...(isOneCommand(context) ? together(index) : oneByOne(context, index)),
];

const TOGETHER = "diffsel=<A>*<B>*<C>*<D>";
/** @param {AdminContext} context */
const isOneCommand = ({ commands }) => commands.find(TOGETHER) !== null;

/** @param {number} index */
function together(index) {
  const at = { A: index };
  return [
    { command: "diffsel=<A>*<B>*<C>*<D>", at, letter: "B", label: "first" },
    { command: "diffsel=<A>*<B>*<C>*<D>", at, letter: "C", label: "operator" },
    { command: "diffsel=<A>*<B>*<C>*<D>", at, letter: "D", label: "second" },
  ];
}

// Older versions choose the inputs one by one; the second inputs are numbered after the first.
/** @param {AdminContext} context @param {number} index */
function oneByOne({ settings }, index) {
  const at = { A: index };
  const after = { A: index + settings.differentials.length };
  const path = `differentials.${index}`;
  return [
    { command: "diffsel=<A><B>", at, label: "first", path: `${path}.first` },
    { command: "diffzsel", at, label: "operator" },
    { command: "diffsel=<A><B>", at: after, label: "second", path: `${path}.second` },
  ];
}

// The values that make it up: "21.5 − 8.2".
/** @param {AdminContext} context @param {number} index */
function calculation({ settings, live }, index) {
  const { first, operator, second } = settings.differentials[index];
  const [left, right] = [first, second].map((label) => shown(label, live.state[label]).text);
  return `${left} ${SIGNS[operator]} ${right}`;
}
