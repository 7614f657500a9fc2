// Charts: what was. Readings of one unit share a chart, states stand as bars below; all share the
// time and the cursor, which a press leaves where it is, here and on the timeline.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { shortMoment } from "../lib/format/moments.js";
import { t } from "../lib/format/words.js";
import { ownZone, displayZone } from "../lib/format/zone.js";
import { Task } from "../lib/forms/task.js";
import { address } from "../lib/frame/router.js";
import * as api from "../lib/live/api.js";
import { Bars, Lines } from "../lib/things/charts.js";
import { barsOf, pointAt, pointedMoment, tableOf } from "../lib/things/history.js";
import { isState } from "../lib/things/labels.js";
import { kindName, thingName } from "../lib/things/things.js";
import { Course, Legend, Picker } from "./charts/legend.js";
import { BEHIND, DEFAULT_RANGE, RANGES, View } from "./charts/view.js";

/** @import { Range } from "./charts/view.js" */

const CURSOR = "charts";
const SHIFT = 0.5;
const ZOOM = 2;
// One chart takes what a screen has; several share it.
const TALL_PX = 440;
const SHARED_PX = 300;
const PHONE_PX = 260;
// So near to the line a press means it.
const SAME_PLACE = 0.01;
const PHONE = matchMedia("(max-width: 640px)");

