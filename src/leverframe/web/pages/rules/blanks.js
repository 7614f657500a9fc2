// The blanks of a rule's sentence: choices and numbers in the middle of words.

import { html, nothing } from "../../vendor/lit-html.js";
import { isState } from "../../lib/labels.js";
import { withName } from "../../lib/names.js";
import { code, t } from "../../lib/words.js";
import { dependence, dependsOn, joint, levelWord, targetName } from "./sentence.js";

/** @import { Editor } from "./editor.js" */
/** @import { TypedRule } from "./draft.js" */
/** @typedef {Exclude<keyof TypedRule, "permanent">} Blank */
/** Letter and name. @typedef {[string, Blank]} Place */
/** @typedef {Record<"source" | "compare" | "reference" | "hysteresis", Place>} ConditionFields */

// `editor` gives `draft`, `change(name, typed)`, `problem(letter)` and an id for a letter.
/**
 * @param {Editor} editor
 * @param {string} letter
 * @param {Blank} name
 * @param {[string, string][]} options
 * @param {string} [label]
 */
function select(editor, letter, name, options, label = t(LABELS[letter])) {
  const typed = editor.draft.typed[name];
  const known = options.some(([word]) => word === typed);
  return html`<select
    id=${editor.id(letter)}
    aria-label=${label}
    aria-invalid=${editor.problem(letter) ? "true" : "false"}
    @change=${(event) => editor.change(name, event.target.value)}
  >
    ${known ? nothing : option(typed, typed, true)}
    ${options.map(([word, shown]) => option(word, shown, word === typed))}
  </select>`;
}

/** @param {string} word @param {string} shown @param {boolean} selected */
const option = (word, shown, selected) =>
  html`<option value=${word} .selected=${selected}>${shown}</option>`;

/** @param {Editor} editor @param {string} letter @param {Blank} name */
function number(editor, letter, name) {
  const problem = editor.problem(letter);
  return html`<input
    id=${editor.id(letter)}
    class="number"
    inputmode="decimal"
    autocomplete="off"
    aria-label=${t(LABELS[letter])}
    aria-invalid=${problem ? "true" : "false"}
    aria-describedby=${problem ? `${editor.id(letter)}-wrong` : nothing}
    .value=${editor.draft.typed[name]}
    @input=${(event) => editor.change(name, event.target.value)}
  />`;
}

// Letter -> the text that names its blank.
/** @type {Record<string, string>} */
export const LABELS = {
  B: "source",
  C: "comparison",
  D: "reference",
  E: "hysteresis",
  F: "second_condition",
  G: "action",
  H: "source",
  I: "comparison",
  J: "reference",
  K: "hysteresis",
  L: "off_delay",
  M: "value",
  N: "on_delay",
  O: "depends",
  P: "mode",
};

// Letters and names of the two conditions.
/** @type {ConditionFields} */
export const FIRST = {
  source: ["B", "source"],
  compare: ["C", "compare"],
  reference: ["D", "reference"],
  hysteresis: ["E", "hysteresis"],
};
/** @type {ConditionFields} */
export const SECOND = {
  source: ["H", "source2"],
  compare: ["I", "compare2"],
  reference: ["J", "reference2"],
  hysteresis: ["K", "hysteresis2"],
};

/** @param {Editor} editor @param {ConditionFields} fields */
export function conditionBlanks(editor, { source, compare, reference, hysteresis }) {
  const label = editor.draft.typed[source[1]];
  /** @type {[string, string][]} */
  const sources = editor.draft.offered("B").map((word) => [word, withName(editor.settings, word)]);
  return {
    source: select(editor, ...source, sources),
    compare: select(editor, ...compare, [
      [">=", t("at_least")],
      ["<", t("below")],
    ]),
    reference: number(editor, ...reference),
    level: select(editor, ...reference, levels(label), t("level")),
    hysteresis: number(editor, ...hysteresis),
    unit: isState(label) ? "" : editor.unit(label),
  };
}

/** @param {string} label @returns {[string, string][]} */
const levels = (label) => ["1", "0"].map((bit) => [bit, levelWord(label, bit === "1")]);

/** @param {Editor} editor */
export const operatorBlank = (editor) =>
  select(
    editor,
    "F",
    "operator",
    editor.draft.offered("F").map((word) => [word, t(`joint_${joint(word)}`)]),
  );

/** @param {Editor} editor */
export const actionBlank = (editor) =>
  select(
    editor,
    "G",
    "action",
    editor.draft.actions.map((word) => [word, targetName(word, editor.settings)]),
  );

/** @param {Editor} editor */
export const valueBlank = (editor) =>
  select(
    editor,
    "M",
    "value",
    editor.draft.values.map((value) => [value, t(`value_${value}`)]),
  );

export const delayBlank = number;

/** @param {Editor} editor */
export const modeBlank = (editor) =>
  select(
    editor,
    "P",
    "mode",
    ["0", "1", "2"].map((mode) => [mode, t(`mode_${mode}`)]),
  );

// `titles`: the rules by their numbers.
/** @param {Editor} editor @param {Record<string, string>} titles */
export function dependsBlank(editor, titles) {
  const own = editor.draft.index + 1;
  const others = Object.keys(titles).map(Number).filter((one) => one !== own);
  const [present] = dependence({ depends: Number(editor.draft.typed.depends) });
  if (present && !others.includes(present)) others.push(present);
  /** @type {[string, string][]} */
  const options = [["0", t("depends_none")]];
  for (const rule of others) {
    const name = named(rule, titles);
    options.push([String(dependsOn(rule, true)), t("depends_met", name)]);
    options.push([String(dependsOn(rule, false)), t("depends_not_met", name)]);
  }
  return select(editor, "O", "depends", options);
}

/** @param {number} rule @param {Record<string, string>} titles */
const named = (rule, titles) => ({
  rule: titles[rule] ? `${rule} (${code(titles[rule])})` : rule,
});
