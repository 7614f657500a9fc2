// The drawer of a thing, over whatever page is open: what it is now, why, its last day, who uses
// it, and its settings.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { shortMoment } from "../../lib/format/moments.js";
import { code, t } from "../../lib/format/words.js";
import { lossBanner } from "../../lib/frame/frame.js";
import { address } from "../../lib/frame/router.js";
import * as api from "../../lib/live/api.js";
import { findingList, findingsOf } from "../../lib/things/findings.js";
import { energyOf, indexOf, isState, OUTPUTS, PWMS, VARIABLES } from "../../lib/things/labels.js";
import { icon } from "../../lib/things/signs.js";
import { Duty, Switches } from "../../lib/things/switches.js";
import {
  kindOf,
  codeName,
  plateOf,
  currentValueText,
  thingAddress,
  thingName,
  things,
} from "../../lib/things/things.js";
import { Day } from "./day.js";
import { commonOf, listOf, settingsOf } from "./lists.js";
import { OnFor } from "./on_for.js";
import { usesOf, usesView } from "./uses.js";
import { Why } from "./why.js";

const PATIENCE_MS = 1500;

export class Drawer {
  // The forms of the open thing.
  /** @type {Set<Unsaved & { restore(): void }>} */
  forms = new Set();
  #context;
  #overview;
  #leave;
  #switches;
  /** @type {Signal<string | null>} */
  #label = signal(null);
  /** @type {Signal<Day | null>} */
  #day = signal(null);
  /** @type {Signal<Why | null>} */
  #why = signal(null);
  /** @type {Signal<OnFor | null>} */
  #onFor = signal(null);
  /** @type {Signal<Duty | null>} */
  #duty = signal(null);
  /** @type {Signal<Awaited<ReturnType<typeof settingsOf>> | null>} */
  #settings = signal(null);
  // Number of a reading in texts, by label.
  /** @type {Signal<Record<string, string> | null>} */
  #codes = signal(null);

  // `leave()` is asked to close it: the address decides what is open.
  /** @param {Context} context @param {() => void} leave */
  constructor(context, leave) {
    this.#context = context;
    this.#overview = context.overview;
    this.#leave = leave;
    this.#switches = new Switches(context);
  }

  get isChanged() {
    return [...this.forms].some((form) => form.isChanged);
  }

