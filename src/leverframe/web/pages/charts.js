// Charts: what was. Readings of one unit share a chart, states stand as bars below; all share the
// time and the cursor.

import { html, nothing } from "../vendor/lit-html.js";
import * as api from "../lib/api.js";
import { Bars } from "../lib/chart/bars.js";
import { Lines } from "../lib/chart/lines.js";
import { barsOf, tableOf } from "../lib/chart/table.js";
import { isState } from "../lib/labels.js";
import { t } from "../lib/words.js";
import { Course } from "./charts/course.js";
import { Legend } from "./charts/legend.js";
import { Picker } from "./charts/picker.js";
import { DEFAULT_RANGE, RANGES, View } from "./charts/view.js";

/** @import { Range } from "./charts/view.js" */

const CURSOR = "charts";
const SHIFT = 0.5;
const ZOOM = 2;

export class Page {
  #context;
  #overview;
  #view = new View(new URLSearchParams());
  #course = new Course();
  #picker;
  #legend;
  #stop;
  // Unit, or "" with states -> the chart and its labels.
  /** @type {Map<string, { chart: Bars | Lines, labels: string[] }>} */
  #charts = new Map();
  /** @type {string | null} */
  #refusal = null;
  #reading = false;
  #hasGap;
  // Where a double click returns to.
  /** @type {Range} */
  #lastRange = DEFAULT_RANGE;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    this.#overview = context.overview;
    this.#picker = new Picker(this.#overview, (label, wanted) => this.#toggle(label, wanted));
    this.#legend = new Legend(this.#overview, this.#course);
    this.#hasGap = context.live.watchGaps();
    this.#stop = context.live.listen(() => this.#follow());
  }

  /** @param {URLSearchParams} params */
  async open(params) {
    this.#view = new View(params);
    this.#lastRange = this.#view.range ?? this.#lastRange;
    this.#view.labels ??= this.#picker.suggested();
    await this.#read();
  }

  close() {
    this.#stop();
    for (const { chart } of this.#charts.values()) chart.close();
  }

  get #labels() {
    return this.#view.labels ?? [];
  }

  get #now() {
    return this.#context.live.state.time;
  }

  get #span() {
    return this.#view.span(this.#now);
  }

  async #read() {
    const labels = this.#labels.filter((label) => this.#overview.isKnown(label));
    this.#arrange(labels);
    this.#reading = true;
    try {
      if (!(await this.#course.read(labels, this.#span))) return;
      this.#refusal = null;
      await this.#draw();
    } catch (error) {
      this.#refusal = error instanceof api.Refused ? error.message : t("not_reached");
    }
    this.#reading = false;
    this.#context.redraw();
  }

  // A chart for each unit and one for all states; those that stay are kept.
  /** @param {string[]} labels */
  #arrange(labels) {
    const groups = Map.groupBy(labels, (label) =>
      isState(label) ? "states" : `in ${this.#overview.unit(label)}`,
    );
    for (const [key, { chart, labels: drawn }] of this.#charts) {
      const stays = groups.has(key) && (key !== "states" || same(drawn, groups.get(key) ?? []));
      if (stays) continue;
      chart.close();
      this.#charts.delete(key);
    }
    const states = groups.get("states");
    groups.delete("states");
    const wanted = [...groups];
    if (states) wanted.push(["states", states]);
    this.#charts = new Map(
      wanted.map(([key, own]) => [
        key,
        { chart: this.#charts.get(key)?.chart ?? this.#make(key, own), labels: own },
      ]),
    );
  }

  /** @param {string} key @param {string[]} labels */
  #make(key, labels) {
    /** @type {Moves} */
    const moves = {
      sync: CURSOR,
      zoom: (from, to) => this.#move(() => this.#view.zoom(from, to, this.#now)),
      back: () => this.#move(() => this.#view.choose(this.#lastRange)),
      point: (time) => this.#point(time),
    };
    return key === "states" ? new Bars(labels, moves) : new Lines(moves);
  }

  async #draw() {
    const { history } = this.#course;
    if (history === null) return;
    const [from, to] = this.#span;
    await Promise.all(
      [...this.#charts.values()].map(({ chart, labels }) => {
        if (chart instanceof Lines) return chart.draw(tableOf(history, labels), from, to);
        return chart.draw(labels.map((label) => barsOf(history, label)), from, to);
      }),
    );
  }

  /** @param {number | null} time */
  #point(time) {
    if (!this.#legend.point(time)) return;
    this.#context.redraw();
  }

  #follow() {
    if (!this.#view.labels || this.#reading) return;
    if (this.#hasGap()) {
      this.#read();
      return;
    }
    if (!this.#view.isLive || this.#course.history === null) return;
    const goesOn = this.#course.extend(this.#context.live.state, this.#span);
    (goesOn ? this.#draw() : this.#read()).catch(() => {});
  }

  /** @param {() => void} change */
  #move(change) {
    change();
    if (this.#view.range) this.#lastRange = this.#view.range;
    this.#context.redraw();
    this.#read();
  }

  /** @param {string} label @param {boolean} wanted */
  #toggle(label, wanted) {
    this.#move(() => this.#view.toggle(label, wanted));
  }

  view() {
    if (!this.#view.labels) return html`<p class="note">${t("opening")}</p>`;
    return html`<div class="charts" aria-busy=${this.#reading ? "true" : "false"}>
      ${this.#controls()}
      ${this.#picker.view(this.#labels)}
      ${this.#refusal ? html`<p class="refusal" role="alert">${this.#refusal}</p>` : nothing}
      ${this.#advice()}
      ${[...this.#charts].map(([key, { chart, labels }]) => this.#card(key, chart, labels))}
    </div>`;
  }

  #controls() {
    /** @param {string} text @param {() => void} act @param {string} sign */
    const step = (text, act, sign) =>
      html`<button type="button" aria-label=${text} title=${text} @click=${() => this.#move(act)}>
        ${sign}
      </button>`;
    return html`<div class="controls">
      <div class="ranges" role="group" aria-label=${t("range")}>
        ${/** @type {Range[]} */ (Object.keys(RANGES)).map(
          (range) =>
            html`<button
              type="button"
              aria-pressed=${this.#view.range === range ? "true" : "false"}
              @click=${() => this.#move(() => this.#view.choose(range))}
            >
              ${t(`range_${range}`)}
            </button>`,
        )}
      </div>
      <div class="steps" role="group" aria-label=${t("move")}>
        ${step(t("earlier"), () => this.#view.shift(-SHIFT, this.#now), "←")}
        ${step(t("later"), () => this.#view.shift(SHIFT, this.#now), "→")}
        ${step(t("zoom_in"), () => this.#view.scale(1 / ZOOM, this.#now), "+")}
        ${step(t("zoom_out"), () => this.#view.scale(ZOOM, this.#now), "−")}
        ${this.#view.isLive
          ? nothing
          : html`<button
              type="button"
              @click=${() => this.#move(() => this.#view.choose(this.#lastRange))}
            >
              ${t("back_to_now")}
            </button>`}
      </div>
      ${this.#labels.length === 0
        ? nothing
        : html`<a
            class="csv"
            download
            href=${api.historyTable(this.#course.query(this.#labels, this.#span))}
            >${t("as_csv")}</a
          >`}
    </div>`;
  }

  // Empty places teach.
  #advice() {
    const { history } = this.#course;
    if (this.#labels.length === 0) return html`<p class="empty">${t("nothing_chosen")}</p>`;
    if (history === null) return nothing;
    if (history.since === null) return html`<p class="empty">${t("no_history")}</p>`;
    const [from] = this.#span;
    if (history.since <= from) return nothing;
    return html`<p class="note">
      ${t("records_since", { time: this.#overview.moment(history.since) })}
    </p>`;
  }

  /** @param {string} key @param {Bars | Lines} chart @param {string[]} labels */
  #card(key, chart, labels) {
    const unit = key === "states" ? t("states") : this.#overview.unit(labels[0]);
    return html`<section class="card" data-unit=${unit}>
      <h2>${unit || t("without_unit")}</h2>
      ${chart.element} ${this.#legend.view(labels, key === "states")}
    </section>`;
  }
}

/** @param {string[]} one @param {string[]} other */
const same = (one, other) => one.join() === other.join();
