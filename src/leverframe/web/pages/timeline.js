// The timeline: all outputs, messages, rules, inputs and readings as lanes over one time. Each bar
// shows its cause by colour and texture, and its whole chain of causes when it is chosen.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { t } from "../lib/format/words.js";
import { refusalView } from "../lib/forms/task.js";
import * as api from "../lib/live/api.js";
import { SIMULATED } from "../lib/live/context.js";
import { pointAt, pointedMoment } from "../lib/things/history.js";
import { unusedSwitch } from "../lib/things/unused.js";
import { barStartingAt, decidingStep, lanesOf, meantAt, stepsOf } from "./timeline/chain.js";
import { dragging, drawing, head, Stretch } from "./timeline/head.js";
import { flagText } from "./timeline/picture.js";
import { Recorded, rowsOf } from "./timeline/rows.js";
import { recordStartNote, sheet, Story } from "./timeline/story.js";

/** @import { Chosen, Timeline } from "./timeline/chain.js" */
/** @import { Scene } from "./timeline/picture.js" */
/** @import { Row } from "./timeline/rows.js" */

const KEY_STEP = 1 / 200;
const BIG_STEP = 1 / 24;
// So near to a message, or to a fine bar, a press means it.
const NEAR_PX = 6;
const USUAL_WIDTH_PX = 820;
// There the chain of causes stands over the lower half of the picture.
const NARROW = "(max-width: 640px)";

// What was pressed low on the screen goes up, where nothing stands over it.
/** @param {number} clientY */
function keepInSight(clientY) {
  const below = clientY - innerHeight * 0.35;
  if (below > 0) scrollBy({ top: below });
}

