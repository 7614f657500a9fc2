// Readings as tiles: small the name, big the value, the last hour as a line. A press opens more.

import { html, nothing, svg } from "../../vendor/lit-html.js";
import { INPUTS, METERS, READINGS, energyOf } from "../../lib/labels.js";
import { address } from "../../lib/router.js";
import { thingAddress } from "../../lib/things.js";
import { t } from "../../lib/words.js";
import { HEIGHT, WIDTH } from "./last_hour.js";

/** @import { LastHour } from "./last_hour.js" */

export class Tiles {
  #context;
  #overview;
  #hour;
  // How often each value has changed while the page was open, and what it was last.
  /** @type {Map<string, number>} */
  #beats = new Map();
  /** @type {Map<string, number | null | undefined>} */
  #last = new Map();

  /**
   * @param {Context} context
   * @param {Overview} overview
   * @param {LastHour} hour
   */
  constructor(context, overview, hour) {
    this.#context = context;
    this.#overview = overview;
    this.#hour = hour;
  }

  /** @param {State} state */
  follow(state) {
    for (const label of [...READINGS, ...METERS, ...INPUTS]) {
      const value = state[label];
      if (this.#last.has(label) && this.#last.get(label) !== value) {
        this.#beats.set(label, (this.#beats.get(label) ?? 0) + 1);
      }
      this.#last.set(label, value);
    }
  }

  readings() {
    const present = this.#chosen(READINGS);
    const sensed = present.some((label) => label !== "TEMP" && label !== "VCC");
    return html`<div class="tiles">${present.map((label) => this.#reading(label))}</div>
      ${sensed ? nothing : this.#teach("no_sensor", "onewire", "scan_bus")}`;
  }

  inputs() {
    const tiles = this.#chosen(INPUTS).map((label) => this.#input(label));
    return html`<div class="tiles">${tiles}</div>`;
  }

  meters() {
    const { state } = this.#context.live;
    const counting = this.#chosen(METERS).filter(
      (label) => state[label] != null || Number(state[energyOf(label)]) > 0,
    );
    if (counting.length === 0) return this.#teach("no_meter", "energy", "set_up_meter");
    return html`<div class="tiles">${counting.map((label) => this.#meter(label))}</div>`;
  }

  /** @param {string[]} labels */
  hasAny(labels) {
    return this.#chosen(labels).length > 0;
  }

  /** @param {string[]} labels */
  #chosen(labels) {
    const overview = this.#overview;
    return labels.filter((label) => overview.isVisible(label) && overview.isPresent(label));
  }

  // Empty places teach: what is missing, and for those who may, where to see to it.
  /** @param {string} what @param {string} page @param {string} how */
  #teach(what, page, how) {
    return html`<p class="empty">
      ${t(what)}
      ${this.#context.isAdmin ? html`<a href=${address(page)}>${t(how)}</a>` : nothing}
    </p>`;
  }

  /** @param {string} label */
  #reading(label) {
    const { text, unit, absent } = this.#overview.shown(label);
    return this.#tile(label, {
      value: html`${text}<small>${absent ? "" : unit}</small>`,
      absent,
      extra: absent ? this.#since(label) : this.#line(label),
    });
  }

  /** @param {string} label */
  #meter(label) {
    const energy = energyOf(label);
    const power = this.#overview.shown(label);
    const used = this.#overview.shown(energy);
    return this.#tile(label, {
      value: html`${power.text}<small>${power.absent ? "" : power.unit}</small>`,
      absent: power.absent,
      extra: html`${this.#line(label)}
        <small>${t("in_all", { amount: `${used.text} ${used.unit}` })}</small>`,
    });
  }

  /** @param {string} label */
  #input(label) {
    const on = this.#overview.isOn(label);
    return this.#tile(label, {
      value: html`<span class="level">${levelWord(on)}</span>`,
      absent: on === null,
      extra: on === null ? this.#since(label) : this.#line(label),
    });
  }

  /** @param {string} label @param {{ value: Template, absent: boolean, extra: Template }} one */
  #tile(label, { value, absent, extra }) {
    const name = this.#overview.name(label);
    const tag = this.#overview.label(label);
    const beats = this.#beats.get(label);
    return html`<a
      class="tile"
      href=${thingAddress(label)}
      data-label=${label}
      data-beat=${beats === undefined ? nothing : beats % 2}
      ?data-absent=${absent}
    >
      <span class="name">
        ${name || label}${name && tag ? html` <small>${tag}</small>` : nothing}
      </span>
      <span class="value">${value}</span>
      ${extra}
    </a>`;
  }

  /** @param {string} label */
  #since(label) {
    const since = this.#overview.absentSince(label);
    const text = since ? t("gone_since", { time: this.#overview.moment(since) }) : t("absent");
    return html`<small class="gone">${text}</small>`;
  }

  /** @param {string} label */
  #line(label) {
    return html`<svg
      class="spark"
      viewBox="0 0 ${WIDTH - 1} ${HEIGHT}"
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      ${svg`<path d=${this.#hour.path(label)} />`}
    </svg>`;
  }
}

/** @param {boolean | null} on */
const levelWord = (on) => (on === null ? "–" : t(on ? "level_open" : "level_closed"));
