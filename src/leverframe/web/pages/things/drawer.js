// The drawer of a thing, over whatever page is open: what it is now, its last day, where it comes
// from, and which rules use it.

import { html, nothing } from "../../vendor/lit-html.js";
import * as api from "../../lib/api.js";
import { Bars } from "../../lib/chart/bars.js";
import { Lines } from "../../lib/chart/lines.js";
import { barsOf, summaryOf, tableOf } from "../../lib/chart/table.js";
import { isState } from "../../lib/labels.js";
import { address } from "../../lib/router.js";
import { thingName } from "../../lib/things.js";
import { code, t } from "../../lib/words.js";

const SPAN_S = 86_400;
const POINTS = 720;
// A chart of a controller that has just begun to record still has some width.
const MIN_S = 60;
const CHART_PX = 200;

export class Drawer {
  // The forms of the open thing.
  /** @type {Set<Unsaved & { restore(): void }>} */
  forms = new Set();
  #context;
  #overview;
  #leave;
  /** @type {string | null} */
  #label = null;
  /** @type {Bars | Lines | null} */
  #chart = null;
  /** @type {HistoryReply | null} */
  #history = null;

  // `leave()` is asked to close it: the address decides what is open.
  /** @param {Context} context @param {() => void} leave */
  constructor(context, leave) {
    this.#context = context;
    this.#overview = context.overview;
    this.#leave = leave;
  }

  get isChanged() {
    return [...this.forms].some((form) => form.isChanged);
  }

  // What has been typed and not saved is given up.
  forget() {
    this.forms.forEach((form) => form.restore());
  }

  /** @param {string} label */
  open(label) {
    this.#empty();
    this.#label = label;
    this.#chart = isState(label) ? new Bars([label], {}) : new Lines({}, CHART_PX);
    this.#context.redraw();
    this.#draw(label).catch(() => {});
  }

  // The browser gives the focus back to what had it, unless that was drawn away.
  close() {
    const label = this.#label;
    if (label === null) return;
    dialog()?.close();
    this.#empty();
    if (document.activeElement === document.body) focusOnLink(label);
    this.#context.redraw();
  }

  #empty() {
    this.#chart?.close();
    this.forms.clear();
    [this.#label, this.#chart, this.#history] = [null, null, null];
  }

  // To be called after drawing.
  drawn() {
    const own = dialog();
    if (own && !own.open) own.showModal();
  }

  /** @param {string} label */
  async #draw(label) {
    const to = this.#context.live.state.time;
    const history = await api.history({ labels: label, from: to - SPAN_S, to, points: POINTS });
    if (this.#label !== label) return;
    this.#history = history;
    this.#context.redraw();
    const begin = Math.max(history.from, Math.min(history.since ?? 0, history.to - MIN_S));
    if (this.#chart instanceof Lines) {
      await this.#chart.draw(tableOf(history, [label]), begin, history.to);
    } else await this.#chart?.draw([barsOf(history, label)], begin, history.to);
  }

  view() {
    const label = this.#label;
    if (label === null) return nothing;
    return html`<dialog
      class="drawer"
      aria-labelledby="drawer-name"
      @cancel=${(event) => this.#cancelled(event)}
      @click=${({ target, currentTarget }) => target === currentTarget && this.#leave()}
    >
      <div class="inside">
        <header>
          <h2 id="drawer-name" tabindex="-1" autofocus>${thingName(this.#context, label)}</h2>
          <button type="button" @click=${() => this.#leave()}>${t("close")}</button>
        </header>
        <p class="present">${this.#now(label)}</p>
        ${this.#chart?.element} ${this.#known()}
        <dl class="about">
          ${this.#facts(label).map(([what, text]) => html`<dt>${what}</dt><dd>${text}</dd>`)}
        </dl>
        ${this.#rules(label)}
        <p class="ways">
          <a href=${address("charts", { labels: label })}>${t("in_charts")}</a>
          ${this.#context.isAdmin
            ? html`<a href=${address("rules", { source: label })}>${t("make_rule")}</a>`
            : nothing}
        </p>
      </div>
    </dialog>`;
  }

