// The blanks of a rule's sentence: choices and numbers in the middle of words.

import { html, nothing } from "../../vendor/lit-html.js";
import { durationText } from "../../lib/format/numbers.js";
import { t } from "../../lib/format/words.js";
import { timeType } from "../../lib/forms/controls.js";
import { isState, levelWord } from "../../lib/things/labels.js";
import { codeName, readingName } from "../../lib/things/things.js";
import { daysText, WEEKDAYS } from "../schedule/entry.js";
import { channelOf, messageName } from "./messages.js";
import { dependence, dependsOn, joint, present } from "./sentence.js";
import { IMMEDIATELY } from "./typed.js";
import { WEEKEND, WORKDAYS } from "./window.js";

/** @import { Editor } from "./editor.js" */
/** @import { TextBlank } from "./typed.js" */

/** @typedef {TextBlank} Blank */
/** Its name, and the choices. @typedef {[string, [string, string][]]} Group */
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
    class="blank"
    aria-label=${label}
    aria-invalid=${editor.problem(letter) ? "true" : "false"}
    @change=${(event) => editor.change(name, event.target.value)}
  >
    ${known ? nothing : option(typed, typed, true)}
    ${options.map(([word, shown]) => option(word, shown, word === typed))}
  </select>`;
}

// Sources by kind, present ones first, each with its value.
/** @param {Editor} editor @param {string} letter @param {Blank} name */
function sourceSelect(editor, letter, name) {
  const typed = editor.draft.typed[name];
  return html`<select
    id=${editor.id(letter)}
    class="blank"
    aria-label=${t("source")}
    @change=${(event) => editor.change(name, event.target.value)}
  >
    ${sourceGroups(editor.context, editor.draft.choicesOf("B")).map(
      ([group, options]) =>
        html`<optgroup label=${group}>
          ${options.map(([word, shown]) => option(word, shown, word === typed))}
        </optgroup>`,
    )}
  </select>`;
}

// Kind of a label -> the text that names its group.
/** @type {[RegExp, string][]} */
const GROUPS = [
  [/^(DS|T1|H1|P1|DEWPOINT|CO2|PM|DISTANCE|m\d)/, "group_sensors"],
  [/^INPD/, "group_inputs"],
  [/^(INPA|DIFF)/, "group_analog"],
  [/^(POWER|ENERGY)/, "group_meters"],
  [/^(OUT|PWM)/, "group_outputs"],
  [/^EVENT/, "group_variables"],
  [/./, "group_controller"],
];

/** @param {Context} context @param {string[]} labels @returns {Group[]} */
export function sourceGroups(context, labels) {
  const isThere = (/** @type {string} */ label) => context.live.state[label] != null;
  const sorted = [...labels].sort((one, other) => Number(isThere(other)) - Number(isThere(one)));
  const byGroup = Map.groupBy(sorted, (label) => GROUPS.findIndex(([kind]) => kind.test(label)));
  const found = [...byGroup].sort(
    ([one, labelsOfOne], [other, labelsOfOther]) =>
      Number(labelsOfOther.some(isThere)) - Number(labelsOfOne.some(isThere)) || one - other,
  );
  return found.map(([group, members]) => [
    t(GROUPS[group][1]),
    members.map((label) => [label, `${readingName(context, label)} · ${present(context, label)}`]),
  ]);
}

/** @param {string} word @param {string} shown @param {boolean} selected */
const option = (word, shown, selected) =>
  html`<option value=${word} .selected=${selected}>${shown}</option>`;

/**
 * @param {Editor} editor
 * @param {string} letter
 * @param {string} typed
 * @param {(text: string) => void} change
 */
function number(editor, letter, typed, change) {
  const problem = editor.problem(letter);
  return html`<input
    id=${editor.id(letter)}
    class="blank number"
    inputmode="decimal"
    autocomplete="off"
    aria-label=${t(LABELS[letter])}
    aria-invalid=${problem ? "true" : "false"}
    aria-describedby=${problem ? `${editor.id(letter)}-wrong` : nothing}
    .value=${typed}
    @input=${(event) => change(event.target.value)}
  />`;
}

// Letter -> the text that names its blank.
/** @type {Record<string, string>} */
export const LABELS = {
  B: "source",
  C: "comparison",
  D: "reference",
  E: "until",
  F: "second_condition",
  G: "action",
  H: "source",
  I: "comparison",
  J: "reference",
  K: "until",
  L: "off_delay",
  M: "value",
  N: "on_delay",
  O: "depends",
  P: "mode",
  says: "message_says",
  after: "message_after",
  to: "message_to",
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
export function conditionBlanks(editor, { source, compare, reference, hysteresis: [end] }) {
  const { draft } = editor;
  const label = draft.typed[source[1]];
  return {
    source: sourceSelect(editor, ...source),
    compare: select(editor, ...compare, [
      [">=", t("at_least")],
      ["<", t("below")],
    ]),
    reference: number(editor, reference[0], draft.typed[reference[1]], (text) =>
      editor.change(reference[1], text),
    ),
    level: select(editor, ...reference, levels(editor, label), t("level")),
    until: number(editor, end, draft.until(end), (text) => editor.change(draft.endOf(end), text)),
    unit: isState(label) ? "" : editor.unit(label),
  };
}

/** @param {Editor} editor @param {string} label @returns {[string, string][]} */
const levels = ({ context }, label) =>
  ["1", "0"].map((bit) => [bit, levelWord(context, label, bit === "1")]);

// The blanks of a time window: within or without, from, to, and the days.
/** @param {Editor} editor */
export function windowBlanks(editor) {
  const { window, days } = editor.draft.typed;
  return {
    between: html`<select
      class="blank"
      aria-label=${t("time_window")}
      @change=${(event) => editor.change("window", event.target.value)}
    >
      ${option("in", t("between"), window === "in")}
      ${option("out", t("not_between"), window === "out")}
    </select>`,
    from: hour(editor, "from"),
    to: hour(editor, "to"),
    days: html`<select
      class="blank"
      aria-label=${t("window_on_days")}
      @change=${(event) => editor.change("days", event.target.value.split(","))}
    >
      ${dayChoices(days).map((some) =>
        option(some.join(","), daysText({ days: some }), String(some) === String(days)),
      )}
    </select>`,
  };
}

/** @param {string[]} days */
function dayChoices(days) {
  const usual = [WEEKDAYS, WORKDAYS, WEEKEND, ...WEEKDAYS.map((day) => [day])];
  return usual.some((some) => String(some) === String(days)) ? usual : [days, ...usual];
}

/** @param {Editor} editor @param {"from" | "to"} name */
const hour = (editor, name) =>
  html`<input
    class="blank"
    type=${timeType()}
    step=${timeType() === "time" ? 1 : nothing}
    autocomplete="off"
    aria-label=${t(`window_${name}`)}
    .value=${editor.draft.typed[name]}
    @input=${(event) => editor.change(name, event.target.value)}
  />`;

/** @param {Editor} editor */
export const operatorBlank = (editor) =>
  select(
    editor,
    "F",
    "operator",
    editor.draft.choicesOf("F").map((word) => [word, t(`joint_${joint(word)}`)]),
  );

/** @param {Editor} editor */
export const actionBlank = (editor) =>
  select(
    editor,
    "G",
    "action",
    editor.draft.offeredActions.map(({ action, isOwn }) => [
      action,
      channelOf(action)
        ? messageName(editor.context.settings, action, isOwn)
        : codeName(editor.context, action),
    ]),
  );

/** @param {Editor} editor */
export const valueBlank = (editor) =>
  select(
    editor,
    "M",
    "value",
    editor.draft.values.map((value) => [value, t(`value_${value}`)]),
  );

// A wait: "immediately", or a duration. The word goes where people begin to type.
/** @param {Editor} editor @param {string} letter @param {"on_delay" | "off_delay"} name */
export const delayBlank = (editor, letter, name) =>
  durationBlank(editor, letter, name, t(LABELS[letter]), t("immediately"));

// How long a pulse lasts.
/** @param {Editor} editor */
export const lastingBlank = (editor) =>
  durationBlank(editor, "L", "off_delay", t("lasting"), durationText(0));

/**
 * @param {Editor} editor
 * @param {string} letter
 * @param {"on_delay" | "off_delay"} name
 * @param {string} label
 * @param {string} nothingSaid What a wait of nothing is called.
 */
function durationBlank(editor, letter, name, label, nothingSaid) {
  const typed = editor.draft.typed[name];
  const problem = editor.problem(letter);
  return html`<input
    id=${editor.id(letter)}
    class="blank"
    autocomplete="off"
    aria-label=${label}
    aria-invalid=${problem ? "true" : "false"}
    aria-describedby=${problem ? `${editor.id(letter)}-wrong` : nothing}
    .value=${typed === IMMEDIATELY ? nothingSaid : typed}
    @focus=${(event) => typed === IMMEDIATELY && event.target.select()}
    @input=${({ target: { value } }) =>
      editor.change(name, value.trim().toLowerCase() === nothingSaid ? IMMEDIATELY : value)}
  />`;
}

/** @param {Editor} editor */
export const modeBlank = (editor) =>
  select(
    editor,
    "P",
    "mode",
    ["0", "1", "2"].map((mode) => [mode, t(`mode_${mode}`)]),
  );

// `names`: the rules by their numbers.
/** @param {Editor} editor @param {Record<string, string>} names */
export function dependsBlank(editor, names) {
  const own = editor.draft.index + 1;
  const others = Object.keys(names).map(Number).filter((one) => one !== own);
  const [chosen] = dependence({ depends: Number(editor.draft.typed.depends) });
  if (chosen && !others.includes(chosen)) others.push(chosen);
  /** @type {[string, string][]} */
  const options = [["0", t("depends_none")]];
  for (const other of others) {
    const rule = names[other] ?? other;
    options.push([String(dependsOn(other, true)), t("depends_met", { rule })]);
    options.push([String(dependsOn(other, false)), t("depends_not_met", { rule })]);
  }
  return select(editor, "O", "depends", options);
}
