// The week as a picture: seven rows, time to the right. Dragging moves an entry, its edges stretch
// it, in steps of 5 minutes; arrow keys do the same, with Shift at its end. Dragging where nothing
// is draws a new one. On a phone a row is one target and opens the day as a list.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { dayText, timeText } from "../../lib/format/moments.js";
import { t } from "../../lib/format/words.js";
import { dayOf, secondOfDay, weekdayOf } from "../../lib/format/zone.js";
import { dayName, daysText, WEEKDAYS } from "./entry.js";
import { DrawnSpan } from "./drawn_span.js";
import { missedOn } from "./missed.js";
import {
  DAY_S,
  isWeekly,
  LABEL_S,
  move,
  partsOn,
  piecesOf,
  roomOf,
  stretch,
  WIDE_LABEL_S,
} from "./week.js";

/** @import { Span } from "./drawn_span.js" */
/** @import { Missed } from "./missed.js" */
/** @import { Part, Piece } from "./week.js" */

/** @typedef {{ piece: Piece, day: string }} Chosen */
/** @typedef {"move" | "begin" | "end"} Grip */
/**
 * @typedef {object} Surroundings
 * @property {(chosen: Chosen) => void} choose
 * @property {(piece: Piece) => void} store
 * @property {(span: Span) => void} create
 * @property {() => Chosen | null} chosen
 */

const HOURS = [0, 3, 6, 9, 12, 15, 18, 21, 24];
const LANE_PX = 27;
const STEP_S = 300;
// Nearer to an edge than this, the edge is meant.
const EDGE_PX = 8;
const MOVED_PX = 3;
const PHONE = "(max-width: 640px)";
// From this minute of the day on the time stands before its line: behind it there is no room.
const LATE = 20 * 60;

export class WeekGrid {
  #context;
  #surroundings;
  // What is under the finger: the piece as it was, as it is now, and where the drag began.
  /** @type {Signal<{ piece: Piece, now: Piece, grip: Grip, x: number, width: number } | null>} */
  #drag = signal(null);
  /** @type {Signal<string | null>} */
  #listed = signal(null);
  #drawn;

  /** @param {AdminContext} context @param {Surroundings} surroundings */
  constructor(context, surroundings) {
    this.#context = context;
    this.#surroundings = surroundings;
    this.#drawn = new DrawnSpan(surroundings.create);
  }