  get #isLost() {
    return this.#context.live.connection === "lost";
  }

  // What has been typed and not saved is given up.
  forget() {
    this.forms.forEach((form) => form.restore());
  }

  // What is open stays as it is, with what is asked and typed there.
  /** @param {string} label */
  open(label) {
    if (label === this.#label.value) return;
    this.#empty();
    this.#label.value = label;
    const hasHistory = isState(label) || this.#overview.isKnown(label);
    this.#day.value = hasHistory ? new Day(this.#context, label) : null;
    this.#why.value = isState(label) ? new Why(this.#context, label) : null;
    this.#onFor.value = OUTPUTS.includes(label) ? new OnFor(this.#context, label) : null;
    const hindrance = () => this.#switches.hindrance(label);
    this.#duty.value = PWMS.includes(label) ? new Duty(this.#context, label, hindrance) : null;
    dialog()?.scrollTo(0, 0);
    this.#read(label);
  }

  // Loads the parts without waiting; the frame shows a lost connection. The settings stand below
  // the parts, which would move them from under the pointer: they wait for a while.
  /** @param {string} label */
  async #read(label) {
    const above = Promise.allSettled([this.#day.value?.read(), this.#why.value?.open()]);
    if (!this.#context.isAdmin) return;
    const context = /** @type {AdminContext} */ (this.#context);
    const more = { forms: this.forms, requests: requests(label) };
    const [settings] = await Promise.all([
      settingsOf(context, label, more).catch(ignoreLoss),
      Promise.race([Promise.all([above, this.#readCodes()]), wait(PATIENCE_MS)]),
    ]);
    if (this.#label.value !== label) return;
    this.#settings.value = settings;
    await settings?.open().catch(ignoreLoss);
  }

  async #readCodes() {
    this.#codes.value ??= await api.readingCodes().then(byLabel, ignoreLoss);
  }

  // The browser gives the focus back to what had it, unless that was drawn away.
  close() {
    const label = this.#label.value;
    if (label === null) return;
    dialog()?.close();
    this.#empty();
    if (document.activeElement === document.body) focusOnLink(label);
  }

  #empty() {
    this.#why.value?.close();
    this.#settings.value?.close();
    this.forms.clear();
    [this.#label.value, this.#settings.value] = [null, null];
    [this.#day.value, this.#why.value, this.#onFor.value, this.#duty.value] = [
      null,
      null,
      null,
      null,
    ];
  }

  // To be called after drawing.
  onDrawn() {
    const own = dialog();
    if (own && !own.open) own.showModal();
  }

  view() {
    const label = this.#label.value;
    if (label === null) return nothing;
    return html`<dialog
      class="drawer"
      aria-labelledby="drawer-name"
      data-thing=${label}
      ?data-lost=${this.#isLost}
      aria-busy=${this.#context.isAdmin && this.#settings.value === null ? "true" : "false"}
      @cancel=${(event) => this.#onCancel(event)}
      @click=${({ target, currentTarget }) => target === currentTarget && this.#leave()}
    >
      <div class="inside">
        ${this.#bar(label)} ${lossBanner(this.#context.live)} ${this.#findings(label)}
        ${this.#now(label)} ${this.#why.value?.view() ?? nothing}
        ${this.#isBlank(label) ? nothing : this.#day.value?.view()}
        ${this.#why.value?.before() ?? nothing} ${this.#about(label)} ${this.#uses(label)}
        ${this.#settings.value?.view() ?? nothing} ${this.#advancedView(label)} ${this.#ways(label)}
      </div>
    </dialog>`;
  }

  /** @param {string} label */
  #bar(label) {
    const plate = plateOf(label);
    return html`<header class="bar">
      ${plate ? html`<span class="plate" aria-hidden="true">${plate}</span>` : nothing}
      <h2 id="drawer-name" tabindex="-1" autofocus>${thingName(this.#context, label)}</h2>
      ${this.#nameField
        ? html`<button
            type="button"
            class="bare"
            aria-label=${t("rename")}
            @click=${() => this.#rename()}
          >
            ${icon("pencil")}
          </button>`
        : nothing}
      <button
        type="button"
        class="bare close"
        aria-label=${t("close")}
        @click=${() => this.#leave()}
      >
        ${icon("close")}
      </button>
    </header>`;
  }

  get #nameField() {
    const fields = this.#settings.value?.forms.flatMap((form) => form.fields) ?? [];
    return fields.find(({ spec }) => spec.label === "name") ?? null;
  }

  #rename() {
    const id = this.#nameField?.id ?? "";
    const input = /** @type {HTMLInputElement | null} */ (document.getElementById(id));
    input?.scrollIntoView({ block: "center" });
    input?.focus({ preventScroll: true });
    input?.select();
  }

  /** @param {string} label */
  #findings(label) {
    // The findings are unknown now.
    if (this.#isLost) return nothing;
    const here = `things?thing=${label}`;
    const own = findingsOf(this.#context).filter(
      (finding) => finding.label === label || finding.page === here,
    );
    return own.length === 0
      ? nothing
      : html`<section>${findingList(this.#context, own, { hasLinks: true })}</section>`;
  }

  /** @param {Event} event */
  #onCancel(event) {
    event.preventDefault();
    this.#leave();
  }

  /** @param {string} label */
  #now(label) {
    if ([...OUTPUTS, ...PWMS, ...VARIABLES].includes(label)) {
      const isFree = this.#switches.prohibition(label) === null;
      return html`<section class="operated">
        ${this.#switches.upright(label, "drawer-")} ${this.#duty.value?.view() ?? nothing}
        <p class="note" id=${`drawer-who-${label}`}>${this.#switches.soon(label)}</p>
        ${isFree ? (this.#onFor.value?.view() ?? nothing) : nothing}
      </section>`;
    }
    if (STATELESS.includes(kindOf(label).kind ?? "")) return nothing;
    // An account that may not read the settings does not see what is set up.
    if (this.#context.settings && !this.#isThere(label)) {
      return html`<section><p class="present q">${t("not_set_up")}</p></section>`;
    }
    const value = currentValueText(this.#context, label);
    // A module has values below; here is whether it answers, which a simulated board does not say.
    if (kindOf(label).kind === "device" && !value) return nothing;
    const absent = this.#overview.absentSince(label);
    const none = absent ? "—" : t("no_value");
    return html`<section>
      <p class="present">${value || none}</p>
      ${absent
        ? html`<p class="attention">
            ${t("silent_since", { time: shortMoment(absent, this.#context.live.state.time) })}
          </p>`
        : nothing}
    </section>`;
  }

  /** @param {string} label */
  #isThere(label) {
    return things(this.#context).some((one) => one.label === label);
  }

  // "Add" opens the drawer of a free place, which has nothing to show yet.
  /** @param {string} label */
  #isBlank(label) {
    const { kind } = kindOf(label);
    return kind !== "all" && kind !== "variable" && !this.#isThere(label);
  }

  // A rule may use what is not set up yet.
  /** @param {string} label */
  #uses(label) {
    if (!this.#context.settings || UNUSED.includes(kindOf(label).kind ?? "")) return nothing;
    const context = /** @type {AdminContext} */ (this.#context);
    const uses = usesOf(context, label, this.#codes.value?.[label]);
    return uses.length === 0 && this.#isBlank(label) ? nothing : usesView(uses);
  }

  /** @param {string} label */
  #about(label) {
    const facts = this.#isThere(label) ? this.#facts(label) : [];
    return facts.length === 0 ? nothing : html`<section>${factList(facts)}</section>`;
  }

  // The label of a thing in programs, and its raw value.
  /** @param {string} label */
  #advancedView(label) {
    const key = this.#overview.isKnown(label) ? this.#overview.label(label) : "";
    const raw = this.#context.live.state[label];
    const isMeasured = !isState(label) && raw !== null && raw !== undefined;
    /** @type {[string, string][]} */
    const facts = [
      ...(key ? [/** @type {[string, string]} */ ([t("key"), key])] : []),
      ...(isMeasured ? [/** @type {[string, string]} */ ([t("raw_value"), String(raw)])] : []),
    ];
    if (facts.length === 0) return nothing;
    const what = facts.map(([name]) => name).join(", ");
    return html`<section>
      <details class="advanced">
        <summary>${t("advanced", { what })}</summary>
        ${factList(facts)}
      </details>
    </section>`;
  }

  /** @param {string} label @returns {[string, string][]} */
  #facts(label) {
    const { kind, number } = kindOf(label);
    if (kind === "device") return [[t("source"), t("from_slot", { slot: number })]];
    if ([...OUTPUTS, ...PWMS, ...VARIABLES].includes(label) || UNMEASURED.includes(kind ?? "")) {
      return [];
    }
    /** @type {[string, string][]} */
    const facts = [[t("source"), this.#source(label)]];
    if (kind === "meter") {
      const { text, unit } = this.#overview.formatValue(energyOf(label));
      facts.push([t("counted"), `${text} ${unit}`.trim()]);
    }
    return facts;
  }

  // Where it comes from, with its address. Addresses are in the settings of the administrator.
  /** @param {string} label */
  #source(label) {
    const settings = this.#context.settings;
    const [, kind, number] = /^(DS|INPA|INPD|DIFF|POWER|m)(\d+)$/.exec(label) ?? [null, label, "0"];
    const place = Number(number) - 1;
    const word = t(`from_${sourceOf(settings, kind, place)}`);
    /** @param {string} one */
    const name = (one) => codeName(this.#context, one);
    const where = settings ? ADDRESSES[kind]?.(settings, place, name) : "";
    return where ? `${word} · ${where}` : word;
  }

  /** @param {string} label */
  #ways(label) {
    const common = this.#context.isAdmin ? commonOf(listOf(kindOf(label).kind)) : null;
    const isReading = this.#overview.isKnown(label) && !this.#isBlank(label);
    if (!isReading && !common) return nothing;
    return html`<section class="ways">
      ${isReading
        ? html`<a href=${address("charts", { labels: label })}>${t("in_charts")}</a>`
        : nothing}
      ${this.#context.isAdmin && isReading
        ? html`<a href=${address("rules", { source: label })}>${t("make_rule")}</a>`
        : nothing}
      ${common
        ? html`<a href=${thingAddress(common)}>${thingName(this.#context, common)}</a>`
        : nothing}
    </section>`;
  }
}

// Kinds that nothing can use.
const UNUSED = ["watchdog", "account", "all"];

// Kinds that measure nothing.
const UNMEASURED = ["watchdog", "device", "text", "write", "account", "all"];

// Kinds without a state of their own.
const STATELESS = ["account", "all"];

/** @param {[string, string][]} facts */
const factList = (facts) =>
  html`<dl class="about">
    ${facts.map(
      ([what, text]) =>
        html`<dt>${what}</dt>
          <dd>${text}</dd>`,
    )}
  </dl>`;

/** @param {unknown} error */
function ignoreLoss(error) {
  if (!api.mayPass(error)) throw error;
  return null;
}

/** @param {number} ms */
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {LabelsByCode} labels */
const byLabel = (labels) =>
  Object.fromEntries(Object.entries(labels).map(([number, label]) => [label, number]));

// What a program asks for instead of a person.
/** @param {string} label */
function requests(label) {
  const index = indexOf(label);
  const targets = OUTPUTS.includes(label)
    ? [api.outputTarget(index, true), api.pulseTarget(index, 10)]
    : PWMS.includes(label)
      ? [api.pwmTarget(index, true)]
      : VARIABLES.includes(label)
        ? [api.variableTarget(index, true)]
        : [];
  return targets.map((target) => api.curl({ target }));
}

const dialog = () =>
  /** @type {HTMLDialogElement | null} */ (document.querySelector("dialog.drawer"));

/** @param {string} label */
function focusOnLink(label) {
  const links = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("main a"));
  const own = `thing=${encodeURIComponent(label)}`;
  const found = [...links].find((link) => link.getAttribute("href")?.endsWith(own));
  (found ?? document.querySelector("main"))?.focus({ preventScroll: true });
}

// Kind of label -> the rest of a key `from_...`.
/** @type {Record<string, string>} */
const SOURCES = {
  DS: "onewire",
  INPA: "analog",
  INPD: "digital",
  DIFF: "differential",
  POWER: "meter",
  m: "module",
  T1: "weather",
  H1: "weather",
  P1: "weather",
  DEWPOINT: "computed",
  CO2: "i2c",
  "PM1.0": "i2c",
  "PM2.5": "i2c",
  "PM4.0": "i2c",
  "PM10.0": "i2c",
};
// The rest of a key `from_...`. Slots after those of modules are further 1-Wire sensors.
/** @param {Settings | null} settings @param {string} kind @param {number} place */
function sourceOf(settings, kind, place) {
  const mapped = kind === "m" ? settings?.modbus_mapping[place] : null;
  if (!settings || !mapped) return SOURCES[kind] ?? "board";
  return mapped.slot > settings.modbus_slots.length ? "extra" : "modbus";
}

const NO_SENSOR = /^[0:]+$/;
const NO_MODULE = "NONE";
/** @type {(settings: Settings) => string} */
const weather = ({ i2c }) => (i2c.primary === NO_MODULE ? "" : i2c.primary);
/**
 * `name` is that of a thing, or the word of a code.
 * @type {Record<
 *   string, (settings: Settings, place: number, name: (one: string) => string) => string
 * >}
 */
const ADDRESSES = {
  DS: ({ onewire }, place) => (NO_SENSOR.test(onewire[place].id) ? "" : onewire[place].id),
  INPA: ({ analog_inputs: inputs }, place) => code(inputs[place].sensor),
  // Older versions have fewer differentials and meters.
  DIFF: ({ differentials }, place, name) => {
    const found = differentials[place];
    return found ? `${name(found.first)} ${found.operator} ${name(found.second)}` : "";
  },
  POWER: ({ power }, place, name) => {
    const found = power[place];
    if (!found) return "";
    // Who counts pulses needs no voltage.
    const isMeasured = kindOf(found.current).kind === "analog";
    return [found.current, ...(isMeasured ? [found.voltage] : [])].map(name).join(" · ");
  },
  m: ({ modbus_mapping: mapping, modbus_slots: slots }, place, name) => {
    const { slot, reading } = mapping[place] ?? { slot: 1, reading: place };
    const sensor = slot - slots.length;
    return sensor > 0
      ? t("extra_reading", { sensor, reading })
      : t("slot_reading", { slot, reading, module: name(`SLOT${slot}`) });
  },
  T1: weather,
  H1: weather,
  P1: weather,
  CO2: weather,
};
