// Fields by the schema of what they hold: number, text, switch, choice, list.
//
// A drawing gets the field and { schema, problem, change, form }; `change(typed)` gets what is
// typed. Label, hint and problem are tied to the input for those who hear the page.

import { html, nothing } from "../../vendor/lit-html.js";
import { t, text } from "../format/words.js";
import { icon } from "../things/signs.js";
import { readingName } from "../things/things.js";
import { optionsOf } from "./controls.js";
import {
  limitsText,
  choices,
  hasParts,
  isChoice,
  isDuration,
  isFlag,
  isNumber,
  partOf,
  toTyped,
} from "./schema.js";

/** @type {Draw} */
export function drawField(field, drawn) {
  if (field.spec.draw) return frame(field, drawn, field.spec.draw(field, drawn));
  if (isFlag(drawn.schema)) return toggle(field, drawn);
  if (isChoice(drawn.schema)) return frame(field, drawn, choice(field, drawn));
  if (hasParts(drawn.schema)) return group(field, drawn);
  return frame(field, drawn, line(field, drawn));
}

/** @param {DrawnField} field */
export const label = ({ spec }) => (spec.label ? text(spec.label) : spec.plainLabel);

/** @param {DrawnField} field @param {Drawn} drawn @param {Template} input */
function frame(field, { schema, problem }, input) {
  return html`<div
    class="field"
    ?data-short=${isNumber(schema)}
    ?data-changed=${field.isChanged}
    ?data-wrong=${problem !== null}
  >
    <label for=${field.id}>${label(field)}${changeMark(field)}</label>
    ${input}
    <small class="hint" id="${field.id}-hint">${hint(field, schema)}</small>
    ${problemView(field, problem)} ${foreignChangeNote(field)}
  </div>`;
}

// Shows both values: saving would revert the other change.
/** @param {DrawnField} field */
const foreignChangeNote = ({ foreign }) =>
  foreign
    ? html`<p class="foreign" role="status">
        ${icon("attention", "s")} ${t("field_changed_elsewhere", foreign)}
      </p>`
    : nothing;

/** @param {DrawnField} field */
const changeMark = (field) =>
  field.isChanged ? html`<span class="changed"> · ${t("changed")}</span>` : nothing;

/** @param {DrawnField} field @param {string | null} problem */
const problemView = (field, problem) =>
  problem
    ? html`<p class="wrong" id="${field.id}-wrong" role="alert">${problem}</p>`
    : nothing;

/** @param {DrawnField} field @param {string | null} problem */
const about = (field, problem) => `${field.id}-hint${problem ? ` ${field.id}-wrong` : ""}`;

/** @param {DrawnField} field */
const ownHint = ({ spec }) => (spec.hint ? text(spec.hint) : "");

/** @param {DrawnField} field @param {Schema} schema */
function hint(field, schema) {
  // A drawing of its own offers only what is allowed; texts can be too long in any drawing.
  const limits = field.spec.draw && schema.type !== "string" ? "" : limitsText(schema);
  return [ownHint(field), limits, lettersLeft(field, schema)].filter(Boolean).reduce(join, "");
}

/** @param {string} first @param {string} more */
const join = (first, more) =>
  first.endsWith(".")
    ? `${first} ${more.charAt(0).toUpperCase()}${more.slice(1)}`
    : [first, more].filter(Boolean).join(" · ");

// The share of the allowed length from which the characters left are shown.
const NEAR_END = 0.2;

/** @param {DrawnField} field @param {Schema} schema */
function lettersLeft({ typed }, { type, maxLength }) {
  if (type !== "string" || !maxLength || typeof typed !== "string") return "";
  const left = maxLength - [...typed].length;
  // Behind the end the refusal says it.
  return left >= 0 && left <= maxLength * NEAR_END ? t("letters_left", { left }) : "";
}

/** @param {DrawnField} field @param {Drawn} drawn */
export function line(field, { schema, problem, change }) {
  const number = isNumber(schema);
  const input = html`<input
    id=${field.id}
    type=${field.isSecret ? "password" : "text"}
    inputmode=${number && !isDuration(schema) ? "decimal" : "text"}
    class=${number && !isDuration(schema) ? "number" : ""}
    autocomplete=${field.isSecret ? "new-password" : "off"}
    placeholder=${field.isSecret ? t(field.isSet ? "secret_set" : "secret_not_set") : ""}
    aria-describedby=${about(field, problem)}
    aria-invalid=${problem ? "true" : "false"}
    .value=${String(field.typed)}
    @input=${(event) => change(event.target.value)}
  />`;
  const { unit } = field.spec;
  if (!unit || isDuration(schema)) return input;
  return html`<span class="with-unit">${input}<span class="unit">${unit}</span></span>`;
}

