// A form for one of several kinds of things, each with fields of its own; sent to the test bench as
// KIND*FIELD:VALUE, without the fields that were left empty.
//
//   new KindForm(context, bench, {
//     item: "plant",
//     kinds: () => bench.report.plants.kinds,
//     kindTitle: "key", button: "key",
//     kindName: (kind) => "a room", fieldName: (name, { doc }) => "Output that heats",
//     optionName: (option) => "Output 1",
//   })

import { html, nothing } from "../../vendor/lit-html.js";
import { durationText, secondsOf } from "../../lib/durations.js";
import { limitText, numberOf } from "../../lib/numbers.js";
import { optionsOf } from "../../lib/options.js";
import { kindOf, thingName } from "../../lib/things.js";
import { serverText, t } from "../../lib/words.js";

// What people call a label; any other text as it is.
/** @param {AdminContext} context @param {string} text */
export const named = (context, text) => (kindOf(text).kind ? thingName(context, text) : text);

// "load*switch:OUT0*on:5" -> ["load", [["switch", "OUT0"], ["on", "5"]]]
/** @param {string} text @returns {[string, string[][]]} */
export function takenApart(text) {
  const [kind, ...given] = text.split("*");
  return [kind, given.map((one) => (/^(\w+):(.*)$/s.exec(one) ?? []).slice(1))];
}

// Values of faults are texts of any kind; a bare `*` would end one.
/** @param {string} value */
const faultValue = (value) => value.replaceAll("%", "%25").replaceAll("*", "%2A");

// The bench says limits of durations as `1h30m`, and takes what is typed in seconds.
const DURATION = /^[\d.]+[smhd]$/;
// Beyond these, a limit is only the end of what is counted.
const MOST = 1e9;

/** @param {KindField} field */
const hasLimits = ({ least, most }) => least !== undefined && most !== undefined;

/** @param {KindField} field */
const isDuration = ({ most }) => DURATION.test(most ?? "");

// A value as people write it.
/** @param {KindField} field @param {string} value */
export function spokenValue(field, value) {
  if (value === "" || !hasLimits(field)) return value;
  if (isDuration(field)) return durationText(secondsOf(value));
  return Number.isNaN(Number(value)) ? value : limitText(Number(value));
}

// What is typed, as the bench takes it; what is no number goes as it is, and is refused in words.
/** @param {KindField} field @param {string} typed */
function wireText(field, typed) {
  if (!hasLimits(field)) return typed;
  const number = isDuration(field) ? secondsOf(typed) : numberOf(typed);
  return Number.isNaN(number) ? typed : `${number}${isDuration(field) ? "s" : ""}`;
}

/** @param {KindField} field */
function limitsOf(field) {
  const { labels, least, most, allowed } = field;
  if (least === undefined || most === undefined) return serverText(allowed);
  const isBounded = isDuration(field) || Math.abs(Number(most)) < MOST;
  const limits = isBounded ? `${spokenValue(field, least)} – ${spokenValue(field, most)}` : "";
  return [limits, labels ? `${labels[0]}–${labels.at(-1)}` : ""].filter(Boolean).join(", ");
}

/** @import { Bench } from "./bench.js" */
/** @typedef {BenchReport["plants"]["kinds"][string]["fields"][string]} KindField */
/**
 * @typedef {object} KindFormSpec
 * @property {string} item
 * @property {() => Record<string, { fields: Record<string, KindField> }>} kinds
 * @property {string} kindTitle
 * @property {string} button
 * @property {(kind: string) => string} kindName
 * @property {(name: string, field: KindField) => string | Template} fieldName
 * @property {(option: string) => string} optionName
 */

export class KindForm {
  #context;
  #bench;
  #spec;
  /** @type {string | null} */
  #kind = null;
  /** @type {Record<string, string>} */
  #typed = {};
  /** @type {string | null} */
  #problem = null;