  // How much of a day a name takes.
  get #label() {
    return matchMedia(PHONE).matches ? WIDE_LABEL_S : LABEL_S;
  }

  view() {
    const { schedule } = this.#context.settings;
    const stored = piecesOf(schedule, this.#label);
    const drag = this.#drag.value;
    const pieces = stored.map((one) =>
      drag && String(one.places) === String(drag.piece.places)
        ? { ...drag.now, lane: one.lane }
        : one,
    );
    const lanes = Math.max(3, ...pieces.map(({ lane }) => lane + 1));
    const others = schedule.filter((entry) => entry && !isWeekly(entry)).length;
    return html`<section class="card week" aria-label=${t("view_week")}>
      <div class="hours" aria-hidden="true">
        <div>
          ${HOURS.map(
            (hour) =>
              html`<span .style=${`left:${(hour / 24) * 100}%`}
                >${String(hour).padStart(2, "0")}</span
              >`,
          )}
        </div>
      </div>
      <ol>
        ${WEEKDAYS.map((day) => this.#day(day, pieces, lanes))}
      </ol>
      ${others ? html`<p class="note">${t("week_others", { count: others })}</p>` : nothing}
      <p class="note keys">${t("week_keys")}</p>
      <p class="note touch">${t("week_touch")}</p>
    </section>`;
  }

  /** @param {string} day @param {Piece[]} pieces @param {number} lanes */
  #day(day, pieces, lanes) {
    const { state } = this.#context.live;
    const { time: now } = state;
    const today = WEEKDAYS[weekdayOf(now)] === day;
    const parts = partsOn(pieces, day);
    const height = lanes * LANE_PX + 14;
    const missed = missedOn(state, pieces, day, dateOf(now, day));
    return html`<li class=${today ? "today" : ""} .style=${`--row:${height}px`}>
      <button
        type="button"
        class="d"
        aria-expanded=${this.#listed.value === day ? "true" : "false"}
        @click=${() => this.#list(day)}
      >
        ${dayName(day)}<small>${dayText(dateOf(now, day), { day: "numeric" })}</small>
      </button>
      <div
        class="t"
        .style=${`height:${height}px`}
        @pointerdown=${(event) => this.#drawn.begin(event, day)}
        @pointermove=${(event) => this.#drawn.pull(event)}
        @pointerup=${() => this.#drawn.drop()}
        @pointercancel=${() => this.#drawn.forget()}
      >
        ${parts.map((part) => this.#part(part, day))} ${missed.map(missedMark)}
        ${this.#drawn.view(day)} ${today ? nowLine(now) : nothing}
      </div>
      ${this.#listed.value === day ? this.#dayList(parts, day) : nothing}
    </li>`;
  }

  /** @param {string} day */
  #list(day) {
    this.#listed.value = this.#listed.value === day ? null : day;
  }

  /** @param {Part[]} parts @param {string} day */
  #dayList(parts, day) {
    const sorted = [...parts].sort((one, other) => one.from - other.from);
    return html`<ul class="day-list">
      ${sorted.length ? nothing : html`<li>${t("no_entries_of_day")}</li>`}
      ${sorted.map(
        ({ piece }) =>
          html`<li>
            <button type="button" @click=${() => this.#surroundings.choose({ piece, day })}>
              ${pieceText(piece)}
            </button>
          </li>`,
      )}
    </ul>`;
  }

  /** @param {Part} part @param {string} day */
  #part(part, day) {
    const { piece, from, to, tail, nose } = part;
    const isMoment = piece.end === null;
    const chosen = this.#surroundings.chosen();
    const isChosen = String(chosen?.piece.places) === String(piece.places);
    const label = this.#label;
    const { side } = roomOf(part, label);
    const looks = [isMoment ? "moment" : "span", tail && "tail", nose && "nose", side];
    if (!piece.isActive) looks.push("thin");
    const isHeld = String(this.#drag.value?.piece.places) === String(piece.places);
    if (isHeld) looks.push("held", from > LATE * 60 ? "late" : "");
    const left = (from / DAY_S) * 100;
    const width = isMoment ? "" : `;width:${((to - from) / DAY_S) * 100}%`;
    return html`<button
      type="button"
      class=${looks.filter(Boolean).join(" ")}
      aria-pressed=${isChosen && chosen?.day === day ? "true" : "false"}
      aria-label=${pieceText(piece)}
      .style=${`left:${left}%${width};--lane:${piece.lane};--label:${labelShare(part, label)}`}
      @pointerdown=${(event) => this.#grasp(event, part)}
      @pointermove=${(event) => this.#pull(event)}
      @pointerup=${(event) => this.#drop(event, part, day)}
      @pointercancel=${() => (this.#drag.value = null)}
      @keydown=${(event) => this.#press(event, piece, day)}
    >
      <span>${isHeld ? times(piece) : piece.name || t("unnamed")}</span>
    </button>`;
  }

  /** @param {PointerEvent} event @param {Part} part */
  #grasp(event, { piece, tail, nose }) {
    const target = /** @type {HTMLElement} */ (event.currentTarget);
    const { left, right } = target.getBoundingClientRect();
    const width = target.parentElement?.getBoundingClientRect().width || 1;
    const isSpan = piece.end !== null;
    /** @type {Grip} */
    let grip = "move";
    if (isSpan && !tail && event.clientX - left < EDGE_PX) grip = "begin";
    if (isSpan && !nose && right - event.clientX < EDGE_PX) grip = "end";
    target.setPointerCapture(event.pointerId);
    this.#drag.value = { piece, now: piece, grip, x: event.clientX, width };
  }

  /** @param {PointerEvent} event */
  #pull(event) {
    const drag = this.#drag.value;
    if (!drag) return;
    const offset = event.clientX - drag.x;
    const isMoved = Math.abs(offset) >= MOVED_PX;
    // Back where it began, it is as it was.
    const { piece, grip, width } = drag;
    const now = isMoved ? changePiece(piece, grip, (offset / width) * DAY_S) : piece;
    this.#drag.value = { ...drag, now };
  }

  /** @param {PointerEvent} event @param {Part} part @param {string} day */
  #drop(event, { piece }, day) {
    const drag = this.#drag.value;
    this.#drag.value = null;
    if (!drag) return;
    const isMoved = drag.now.begin !== drag.piece.begin || drag.now.end !== drag.piece.end;
    if (isMoved) this.#surroundings.store(drag.now);
    else if (Math.abs(event.clientX - drag.x) < MOVED_PX) this.#surroundings.choose({ piece, day });
  }

  /** @param {KeyboardEvent} event @param {Piece} piece @param {string} day */
  #press(event, piece, day) {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.#surroundings.choose({ piece, day });
    }
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!way) return;
    event.preventDefault();
    const next = changePiece(piece, event.shiftKey ? "end" : "move", way * STEP_S);
    if (next !== piece) this.#surroundings.store(next);
  }
}

/** @param {Piece} piece @param {Grip} grip @param {number} seconds */
const changePiece = (piece, grip, seconds) =>
  grip === "move" ? move(piece, seconds) : stretch(piece, grip, seconds);

/** @param {Piece} piece */
const times = ({ begin, end }) =>
  end === null ? timeText(begin) : `${timeText(begin)} – ${timeText(end)}`;

// "Daylight: 07:00 to 20:00, on weekdays"
/** @param {Piece} piece */
function pieceText({ name, begin, end, days }) {
  const values = { name: name || t("unnamed"), from: timeText(begin), days: daysText({ days }) };
  return end === null ? t("week_moment", values) : t("week_span", { ...values, to: timeText(end) });
}

// How wide its name may be beside a part: in percent of the part, a moment in percent of the day.
/** @param {Part} part @param {number} label */
function labelShare({ from, to }, label) {
  if (to === from) return `${(label / DAY_S) * 100}cqw`;
  return `${((label - to + from) / (to - from)) * 100}%`;
}

// Where something should have been on; hatched until it was.
/** @param {Missed} missed */
const missedMark = ({ lane, from, to, isCaughtUp }) =>
  html`<i
    class=${isCaughtUp ? "missed" : "missed alone"}
    title=${t(isCaughtUp ? "span_caught_up" : "span_missed")}
    .style=${`left:${(from / DAY_S) * 100}%;width:${((to - from) / DAY_S) * 100}%;--lane:${lane}`}
  ></i>`;

/** @param {number} now */
const nowLine = (now) => {
  const minutes = Math.floor(secondOfDay(now) / 60);
  const look = minutes > LATE ? "now-line late" : "now-line";
  return html`<i class=${look} .style=${`left:${(minutes / 1440) * 100}%`}
    ><span>${timeText(minutes * 60)}</span></i
  >`;
};

// A weekday in the present week, by its number since 1970.
/** @param {number} now @param {string} day */
const dateOf = (now, day) => dayOf(now) + WEEKDAYS.indexOf(day) - weekdayOf(now);
