// The timeline: all outputs, messages, rules, inputs and readings as lanes over one time. Each bar
// tells by colour and texture who caused it, and when it is chosen, its whole chain of causes.

import { html, nothing } from "../vendor/lit-html.js";
import * as api from "../lib/api.js";
import { causeKey } from "../lib/causes.js";
import { SIMULATED } from "../lib/context.js";
import { isState } from "../lib/labels.js";
import { fullMoment } from "../lib/moments.js";
import { pointAt, pointedAt } from "../lib/pointed.js";
import { t } from "../lib/words.js";
import { barAt, begunAt, lanesOf, meantAt, stepsOf } from "./timeline/chain.js";
import { dragging, drawing } from "./timeline/gestures.js";
import { head, restOfKey } from "./timeline/head.js";
import { flagText, hours, lanes, pointsOf } from "./timeline/picture.js";
import { readingsOf, rowsOf } from "./timeline/rows.js";
import { Story } from "./timeline/story.js";
import { Stretch } from "./timeline/stretch.js";

/** @import { Chosen, Timeline } from "./timeline/chain.js" */
/** @import { Scene } from "./timeline/picture.js" */
/** @import { Row } from "./timeline/rows.js" */

const POINTS = 500;
// What rolls is read again when so much of it is new, but not too often.
const NEW_SHARE = 1 / 300;
const READ_AGAIN_S = 5;
const KEY_STEP = 1 / 200;
const BIG_STEP = 1 / 24;
// So near to a message, or to a fine bar, a press means it.
const NEAR_PX = 6;
const USUAL_WIDTH_PX = 820;