  /** @param {AdminContext} context @param {Bench} bench @param {KindFormSpec} spec */
  constructor(context, bench, spec) {
    this.#context = context;
    this.#bench = bench;
    this.#spec = spec;
  }

  get kind() {
    return (this.#kind ??= Object.keys(this.#spec.kinds())[0]);
  }

  // The form, with something about the chosen kind between its name and its fields.
  /** @param {Template} [about] */
  view(about = nothing) {
    const { kinds, kindTitle, button, kindName, fieldName } = this.#spec;
    const { fields } = kinds()[this.kind];
    const choices = Object.keys(kinds());
    return html`<form class="ask" novalidate @submit=${(event) => this.#submit(event)}>
      ${this.#choice("kind", t(kindTitle), choices, this.kind, kindName, (kind) =>
        this.#choose(kind),
      )}
      ${about}
      ${Object.entries(fields).map(([name, field]) =>
        this.#field(name, fieldName(name, field), field),
      )}
      <footer><button class="primary">${t(button)}</button></footer>
      ${this.#problem ? html`<p class="refusal" role="alert">${this.#problem}</p>` : nothing}
    </form>`;
  }

  /** @param {string} name @param {string | Template} title @param {KindField} field */
  #field(name, title, field) {
    const { labels, least, required, default: usual } = field;
    const typed = this.#typed[name] ?? "";
    /** @param {string} text */
    const change = (text) => this.#type(name, text);
    // What must be chosen starts with the first label, so that a form is never half empty.
    if (labels && least === undefined) {
      const options = [...(required ? [] : [""]), ...labels];
      const shown = (/** @type {string} */ option) =>
        (option || usual) ? this.#spec.optionName(option || usual) : t("none");
      return this.#choice(name, title, options, typed, shown, change);
    }
    const id = `${this.#spec.item}-${name}`;
    return html`<div class="field">
      <label for=${id}>${title}</label>
      <input
        id=${id}
        autocomplete="off"
        placeholder=${spokenValue(field, usual)}
        aria-describedby="${id}-hint"
        .value=${typed}
        @input=${(event) => change(event.target.value)}
      />
      <small class="hint" id="${id}-hint">${limitsOf(field)}</small>
    </div>`;
  }

  /**
   * @param {string} name
   * @param {string | Template} title
   * @param {string[]} options
   * @param {string} chosen
   * @param {(option: string) => string} shown
   * @param {(text: string) => void} change
   */
  #choice(name, title, options, chosen, shown, change) {
    const id = `${this.#spec.item}-${name}`;
    return html`<div class="field">
      <label for=${id}>${title}</label>
      <select id=${id} @change=${(event) => change(event.target.value)}>
        ${optionsOf(
          options.map((option) => [option, shown(option)]),
          chosen,
        )}
      </select>
    </div>`;
  }

  /** @param {string} kind */
  #choose(kind) {
    this.#kind = kind;
    this.#typed = {};
    this.#problem = null;
    this.#context.redraw();
  }

  /** @param {string} name @param {string} typed */
  #type(name, typed) {
    this.#typed[name] = typed;
    this.#problem = null;
    this.#context.redraw();
  }

  #written() {
    const given = Object.entries(this.#spec.kinds()[this.kind].fields)
      .map(([name, field]) => {
        const { labels, least, required } = field;
        const first = labels && least === undefined && required ? labels[0] : "";
        return [name, wireText(field, (this.#typed[name] ?? first).trim())];
      })
      .filter(([, value]) => value !== "");
    const isFault = this.#spec.item === "fault";
    const texts = given.map(([name, value]) => `${name}:${isFault ? faultValue(value) : value}`);
    return [this.kind, ...texts].join("*");
  }

  /** @param {Event} event */
  async #submit(event) {
    event.preventDefault();
    this.#problem = await this.#bench.send([this.#spec.item, this.#written()]);
    this.#context.redraw();
  }
}