// `named` gives another text than the usual one for a code.
/** @param {DrawnField} field @param {Drawn} drawn @param {(word: string) => string} [named] */
export function choice(field, { schema, problem, change }, named) {
  const offered = choices(schema);
  const typed = String(field.typed);
  const known = offered.some(([word]) => word === typed);
  return html`<select
    id=${field.id}
    aria-describedby=${about(field, problem)}
    aria-invalid=${problem ? "true" : "false"}
    @change=${(event) => change(event.target.value)}
  >
    ${optionsOf(
      [...(known ? [] : [[typed, typed]]), ...offered].map(([word, shown]) => [
        word,
        named ? named(word) : shown,
      ]),
      typed,
    )}
  </select>`;
}

/** @param {DrawnField} field @param {Drawn} drawn */
function toggle(field, { problem, change }) {
  return html`<div class="field" ?data-changed=${field.isChanged}>
    <label class="toggle">
      <input
        id=${field.id}
        type="checkbox"
        role="switch"
        .checked=${field.typed === true}
        aria-describedby=${about(field, problem)}
        @change=${(event) => change(event.target.checked)}
      />
      <span>${label(field)}${changeMark(field)}</span>
    </label>
    <small class="hint" id="${field.id}-hint">${ownHint(field)}</small>
    ${problemView(field, problem)} ${foreignChangeNote(field)}
  </div>`;
}

// A list, bits or a record: one field per part. A list of changing length can grow and shrink.
/** @type {Draw} */
export function group(field, { schema, problem, change }) {
  const parts = /** @type {Record<string, Typed>} */ (field.typed);
  const items = Array.isArray(parts) ? parts : [];
  const free = schema.type === "array" && schema.minItems !== schema.maxItems;
  return html`<fieldset class="field" ?data-changed=${field.isChanged} ?data-wrong=${problem}>
    <legend>${label(field)}${changeMark(field)}</legend>
    ${Object.keys(parts).map(
      (part) => html`<div class="part">
        ${drawField(partField(field, part), {
          schema: partOf(schema, part),
          problem: null,
          change: (one) => change(withPart(parts, part, one)),
        })}
        ${free ? button("remove", () => change(items.toSpliced(Number(part), 1))) : nothing}
      </div>`,
    )}
    ${free && items.length < schema.maxItems
      ? button("add", () => change([...items, toTyped(schema.items, undefined)]))
      : nothing}
    <small class="hint" id="${field.id}-hint">${hint(field, schema)}</small>
    ${problemView(field, problem)} ${foreignChangeNote(field)}
  </fieldset>`;
}

/** @param {Record<string, Typed>} typed @param {string} part @param {Typed} one */
const withPart = (typed, part, one) =>
  Array.isArray(typed) ? typed.with(Number(part), one) : { ...typed, [part]: one };

// Parts of a list are counted from 1, those of a record have names.
/** @param {DrawnField} field @param {string} part @returns {DrawnField} */
function partField(field, part) {
  const name = Array.isArray(field.typed) ? Number(part) + 1 : part;
  const labels = /** @type {Record<string, string> | undefined} */ (field.spec.parts);
  return {
    id: `${field.id}-${part}`,
    typed: /** @type {Record<string, Typed>} */ (field.typed)[part],
    spec: { plainLabel: labels?.[part] ?? `${label(field)} ${name}` },
    isChanged: false,
    isSecret: false,
  };
}

/** @param {string} key @param {() => void} act */
const button = (key, act) => html`<button type="button" @click=${act}>${t(key)}</button>`;

// The choice of a field whose codes are things: each by the name that people gave it.

/** @param {Context} context @returns {Draw} */
export const thingChoice = (context) => (field, drawn) =>
  choice(field, drawn, (word) => readingName(context, word));

// What is only shown: a title and its text, nothing without a text.
/** @param {string} title @param {string | null} value */
export const valueRow = (title, value) =>
  value
    ? html`<div>
        <dt>${t(title)}</dt>
        <dd class="as-is">${value}</dd>
      </div>`
    : nothing;