export class Page {
  #context;
  #overview;
  #view = signal(new View(new URLSearchParams()));
  #course = new Course();
  #picker;
  #legend;
  #stop;
  // Unit, or "" with states -> the chart and its labels.
  /** @type {Signal<Map<string, { chart: Bars | Lines, labels: string[] }>>} */
  #charts = signal(new Map());
  #task = new Task();
  #reading = signal(false);
  #hasGap;
  #height = signal(TALL_PX);
  #isPointing = false;
  #isMarking = false;
  // Where a double click returns to.
  /** @type {Range} */
  #lastRange = DEFAULT_RANGE;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    this.#overview = context.overview;
    this.#picker = new Picker(context, (label, wanted) => this.#toggle(label, wanted));
    this.#legend = new Legend(context, this.#course);
    this.#hasGap = context.live.watchGaps();
    this.#stop = context.live.listen(() => this.#follow());
  }

  /** @param {URLSearchParams} params */
  async open(params) {
    this.#view.value = new View(params);
    this.#lastRange = this.#view.value.range ?? this.#lastRange;
    this.#view.value.labels ??= this.#picker.suggestLabels();
    const at = Number(params.get("at"));
    if (at > 0) pointAt(at);
    this.#legend.point(pointedMoment());
    await this.#read();
  }

  close() {
    this.#stop();
    this.#course.leave();
    for (const { chart } of this.#charts.value.values()) chart.close();
  }

  get #labels() {
    return this.#view.value.labels ?? [];
  }

  get #now() {
    return this.#context.live.state.time;
  }

  get #span() {
    return this.#view.value.span(this.#now);
  }

  async #read() {
    const labels = this.#labels.filter((label) => this.#overview.isKnown(label));
    this.#arrange(labels);
    this.#reading.value = true;
    const { live } = this.#context;
    const { heard } = live;
    try {
      const before = this.#view.value.behind ? BEHIND[this.#view.value.behind] : 0;
      if (!(await this.#course.read(labels, this.#span, before))) return;
      this.#task.forget();
      await this.#draw();
    } catch (error) {
      this.#task.refuse(error);
    }
    this.#reading.value = false;
    // The answer may be older than the last message.
    if (live.heard !== heard) this.#follow();
  }

  // A chart for each unit and one for all states; those that stay are kept.
  /** @param {string[]} labels */
  #arrange(labels) {
    const groups = Map.groupBy(labels, (label) =>
      isState(label) ? "states" : `in ${this.#overview.unit(label)}`,
    );
    for (const [key, { chart, labels: drawn }] of this.#charts.value) {
      const stays = groups.has(key) && (key !== "states" || same(drawn, groups.get(key) ?? []));
      if (stays) continue;
      chart.close();
      this.#charts.value.delete(key);
    }
    const states = groups.get("states");
    groups.delete("states");
    const wanted = [...groups];
    const height = PHONE.matches ? PHONE_PX : wanted.length > 1 ? SHARED_PX : TALL_PX;
    if (height !== this.#height.value) this.#forgetLines();
    this.#height.value = height;
    if (states) wanted.push(["states", states]);
    this.#charts.value = new Map(
      wanted.map(([key, own]) => [
        key,
        { chart: this.#charts.value.get(key)?.chart ?? this.#make(key, own, height), labels: own },
      ]),
    );
  }

  // Charts of another height are created again.
  #forgetLines() {
    for (const [key, { chart }] of this.#charts.value) {
      if (!(chart instanceof Lines)) continue;
      chart.close();
      this.#charts.value.delete(key);
    }
  }

  /** @param {string} key @param {string[]} labels @param {number} height */
  #make(key, labels, height) {
    /** @type {Moves} */
    const moves = {
      sync: CURSOR,
      zoom: (from, to) => this.#move(() => this.#view.value.zoom(from, to, this.#now)),
      back: () => this.#backToNow(),
      point: (time) => this.#point(time),
      press: (time) => this.#press(time),
    };
    if (key !== "states") return new Lines(moves, height);
    return new Bars(
      labels.map((label) => thingName(this.#context, label)),
      moves,
    );
  }

  async #draw() {
    const { history, behind } = this.#course;
    if (history === null) return;
    const [from, to] = this.#span;
    await Promise.all(
      [...this.#charts.value.values()].map(({ chart, labels }) => {
        if (chart instanceof Lines) {
          const before = behind && tableOf(behind, labels);
          return chart.draw(tableOf(history, labels), from, to, before);
        }
        const bars = labels.map((label) =>
          barsOf(history, label, this.#overview.isInverted(label)),
        );
        return chart.draw(bars, from, to);
      }),
    );
    this.#mark();
  }

  // Without a pointer, the line stays where it was left; a chart without a time yet has none.
  /** @param {number | null} time */
  #point(time) {
    const at = time !== null && Number.isFinite(time) ? time : null;
    this.#isPointing = at !== null;
    if (at === null) this.#mark();
    this.#legend.point(at ?? pointedMoment());
  }

  // The line stays; pressed again, it goes.
  /** @param {number} time */
  #press(time) {
    const [from, to] = this.#span;
    const before = pointedMoment();
    const isSame = before !== null && Math.abs(before - time) < (to - from) * SAME_PLACE;
    pointAt(isSame ? null : time);
  }

  #mark() {
    if (this.#isMarking || this.#isPointing) return;
    this.#isMarking = true;
    for (const { chart } of this.#charts.value.values()) chart.mark(pointedMoment());
    this.#isMarking = false;
    this.#isPointing = false;
  }

  #backToNow() {
    pointAt(null);
    this.#legend.point(null);
    this.#move(() => this.#view.value.choose(this.#lastRange));
  }

  #follow() {
    if (!this.#view.value.labels || this.#reading.value) return;
    if (this.#hasGap()) {
      this.#read();
      return;
    }
    if (!this.#view.value.isLive || this.#course.history === null) return;
    const goesOn = this.#course.extend(this.#context.live.state, this.#span);
    (goesOn ? this.#draw() : this.#read()).catch(() => {});
  }

  /** @param {() => void} change */
  #move(change) {
    change();
    if (this.#view.value.range) this.#lastRange = this.#view.value.range;
    this.#read();
  }

  /** @param {string} label @param {boolean} wanted */
  #toggle(label, wanted) {
    this.#move(() => this.#view.value.toggle(label, wanted));
  }

  view() {
    if (!this.#view.value.labels) return html`<p class="note">${t("opening")}</p>`;
    return html`<div class="charts" aria-busy=${this.#reading.value ? "true" : "false"}>
      <div class="plots">
        ${this.#task.view()}
        ${[...this.#charts.value].map(([key, { chart, labels }]) => this.#card(key, chart, labels))}
        ${this.#advice()}
      </div>
      ${this.#picker.view(this.#labels)}
    </div>`;
  }

  tools() {
    if (!this.#view.value.labels) return nothing;
    return html`${this.#ways()} ${this.#behind()} ${this.#ranges()} ${this.#steps()}`;
  }

  #ways() {
    return html`<span class="ways">
      <a href=${address("timeline", this.#sameTime())}>${t("as_timeline")}</a>
      ${this.#labels.length === 0
        ? nothing
        : html`<a class="csv" download href=${this.#table()}>${t("as_csv")}</a>`}
    </span>`;
  }

  #behind() {
    const { behind } = this.#view.value;
    const names = /** @type {(keyof typeof BEHIND)[]} */ (Object.keys(BEHIND));
    return html`<span class="behind"
      ><small>${t("behind")}</small>${choices(
        t("behind"),
        names.map((name) => [
          t(`behind_${name}`),
          behind === name,
          () => this.#move(() => this.#view.value.putBehind(behind === name ? null : name)),
        ]),
      )}</span
    >`;
  }

  #ranges() {
    const ranges = /** @type {Range[]} */ (Object.keys(RANGES));
    return choices(
      t("range"),
      ranges.map((range) => [
        t(`range_${range}`),
        this.#view.value.range === range,
        () => this.#move(() => this.#view.value.choose(range)),
      ]),
    );
  }

  #steps() {
    /** @param {string} text @param {() => void} act @param {string} sign */
    const step = (text, act, sign) =>
      html`<button type="button" aria-label=${text} title=${text} @click=${() => this.#move(act)}>
        ${sign}
      </button>`;
    return html`<span class="group" role="group" aria-label=${t("move")}>
      ${step(t("earlier"), () => this.#view.value.shift(-SHIFT, this.#now), "←")}
      ${this.#view.value.isLive
        ? nothing
        : html`<button type="button" @click=${() => this.#backToNow()}>
            ${t("back_to_now")}
          </button>`}
      ${step(t("later"), () => this.#view.value.shift(SHIFT, this.#now), "→")}
      ${step(t("zoom_in"), () => this.#view.value.scale(1 / ZOOM, this.#now), "+")}
      ${step(t("zoom_out"), () => this.#view.value.scale(ZOOM, this.#now), "−")}
    </span>`;
  }

  /** @returns {Params} */
  #sameTime() {
    const [from, to] = this.#span.map(Math.round);
    return this.#view.value.range === DEFAULT_RANGE ? { span: DEFAULT_RANGE } : { from, to };
  }

  // In the reader's language, with the times of the place.
  #table() {
    const zone = displayZone() ?? ownZone();
    const names = this.#labels.map(kindName).join(",");
    return api.historyTable({ ...this.#course.query(this.#labels, this.#span), zone, names });
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
      ${t("records_since", { time: shortMoment(history.since, this.#context.live.state.time) })}
    </p>`;
  }

  /** @param {string} key @param {Bars | Lines} chart @param {string[]} labels */
  #card(key, chart, labels) {
    const unit = key === "states" ? t("states") : this.#overview.unit(labels[0]);
    return html`<section class="card" data-unit=${unit}>
      <h2>${unit || t("without_unit")}</h2>
      ${chart.element} ${this.#legend.view(labels, key === "states", this.#view.value.behind)}
    </section>`;
  }
}

// Buttons of which one is pressed, or none.
/** @param {string} label @param {[string, boolean, () => void][]} offered */
const choices = (label, offered) =>
  html`<span class="group" role="group" aria-label=${label}>
    ${offered.map(
      ([text, isPressed, act]) =>
        html`<button type="button" aria-pressed=${isPressed ? "true" : "false"} @click=${act}>
          ${text}
        </button>`,
    )}
  </span>`;

/** @param {string[]} one @param {string[]} other */
const same = (one, other) => one.join() === other.join();
