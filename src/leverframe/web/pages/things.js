// Things: what is connected or set up, one list for each kind. A row opens the drawer of its thing.

import { html, nothing } from "../vendor/lit-html.js";
import * as api from "../lib/api.js";
import { causeOf } from "../lib/causes.js";
import { Followed } from "../lib/followed.js";
import { icon } from "../lib/icon.js";
import { isState } from "../lib/labels.js";
import { shortMoment } from "../lib/moments.js";
import { mayOpen, findPage } from "../lib/navigation.js";
import { address } from "../lib/router.js";
import { plateOf, thingAddress, things } from "../lib/things.js";
import { t } from "../lib/words.js";
import { lastSwitching, whoOf } from "./things/why.js";

/**
 * @typedef {object} List
 * @property {string} name the rest of a key `list_...`
 * @property {string[]} kinds
 * @property {string} page where all of them are set
 * @property {(settings: Settings) => string | null} [free] the label of the first that is not used
 * @property {string} [scan] the page that finds new ones
 */

/** @type {List[]} */
const LISTS = [
  { name: "outputs", kinds: ["output"], page: "outputs" },
  { name: "pwm", kinds: ["pwm"], page: "pwm" },
  { name: "digital", kinds: ["digital"], page: "digital" },
  {
    name: "analog",
    kinds: ["analog"],
    page: "analog",
    free: ({ analog_inputs: inputs }) => place("INPA", inputs, ({ sensor }) => sensor === "off"),
  },
  {
    name: "differential",
    kinds: ["differential"],
    page: "differential",
    free: ({ differentials }) =>
      place("DIFF", differentials, ({ first, second }) => first === second),
  },
  {
    name: "sensors",
    kinds: [
      ...["onewire", "temperature", "humidity", "pressure", "dewpoint", "co2", "particles"],
      ...["distance", "board", "supply"],
    ],
    page: "i2c",
    scan: "onewire",
  },
  {
    name: "meters",
    kinds: ["meter"],
    page: "energy",
    free: ({ power }) => place("POWER", power, ({ name }) => name === ""),
  },
  { name: "devices", kinds: ["device", "mapped"], page: "modbus_devices", scan: "modbus" },
  {
    name: "watchdog",
    kinds: ["watchdog"],
    page: "watchdog",
    free: ({ watchdog }) => place("WDOG", watchdog, ({ host }) => host === ""),
  },
  {
    name: "variables",
    kinds: ["variable", "text"],
    page: "variables",
    free: ({ event_variables: variables }) =>
      place("EVENT", variables, ({ name }) => name === ""),
  },
];

/**
 * @template T
 * @param {string} prefix
 * @param {T[]} all
 * @param {(one: T) => boolean} isFree
 */
function place(prefix, all, isFree) {
  const index = all.findIndex(isFree);
  return index < 0 ? null : `${prefix}${index + 1}`;
}

export class Page {
  #context;
  /** @type {Followed<LogEntries>} */
  #log;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    this.#log = new Followed(context, api.log);
  }

  // Only the administrator may read who did it.
  async open() {
    if (this.#context.isAdmin) await this.#log.open();
  }

  close() {
    this.#log.close();
  }

  view() {
    const all = things(this.#context);
    return html`<div class="things">
      ${LISTS.map((list) => {
        const own = all.filter(({ kind }) => list.kinds.includes(kind ?? ""));
        return own.length > 0 || this.#context.isAdmin ? this.#list(list, own) : nothing;
      })}
    </div>`;
  }

  /** @param {List} list @param {Thing[]} own */
  #list(list, own) {
    return html`<section class="card" aria-labelledby="list-${list.name}">
      <header>
        <h2 id="list-${list.name}">${t(`list_${list.name}`)}</h2>
        ${this.#context.isAdmin ? this.#ways(list) : nothing}
      </header>
      ${own.length === 0
        ? html`<p class="empty">${t("list_empty")}</p>`
        : html`<ul class="rows">
            ${own.map((thing) => this.#row(thing))}
          </ul>`}
    </section>`;
  }

  /** @param {List} list */
  #ways({ name, page, free, scan }) {
    const { settings } = this.#context;
    const label = settings && free ? free(settings) : null;
    const add = scan ? address(scan) : label ? thingAddress(label) : null;
    const entry = findPage(page);
    const title = t(`list_${name}`);
    return html`<span class="ways">
      ${add
        ? html`<a href=${add} aria-label=${`${title}: ${t("add")}`}
            >${icon("plus", "s")} ${t("add")}</a
          >`
        : nothing}
      ${entry && mayOpen(this.#context, entry)
        ? html`<a href=${address(page)} aria-label=${`${title}: ${t("settings_of_all")}`}
            >${t("settings_of_all")}</a
          >`
        : nothing}
    </span>`;
  }

  /** @param {Thing} thing */
  #row({ label, name, kind, value, address: href }) {
    const on = isState(label) && this.#context.overview.isOn(label) === true;
    const plate = plateOf(label);
    return html`<li>
      <span class="plate-place"
        >${plate ? html`<span class="plate" aria-hidden="true">${plate}</span>` : nothing}</span
      >
      <a class="name" href=${href}>${name}</a>
      <span class="value" ?data-on=${on && kind !== "digital"}>${value || t("no_value")}</span>
      <span class="who">${this.#who(label)}</span>
    </li>`;
  }

  // Who did it last and when, or since when there is no value.
  /** @param {string} label */
  #who(label) {
    const { overview } = this.#context;
    const absent = overview.absentSince(label);
    const { time: now } = this.#context.live.state;
    if (absent) {
      const time = shortMoment(absent, now);
      return html`<span class="attention">${t("silent_since", { time })}</span>`;
    }
    const last = lastSwitching(this.#log.value ?? [], label);
    if (!last) return nothing;
    const { icon: glyph, look } = causeOf(last.cause);
    return html`<span class=${look}>${icon(glyph, "s")} ${whoOf(last)}</span>
      <small>${shortMoment(last.time, now)}</small>`;
  }
}
