// Faults and plants of the test bench: what each is, and the form that begins one.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { durationText, limitText, numberOf, secondsOf } from "../../lib/format/numbers.js";
import { serverText, t } from "../../lib/format/words.js";
import { optionsOf } from "../../lib/forms/controls.js";
import { Task } from "../../lib/forms/task.js";
import { kindOf, thingName } from "../../lib/things/things.js";

/** @import { Bench } from "./bench.js" */

// A form for one of several kinds of things, each with fields of its own; sent to the test bench as
// KIND*FIELD:VALUE, without the fields that were left empty.
//
//   new KindForm(bench, {
//     item: "plant",
//     kinds: () => bench.report.plants.kinds,
//     kindTitle: "key", button: "key",
//     kindName: (kind) => "a room", fieldName: (name, { doc }) => "Output that heats",
//     optionName: (option) => "Output 1",
//   })

// What people call a label; any other text as it is.
/** @param {AdminContext} context @param {string} text */
export const nameOf = (context, text) => (kindOf(text).kind ? thingName(context, text) : text);

// "load*switch:OUT0*on:5" -> ["load", [["switch", "OUT0"], ["on", "5"]]]
/** @param {string} text @returns {[string, string[][]]} */
function takeApart(text) {
  const [kind, ...values] = text.split("*");
  return [kind, values.map((one) => (/^(\w+):(.*)$/s.exec(one) ?? []).slice(1))];
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
function valueText(field, value) {
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
  const limits = isBounded ? `${valueText(field, least)} – ${valueText(field, most)}` : "";
  return [limits, labels ? `${labels[0]}–${labels.at(-1)}` : ""].filter(Boolean).join(", ");
}

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

class KindForm {
  #bench;
  #spec;
  /** @type {Signal<string | null>} */
  #kind = signal(null);
  /** @type {Signal<Record<string, string>>} */
  #typed = signal({});
  #task = new Task();

  /** @param {Bench} bench @param {KindFormSpec} spec */
  constructor(bench, spec) {
    this.#bench = bench;
    this.#spec = spec;
  }

  get kind() {
    return (this.#kind.value ??= Object.keys(this.#spec.kinds())[0]);
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
      ${this.#task.view()}
    </form>`;
  }

  /** @param {string} name @param {string | Template} title @param {KindField} field */
  #field(name, title, field) {
    const { labels, least, required, default: usual } = field;
    const typed = this.#typed.value[name] ?? "";
    /** @param {string} text */
    const change = (text) => this.#type(name, text);
    // What must be chosen starts with the first label, so that a form is never half empty.
    if (labels && least === undefined) {
      const options = [...(required ? [] : [""]), ...labels];
      const optionName = (/** @type {string} */ option) =>
        option || usual ? this.#spec.optionName(option || usual) : t("none");
      return this.#choice(name, title, options, typed, optionName, change);
    }
    const id = `${this.#spec.item}-${name}`;
    return html`<div class="field">
      <label for=${id}>${title}</label>
      <input
        id=${id}
        autocomplete="off"
        placeholder=${valueText(field, usual)}
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
    this.#kind.value = kind;
    this.#typed.value = {};
    this.#task.forget();
  }

  /** @param {string} name @param {string} typed */
  #type(name, typed) {
    this.#typed.value = { ...this.#typed.value, [name]: typed };
    this.#task.forget();
  }

  #composeText() {
    const items = Object.entries(this.#spec.kinds()[this.kind].fields)
      .map(([name, field]) => {
        const { labels, least, required } = field;
        const first = labels && least === undefined && required ? labels[0] : "";
        return [name, wireText(field, (this.#typed.value[name] ?? first).trim())];
      })
      .filter(([, value]) => value !== "");
    const isFault = this.#spec.item === "fault";
    const texts = items.map(([name, value]) => `${name}:${isFault ? faultValue(value) : value}`);
    return [this.kind, ...texts].join("*");
  }

  /** @param {Event} event */
  #submit(event) {
    event.preventDefault();
    this.#task.run(() => this.#bench.send([this.#spec.item, this.#composeText()]));
  }
}

// Faults on purpose: what is set and how often it acted, and a form that sets another. How requests
// call a field stands small behind what it means.

const SHOWN_LETTERS = 200;

/** @param {AdminContext} context @param {Bench} bench */
export function faultsCard(context, bench) {
  /** @param {string} option */
  const optionName = (option) => {
    const isThing = kindOf(option).kind !== null || option in bench.report.readings;
    return isThing ? thingName(context, option) : t(`option_${option.replace(" ", "_")}`);
  };
  // "sensor_85*label:DS2" -> "thermometer shows 85 °C · the reading: Thermometer 2"
  /** @param {string} text */
  const inWords = (text) => {
    const [kind, values] = takeApart(text);
    const { fields } = bench.report.faults.kinds[kind];
    const texts = values.map(([name, value]) => {
      const isOption = fields[name].labels?.includes(value);
      // An own answer may be a whole page.
      const decoded = decodeURIComponent(value).slice(0, SHOWN_LETTERS);
      const shown = isOption ? optionName(value) : valueText(fields[name], decoded);
      return `${serverText(fields[name].doc)}: ${shown}`;
    });
    return [t(`fails_${kind}`), ...texts].join(" · ");
  };
  const form = new KindForm(bench, {
    item: "fault",
    kinds: () => bench.report.faults.kinds,
    kindTitle: "fault_kind",
    button: "set_fault",
    kindName: (kind) => t(`fails_${kind}`),
    fieldName: (name, { doc }) => html`${asTitle(serverText(doc))} <code>${name}</code>`,
    optionName,
  });
  const view = () => {
    const { set, kinds } = bench.report.faults;
    const { doc, real } = kinds[form.kind];
    return html`<section class="card across">
      <h2>${t("faults_title")}</h2>
      <p class="note">${t("faults_note")}</p>
      ${set.length
        ? html`<ul class="wired">
            ${set.map(
              ({ number, text, acted }) =>
                html`<li class="pin">
                  <span class="name">${inWords(text)} <small>${t("acted", { acted })}</small></span>
                  <button
                    type="button"
                    @click=${() => bench.sendQuietly(["fault", `end:${number}`])}
                  >
                    ${t("end_fault", { number })}
                  </button>
                </li>`,
            )}
          </ul>`
        : html`<p class="empty">${t("no_faults")}</p>`}
      ${form.view(html`<p class="note">${serverText(doc)} ${serverText(real)}</p>`)}
    </section>`;
  };
  return { view };
}

/** @param {string} text */
const asTitle = (text) => text.charAt(0).toLocaleUpperCase() + text.slice(1);

// Plants between outputs and inputs: what is wired, and a form that wires another.

/** @param {AdminContext} context @param {Bench} bench */
export function plantsCard(context, bench) {
  const form = new KindForm(bench, {
    item: "plant",
    kinds: () => bench.report.plants.kinds,
    kindTitle: "plant_kind",
    button: "wire",
    kindName: (kind) => t(`plant_${kind}`),
    fieldName: (name) => t(`field_${name}`),
    optionName: (option) => nameOf(context, option),
  });
  const view = () => {
    const { wired } = bench.report.plants;
    return html`<section class="card across">
      <h2>${t("plants_title")}</h2>
      <p class="note">${t("plants_note")}</p>
      ${wired.length
        ? html`<ul class="wired">
              ${wired.map((wiring) => html`<li>${wiringInWords(context, bench, wiring)}</li>`)}
            </ul>
            <button type="button" @click=${() => bench.sendQuietly(["plant", "none"])}>
              ${t("remove_all")}
            </button>`
        : html`<p class="empty">${t("no_plants")}</p>`}
      ${form.view()}
    </section>`;
  };
  return { view };
}

// "load*switch:OUT0*on:5" -> "measured load · Switch: Pump · Reading with power: 5"
/** @param {AdminContext} context @param {Bench} bench @param {string} wiring */
function wiringInWords(context, bench, wiring) {
  const [kind, values] = takeApart(wiring);
  const { fields } = bench.report.plants.kinds[kind];
  const texts = values.map(
    ([name, value]) => `${t(`field_${name}`)}: ${nameOf(context, valueText(fields[name], value))}`,
  );
  return [t(`plant_${kind}`), ...texts].join(" · ");
}