export class Page {
  #context;
  #stretch = signal(new Stretch(new URLSearchParams()));
  #recorded;
  /** @type {Signal<Chosen | null>} */
  #chosen = signal(null);
  // The row that the keys move on.
  #row = signal(0);
  /** @type {Signal<[number, number] | null>} */
  #selected = signal(null);
  #isLivingOn = signal(false);
  #stop;
  #width = signal(USUAL_WIDTH_PX);
  #resized = new ResizeObserver(([{ contentRect }]) => (this.#width.value = contentRect.width));
  // On a phone the picture is wider than the screen: it opens at the cursor.
  #isPlaced = signal(false);

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    this.#recorded = new Recorded(context);
    this.#stop = context.live.listen(() => this.#recorded.follow(this.#stretch.value));
  }

  /** @param {URLSearchParams} params */
  async open(params) {
    this.#stretch.value = new Stretch(params);
    const at = Number(params.get("at"));
    if (at > 0) pointAt(at);
    await this.#recorded.read(this.#stretch.value);
    if (at > 0) this.#chooseWhatBegan(at);
  }

  close() {
    this.#stop();
    this.#recorded.leave();
    this.#resized.disconnect();
  }

  get #timeline() {
    return this.#recorded.timeline;
  }

  // Null while it goes with now, and where what people point at is not in sight.
  get #cursor() {
    const { from, to } = this.#timeline ?? { from: 0, to: Infinity };
    const time = pointedMoment();
    return time !== null && from <= time && time <= to ? time : null;
  }

  get #bounds() {
    return this.#stretch.value.bounds(this.#context.live.state.time);
  }

  get #isVirtual() {
    const { live, board, isAdmin, overview } = this.#context;
    return live.state.virtual_time && board === SIMULATED && isAdmin && !overview.isReadOnly;
  }

  // --- what is shown -----------------------------------------------------------------------------

  /** @param {Timeline} timeline @returns {Scene} */
  #scene(timeline) {
    const { overview } = this.#context;
    const steps = this.#steps(timeline);
    return {
      timeline,
      history: this.#recorded.history,
      rows: rowsOf(this.#context, timeline),
      from: timeline.from,
      to: timeline.to,
      now: timeline.now,
      cursor: this.#cursor ?? timeline.now,
      width: this.#width.value,
      chosen: this.#chosen.value,
      linked: lanesOf(steps),
      decided: decidingStep(steps),
      selected: this.#selected.value,
      isOn: (label, level) => (level === 1) !== overview.isInverted(label),
    };
  }

  /** @param {Timeline} timeline */
  #steps(timeline) {
    return this.#chosen.value ? stepsOf(timeline, this.#chosen.value) : [];
  }

  view() {
    const { timeline, isReading, refusal } = this.#recorded;
    return html`<div class="timeline" aria-busy=${isReading ? "true" : "false"}>
      ${this.#head()} ${refusalView(refusal)}
      ${timeline ? this.#sheet(timeline) : html`<p class="note">${t("opening")}</p>`}
    </div>`;
  }

  #head() {
    const [from, to] = this.#bounds;
    const moments = { now: this.#context.live.state.time, around: this.#cursor ?? (from + to) / 2 };
    return head(this.#stretch.value, moments, (change, isNow) => this.#move(change, isNow));
  }

  /** @param {Timeline} timeline */
  #sheet(timeline) {
    const scene = this.#scene(timeline);
    const story = new Story(this.#context, timeline, this.#recorded.history);
    return sheet(scene, story, {
      aimed: this.#row.value,
      foot: html`${recordStartNote(timeline)} ${this.#future(scene)}
      ${unusedSwitch(this.#context)}`,
      pick: story.pick(this.#chosen.value, this.#steps(timeline), () => this.#forget()),
      press: (event) => this.#press(event, scene),
      drag: (event) => this.#drag(event),
      begin: (event) => this.#begin(event, scene),
    });
  }

  // On virtual time, what lies ahead of now can be lived.
  /** @param {Scene} scene */
  #future(scene) {
    const isAhead = this.#isVirtual && scene.cursor > scene.now + 1;
    if (!isAhead && !this.#isLivingOn.value) return nothing;
    return html`<p class="note">
      <button
        class="primary"
        type="button"
        ?disabled=${this.#isLivingOn.value}
        @click=${() => this.#liveOn()}
      >
        ${t(this.#isLivingOn.value ? "lives_on" : "live_on", { time: flagText(scene) })}
      </button>
    </p>`;
  }

  // --- moving ------------------------------------------------------------------------------------

  /** @param {() => void} change */
  #move(change, isNow = false) {
    change();
    if (isNow) pointAt(null);
    this.#recorded.read(this.#stretch.value);
  }

  /** @param {KeyboardEvent} event @param {Scene} scene */
  #press(event, scene) {
    const { from, to, rows, now } = scene;
    // Keys come faster than pictures: the cursor of the picture may be where it was before.
    const cursor = this.#cursor ?? now;
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
      Enter: () => this.#chooseAt(scene, rows[this.#row.value], cursor),
      Escape: () => this.#forget(),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
    // Where the picture is wider than the screen, the cursor stays in sight.
    this.#isPlaced.value = false;
  }

  /** @param {number} time */
  #point(time) {
    const [from, to] = [this.#timeline?.from ?? 0, this.#timeline?.to ?? 0];
    pointAt(Math.min(to, Math.max(from, time)));
  }

  /** @param {Row[]} rows @param {number} steps */
  #aim(rows, steps) {
    let next = this.#row.value + steps;
    while (rows[next] && rows[next].kind === "group") next += steps;
    if (rows[next]) this.#row.value = next;
  }

  /** @param {Element} place @param {number} clientX */
  #timeAt(place, clientX) {
    const { left, width } = place.getBoundingClientRect();
    const [from, to] = [this.#timeline?.from ?? 0, this.#timeline?.to ?? 1];
    return from + ((clientX - left) / width) * (to - from);
  }

  // The cursor by its flag. Let go in the future, a controller in virtual time lives on to there.
  /** @param {PointerEvent} event */
  #drag(event) {
    const place = /** @type {Element} */ (event.currentTarget);
    const onMove = (/** @type {number} */ clientX) => {
      this.#point(this.#timeAt(place, clientX));
    };
    const onEnd = () => {
      if (this.#isVirtual && (this.#cursor ?? 0) > this.#recorded.now + 1) this.#liveOn();
    };
    dragging(event, onMove, onEnd);
  }

  // A press chooses what is there; a mouse that is drawn chooses the time to be shown.
  /** @param {PointerEvent} event @param {Scene} scene */
  #begin(event, scene) {
    const place = /** @type {Element} */ (event.currentTarget);
    const began = this.#timeAt(place, event.clientX);
    drawing(event, {
      drawn: (clientX) => {
        this.#selected.value = clientX === null ? null : [began, this.#timeAt(place, clientX)];
      },
      ended: () => this.#zoomToSelected(),
      pressed: () => {
        const y = event.clientY - place.getBoundingClientRect().top;
        const row = scene.rows.find(({ top, height }) => top <= y && y < top + height);
        this.#point(began);
        if (row) this.#row.value = scene.rows.indexOf(row);
        this.#chooseAt(scene, row, began);
        if (this.#chosen.value && matchMedia(NARROW).matches) keepInSight(event.clientY);
      },
    });
  }

  #forget() {
    this.#chosen.value = null;
  }

  #zoomToSelected() {
    const selected = this.#selected.value ?? [0, 0];
    this.#selected.value = null;
    this.#move(() => this.#stretch.value.zoom(Math.min(...selected), Math.max(...selected)));
  }

  /** @param {Scene} scene @param {Row | undefined} row @param {number} time */
  #chooseAt({ timeline, from, to, width }, row, time) {
    const near = ((to - from) / width) * NEAR_PX;
    this.#chosen.value = row ? meantAt(timeline, row.label, time, near) : null;
  }

  // A link from the journal opens that moment.
  /** @param {number} at */
  #chooseWhatBegan(at) {
    this.#chosen.value = this.#timeline ? barStartingAt(this.#timeline, at) : null;
  }

  async #liveOn() {
    const seconds = Math.ceil((this.#cursor ?? 0) - this.#context.live.state.time);
    if (seconds <= 0 || this.#isLivingOn.value) return;
    this.#isLivingOn.value = true;
    try {
      await api.send(api.benchTarget([["advance", String(seconds)]]));
      pointAt(null);
    } catch (error) {
      this.#recorded.refuse(error);
    }
    this.#isLivingOn.value = false;
    await this.#recorded.read(this.#stretch.value);
  }

  // Called when the picture is on the page.
  onDrawn() {
    const board = document.querySelector(".timeline svg.bars[role]");
    if (!board) return;
    this.#resized.observe(board);
    const scroll = board.closest(".scroll");
    if (this.#isPlaced.value || !scroll || scroll.scrollWidth <= scroll.clientWidth) return;
    const { from, to, now } = /** @type {Timeline} */ (this.#timeline);
    const share = ((this.#cursor ?? now) - from) / (to - from);
    scroll.scrollLeft = share * board.clientWidth - scroll.clientWidth / 2;
    this.#isPlaced.value = true;
  }
}