  /** @param {Event} event */
  #cancelled(event) {
    event.preventDefault();
    this.#leave();
  }

  /** @param {string} label */
  #now(label) {
    if (isState(label)) {
      const on = this.#overview.isOn(label);
      return on === null ? "–" : t(on ? "level_open" : "level_closed");
    }
    const { text, unit, absent } = this.#overview.shown(label);
    return absent ? "–" : html`${text}<small>${unit}</small>`;
  }

  // No history teaches since when there is one.
  #known() {
    if (this.#history === null) return html`<p class="note">${t("reading_history")}</p>`;
    const { since } = this.#history;
    return html`<p class="note">
      ${since === null
        ? t("no_history")
        : t("records_since", { time: this.#overview.moment(since) })}
    </p>`;
  }

  /** @param {string} label */
  #facts(label) {
    const raw = this.#context.live.state[label];
    const since = this.#overview.absentSince(label);
    const facts = [[t("source"), this.#source(label)]];
    if (raw !== null && raw !== undefined) facts.push([t("raw_value"), String(raw)]);
    if (since) facts.push([t("gone"), this.#overview.moment(since)]);
    const changed = this.#lastChange(label);
    if (changed) facts.push([t("unchanged_since"), this.#overview.moment(changed)]);
    if (this.#history && !isState(label)) facts.push(...this.#extremes(this.#history, label));
    return facts.filter(([, text]) => text);
  }

  /** @param {HistoryReply} history @param {string} label */
  #extremes(history, label) {
    const { min, max } = summaryOf(history, label);
    if (min === null) return [];
    /** @param {number | null} value */
    const text = (value) => {
      const shown = this.#overview.shown(label, value);
      return `${shown.text} ${shown.unit}`;
    };
    return [
      [t("lowest"), text(min)],
      [t("highest"), text(max)],
    ];
  }

  // Known only while values are kept as they came.
  /** @param {string} label */
  #lastChange(label) {
    if (this.#history?.step !== 0) return null;
    const last = this.#history.series[label]?.times.at(-1);
    return last && last > this.#history.from ? last : null;
  }

  // Where it comes from, with its address. Addresses are in the settings of the administrator.
  /** @param {string} label */
  #source(label) {
    const settings = this.#context.settings;
    const [, kind, number] = /^(DS|INPA|INPD|DIFF|POWER|m)(\d+)$/.exec(label) ?? [null, label, "0"];
    const place = Number(number) - 1;
    const word = t(`from_${SOURCES[kind] ?? "board"}`);
    const where = settings ? ADDRESSES[kind]?.(settings, place) : "";
    return where ? `${word} · ${where}` : word;
  }

  /** @param {string} label */
  #rules(label) {
    const numbers = (this.#context.settings?.rules ?? []).flatMap((rule, index) =>
      [rule.source, rule.operator === "-" ? null : rule.source2].includes(label) ? [index + 1] : [],
    );
    if (!this.#context.isAdmin) return nothing;
    if (numbers.length === 0) return html`<p class="note">${t("used_by_none")}</p>`;
    return html`<p class="used">
      <span>${t("used_by")}</span>
      ${numbers.map(
        (number) =>
          html`<a href=${address("rules", { edit: number })}>${t("rule_number", { number })}</a> `,
      )}
    </p>`;
  }
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
const NO_SENSOR = /^[0:]+$/;
/** @type {Record<string, (settings: Settings, place: number) => string>} */
const ADDRESSES = {
  DS: ({ onewire }, place) => (NO_SENSOR.test(onewire[place].id) ? "" : onewire[place].id),
  INPA: ({ analog_inputs: inputs }, place) => code(inputs[place].sensor),
  DIFF: ({ differentials }, place) => {
    const { first, operator, second } = differentials[place];
    return `${first} ${operator} ${second}`;
  },
  POWER: ({ power }, place) => `${code(power[place].current)} · ${code(power[place].voltage)}`,
  m: ({ modbus_mapping: mapping, modbus_slots: slots }, place) => {
    const { slot, reading } = mapping[place] ?? { slot: 1, reading: place };
    return t("slot_reading", { slot, reading, module: code(slots[slot - 1]?.module ?? "") });
  },
  T1: ({ i2c }) => i2c.primary,
  H1: ({ i2c }) => i2c.primary,
  P1: ({ i2c }) => i2c.primary,
  CO2: ({ i2c }) => i2c.primary,
};