export class Page {
  #context;
  #stretch = new Stretch(new URLSearchParams());
  /** @type {Timeline | null} */
  #timeline = null;
  /** @type {HistoryReply | null} */
  #history = null;
  /** @type {Chosen | null} */
  #chosen = null;
  // The row that the keys move on.
  #row = 0;
  /** @type {[number, number] | null} */
  #selected = null;
  /** @type {string | null} */
  #refusal = null;
  #reading = false;
  #isLivingOn = false;
  #known = "";
  #stop;
  #hasGap;
  #width = USUAL_WIDTH_PX;
  #resized = new ResizeObserver(([{ contentRect }]) => this.#fit(contentRect.width));
  // On a phone the picture is wider than the screen: it opens at the cursor.
  #isPlaced = false;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    this.#hasGap = context.live.watchGaps();
    this.#stop = context.live.listen(() => this.#follow());
  }

  /** @param {URLSearchParams} params */
  async open(params) {
    this.#stretch = new Stretch(params);
    const at = Number(params.get("at"));
    if (at > 0) pointAt(at);
    await this.#read();
    if (at > 0) this.#chooseWhatBegan(at);
  }

  close() {
    this.#stop();
    this.#resized.disconnect();
  }

  get #now() {
    return this.#timeline?.now ?? this.#context.live.state.time;
  }

  // Null while it goes with now, and where what people point at is not in sight.
  get #cursor() {
    const { from, to } = this.#timeline ?? { from: 0, to: Infinity };
    const time = pointedAt();
    return time !== null && from <= time && time <= to ? time : null;
  }

  get #bounds() {
    return this.#stretch.bounds(this.#context.live.state.time);
  }

  get #isVirtual() {
    const { live, board, isAdmin, overview } = this.#context;
    return live.state.virtual_time && board === SIMULATED && isAdmin && !overview.isReadOnly;
  }

  // --- reading -----------------------------------------------------------------------------------

  async #read() {
    const [from, to] = this.#bounds;
    this.#reading = true;
    try {
      const timeline = await api.timeline({ from, to });
      const labels = readingsOf(this.#context, timeline.rules).join(",");
      this.#history = labels ? await api.history({ labels, from, to, points: POINTS }) : null;
      this.#timeline = timeline;
      this.#refusal = null;
    } catch (error) {
      this.#refusal = error instanceof api.Refused ? error.message : t("not_reached");
    }
    this.#known = this.#signature();
    this.#reading = false;
    this.#context.redraw();
  }

  // What changes in the picture besides time.
  #signature() {
    const { state } = this.#context.live;
    const met = (state.rules ?? []).map((/** @type {{ met: boolean }} */ rule) => rule.met);
    return JSON.stringify([Object.keys(state).filter(isState).map((label) => state[label]), met]);
  }

  #follow() {
    if (this.#reading || !this.#timeline) return;
    const [from, to] = this.#bounds;
    const passed = this.#context.live.state.time - this.#timeline.now;
    const isOld = passed > Math.max(READ_AGAIN_S, (to - from) * NEW_SHARE);
    const isSeen = this.#stretch.span !== null || to > this.#timeline.now;
    if (this.#hasGap() || passed < 0) this.#read();
    else if (isSeen && (isOld || (passed > 0 && this.#signature() !== this.#known))) this.#read();
  }

  // --- what is shown -----------------------------------------------------------------------------

  /** @param {Timeline} timeline @returns {Scene} */
  #scene(timeline) {
    const { overview } = this.#context;
    return {
      timeline,
      history: this.#history,
      rows: rowsOf(this.#context, timeline),
      from: timeline.from,
      to: timeline.to,
      now: timeline.now,
      cursor: this.#cursor ?? timeline.now,
      width: this.#width,
      chosen: this.#chosen,
      linked: lanesOf(this.#steps(timeline)),
      selected: this.#selected,
      isOn: (label, level) => (level === 1) !== overview.isInverted(label),
    };
  }

  /** @param {Timeline} timeline */
  #steps(timeline) {
    return this.#chosen ? stepsOf(timeline, this.#chosen) : [];
  }

  view() {
    const timeline = this.#timeline;
    return html`<div class="timeline" aria-busy=${this.#reading ? "true" : "false"}>
      ${this.#head()}
      ${this.#refusal ? html`<p class="refusal" role="alert">${this.#refusal}</p>` : nothing}
      ${timeline ? this.#sheet(timeline) : html`<p class="note">${t("opening")}</p>`}
    </div>`;
  }

  #head() {
    const [from, to] = this.#bounds;
    const moments = { now: this.#context.live.state.time, around: this.#cursor ?? (from + to) / 2 };
    return head(this.#stretch, moments, (change, isNow) => this.#move(change, isNow));
  }

  /** @param {Timeline} timeline */
  #sheet(timeline) {
    const scene = this.#scene(timeline);
    const story = new Story(this.#context, timeline);
    const height = scene.rows.reduce((most, row) => Math.max(most, row.top + row.height), 0);
    const from = fullMoment(timeline.from, { dateStyle: "medium", timeStyle: "short" });
    const to = fullMoment(timeline.to, { dateStyle: "medium", timeStyle: "short" });
    return html`<div class="sheet">
      <section class="card board" aria-label=${t("page_timeline")}>
        <div class="over">${causeKey()} ${restOfKey()}</div>
        <div class="scroll">
          <div class="lanes">
            <svg
              class="hours"
              height="30"
              role="slider"
              tabindex="0"
              aria-label=${t("moment")}
              aria-valuemin=${Math.round(timeline.from)}
              aria-valuemax=${Math.round(timeline.to)}
              aria-valuenow=${Math.round(scene.cursor)}
              aria-valuetext=${this.#spoken(scene, story)}
              @keydown=${(/** @type {KeyboardEvent} */ event) => this.#press(event, scene)}
              @pointerdown=${(/** @type {PointerEvent} */ event) => this.#drag(event)}
            >
              ${hours(scene)}
            </svg>
            <ul class="labels">
              ${scene.rows.map((row, index) => this.#label(scene, story, row, index))}
            </ul>
            <svg
              class="bars"
              height=${height}
              role="img"
              aria-label=${t("picture", { from, to })}
              @pointerdown=${(/** @type {PointerEvent} */ event) => this.#begin(event, scene)}
            >
              ${lanes(scene)}
            </svg>
          </div>
        </div>
        ${this.#foot(timeline, scene)}
      </section>
      <aside class="card pick" aria-live="polite">
        ${story.pick(this.#chosen, this.#steps(timeline))}
      </aside>
    </div>`;
  }

  /** @param {Scene} scene @param {Story} story @param {Row} row @param {number} index */
  #label(scene, story, row, index) {
    if (row.kind === "group") return html`<li class="of-group">${row.name}</li>`;
    const name = row.href ? html`<a href=${row.href}>${row.name}</a>` : html`<b>${row.name}</b>`;
    const isAimed = index === this.#row;
    return html`<li class=${row.kind === "reading" ? "tall" : ""} ?data-aimed=${isAimed}>
      ${name}<span>${this.#word(scene, story, row)}</span>
    </li>`;
  }

  // What held at the cursor, in a word.
  /** @param {Scene} scene @param {Story} story @param {Row} row */
  #word({ timeline, cursor, now }, story, row) {
    if (row.kind === "messages") return String(timeline.messages.length || "");
    if (row.kind === "reading") {
      const found = pointsOf(this.#history, row.label).findLast(([time]) => time <= cursor);
      return cursor > now || !found || found[1] === null ? "–" : story.word(row.label, found[1]);
    }
    const bar = barAt(row.lane?.bars ?? [], Math.min(cursor, timeline.to - 1));
    if (!bar || bar.value === null) return "–";
    if (row.kind === "rule") return t(bar.value ? "met" : "not_met");
    return story.word(row.label, bar.value);
  }

  /** @param {Scene} scene @param {Story} story */
  #spoken(scene, story) {
    const row = scene.rows[this.#row];
    const moment = fullMoment(scene.cursor, { dateStyle: "medium", timeStyle: "medium" });
    const isLane = row && row.kind !== "group";
    return isLane ? `${moment}, ${row.name}: ${this.#word(scene, story, row)}` : moment;
  }

  /** @param {Timeline} timeline @param {Scene} scene */
  #foot(timeline, scene) {
    const { since } = timeline;
    const isAhead = this.#isVirtual && scene.cursor > this.#now + 1;
    const isKnown = since !== null && since <= timeline.from + 60;
    const time = fullMoment(since ?? this.#now, { dateStyle: "medium", timeStyle: "short" });
    return html`${isKnown ? nothing : html`<p class="note">${t("kept_since", { time })}</p>`}
      ${isAhead || this.#isLivingOn
        ? html`<p class="note">
            <button
              class="primary"
              type="button"
              ?disabled=${this.#isLivingOn}
              @click=${() => this.#liveOn()}
            >
              ${t(this.#isLivingOn ? "lives_on" : "live_on", { time: flagText(scene) })}
            </button>
          </p>`
        : nothing}`;
  }

  // --- moving ------------------------------------------------------------------------------------

  /** @param {() => void} change */
  #move(change, isNow = false) {
    change();
    if (isNow) pointAt(null);
    this.#context.redraw();
    this.#read();
  }

  /** @param {KeyboardEvent} event @param {Scene} scene */
  #press(event, scene) {
    const { from, to, rows, cursor } = scene;
    const step = (to - from) * (event.shiftKey ? BIG_STEP : KEY_STEP);
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowLeft: () => this.#point(cursor - step),
      ArrowRight: () => this.#point(cursor + step),
      PageUp: () => this.#point(cursor + (to - from) * BIG_STEP),
      PageDown: () => this.#point(cursor - (to - from) * BIG_STEP),
      Home: () => this.#point(from),
      End: () => this.#point(to),
      ArrowUp: () => this.#aim(rows, -1),
      ArrowDown: () => this.#aim(rows, 1),
      Enter: () => this.#chooseAt(scene, rows[this.#row], cursor),
      Escape: () => (this.#chosen = null),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
    // Where the picture is wider than the screen, the cursor stays in sight.
    this.#isPlaced = false;
    this.#context.redraw();
  }

  /** @param {number} time */
  #point(time) {
    const [from, to] = [this.#timeline?.from ?? 0, this.#timeline?.to ?? 0];
    pointAt(Math.min(to, Math.max(from, time)));
  }

  /** @param {Row[]} rows @param {number} by */
  #aim(rows, by) {
    let next = this.#row + by;
    while (rows[next] && rows[next].kind === "group") next += by;
    if (rows[next]) this.#row = next;
  }

  /** @param {Element} place @param {number} clientX */
  #timeAt(place, clientX) {
    const { left, width } = place.getBoundingClientRect();
    const [from, to] = [this.#timeline?.from ?? 0, this.#timeline?.to ?? 1];
    return from + ((clientX - left) / width) * (to - from);
  }

  // The cursor by its flag. Let go in the future, a controller on virtual time lives on to there.
  /** @param {PointerEvent} event */
  #drag(event) {
    const place = /** @type {Element} */ (event.currentTarget);
    const moved = (/** @type {number} */ clientX) => {
      this.#point(this.#timeAt(place, clientX));
      this.#context.redraw();
    };
    const ended = () => {
      if (this.#isVirtual && (this.#cursor ?? 0) > this.#now + 1) this.#liveOn();
    };
    dragging(event, moved, ended);
  }

  // A press chooses what is there; a mouse that is drawn chooses the time to be shown.
  /** @param {PointerEvent} event @param {Scene} scene */
  #begin(event, scene) {
    const place = /** @type {Element} */ (event.currentTarget);
    const began = this.#timeAt(place, event.clientX);
    drawing(event, {
      drawn: (clientX) => {
        this.#selected = clientX === null ? null : [began, this.#timeAt(place, clientX)];
        this.#context.redraw();
      },
      ended: () => this.#zoomToSelected(),
      pressed: () => {
        const y = event.clientY - place.getBoundingClientRect().top;
        const row = scene.rows.find(({ top, height }) => top <= y && y < top + height);
        this.#point(began);
        if (row) this.#row = scene.rows.indexOf(row);
        this.#chooseAt(scene, row, began);
      },
    });
  }

  #zoomToSelected() {
    const selected = this.#selected ?? [0, 0];
    this.#selected = null;
    this.#move(() => this.#stretch.zoom(Math.min(...selected), Math.max(...selected)));
  }

  /** @param {Scene} scene @param {Row | undefined} row @param {number} time */
  #chooseAt({ timeline, from, to, width }, row, time) {
    const near = ((to - from) / width) * NEAR_PX;
    this.#chosen = row ? meantAt(timeline, row.label, time, near) : null;
    this.#context.redraw();
  }

  // Whoever comes from the journal wants to know about that moment.
  /** @param {number} at */
  #chooseWhatBegan(at) {
    this.#chosen = this.#timeline ? begunAt(this.#timeline, at) : null;
    this.#context.redraw();
  }

  async #liveOn() {
    const seconds = Math.ceil((this.#cursor ?? 0) - this.#context.live.state.time);
    if (seconds <= 0 || this.#isLivingOn) return;
    this.#isLivingOn = true;
    this.#context.redraw();
    try {
      await api.send(api.benchTarget([["advance", String(seconds)]]));
      pointAt(null);
    } catch (error) {
      this.#refusal = error instanceof api.Refused ? error.message : t("not_reached");
    }
    this.#isLivingOn = false;
    await this.#read();
  }

  /** @param {number} width */
  #fit(width) {
    this.#width = width;
    this.#context.redraw();
  }

  // Called when the picture is on the page.
  drawn() {
    const board = document.querySelector(".timeline svg.bars[role]");
    if (!board) return;
    this.#resized.observe(board);
    const scroll = board.closest(".scroll");
    if (this.#isPlaced || !scroll || scroll.scrollWidth <= scroll.clientWidth) return;
    const { from, to, now } = /** @type {Timeline} */ (this.#timeline);
    const share = ((this.#cursor ?? now) - from) / (to - from);
    scroll.scrollLeft = share * board.clientWidth - scroll.clientWidth / 2;
    this.#isPlaced = true;
  }
}
