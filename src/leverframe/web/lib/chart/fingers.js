// Fingers on a chart: one moves the time, two stretch it, two quick taps return.
//
// Up and down stays with the browser, which scrolls the page by it.

/**
 * @typedef {object} FingerMoves
 * @property {() => [number, number]} range
 * @property {(from: number, to: number) => void} show
 * @property {() => void} end
 * @property {() => void} back
 */

const MIN_MOVE_PX = 8;
// Closer together two fingers would stretch the time beyond all measure.
const MIN_SPREAD_PX = 24;
const DOUBLE_TAP_MS = 350;

export class Fingers {
  #place;
  #moves;
  // Pointer -> { x, began, time }: where it is, where it came down, and which time it holds.
  /** @type {Map<number, { x: number, began: number, time: number }>} */
  #down = new Map();
  /** @type {[number, number]} */
  #before = [0, 1];
  #hasMoved = false;
  #tapped = -Infinity;

  // `place` is the element over the drawing. `moves`: range() as [from, to], show(from, to) while
  // fingers move, end() when they have moved, back() after two taps.
  /** @param {HTMLElement} place @param {FingerMoves} moves */
  constructor(place, moves) {
    this.#place = place;
    this.#moves = moves;
    place.style.setProperty("touch-action", "pan-y");
    /**
     * @param {"pointerdown" | "pointermove" | "pointerup" | "pointercancel"} name
     * @param {(event: PointerEvent) => void} act
     */
    const on = (name, act) =>
      place.addEventListener(name, (event) => event.pointerType === "touch" && act(event));
    on("pointerdown", (event) => this.#press(event));
    on("pointermove", (event) => this.#move(event));
    on("pointerup", (event) => this.#lift(event));
    on("pointercancel", (event) => this.#cancel(event));
  }

  get areDown() {
    return this.#down.size > 0;
  }

  /** @param {PointerEvent} event */
  #x(event) {
    return event.clientX - this.#place.getBoundingClientRect().left;
  }

  /** @param {PointerEvent} event */
  #press(event) {
    if (!this.areDown) {
      this.#hasMoved = false;
      this.#before = this.#moves.range();
    }
    const x = this.#x(event);
    this.#down.set(event.pointerId, { x, began: x, time: 0 });
    this.#hold();
  }

  // From now on each finger keeps the time that is under it.
  #hold() {
    const [from, to] = this.#moves.range();
    const perPixel = (to - from) / this.#place.clientWidth;
    for (const finger of this.#down.values()) finger.time = from + finger.x * perPixel;
  }

  /** @param {PointerEvent} event */
  #move(event) {
    const finger = this.#down.get(event.pointerId);
    if (!finger) return;
    finger.x = this.#x(event);
    this.#hasMoved ||= Math.abs(finger.x - finger.began) >= MIN_MOVE_PX;
    if (this.#hasMoved) this.#moves.show(...this.#range());
  }

  /** @returns {[number, number]} */
  #range() {
    const [one, other] = [...this.#down.values()].sort((first, second) => first.x - second.x);
    const [from, to] = this.#moves.range();
    const width = this.#place.clientWidth;
    let perPixel = (to - from) / width;
    if (other && other.time > one.time) {
      perPixel = (other.time - one.time) / Math.max(MIN_SPREAD_PX, other.x - one.x);
    }
    const begin = one.time - one.x * perPixel;
    return [begin, begin + width * perPixel];
  }

  /** @param {PointerEvent} event */
  #lift(event) {
    if (!this.#down.delete(event.pointerId)) return;
    if (this.areDown) this.#hold();
    else if (this.#hasMoved) this.#moves.end();
    else this.#tap(event.timeStamp);
  }

  /** @param {number} time */
  #tap(time) {
    const isSecond = time - this.#tapped < DOUBLE_TAP_MS;
    this.#tapped = isSecond ? -Infinity : time;
    if (isSecond) this.#moves.back();
  }

  // The browser has begun to scroll.
  /** @param {PointerEvent} event */
  #cancel(event) {
    if (!this.#down.delete(event.pointerId)) return;
    if (!this.areDown && this.#hasMoved) this.#moves.show(...this.#before);
  }
}
