// The picture with its elements on it; in arranging they follow the pointer and the arrow keys.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { t } from "../../lib/format/words.js";

/** @import { Layout } from "./layout.js" */

/** @typedef {Layout["elements"][number]} Placed */
/**
 * What is being dragged, and where it was taken hold of: on the page and on the element.
 * @typedef {object} Held
 * @property {number} index
 * @property {number} x
 * @property {number} y
 * @property {number} byX
 * @property {number} byY
 * @property {boolean} isMoved
 */

// Without a picture the elements stand on an empty ground of this size.
/** @type {[number, number]} */
const EMPTY_SIZE = [1280, 720];
// Elements stand on a grid, unless Alt is held in dragging or Shift with the arrow keys.
const STEP = 8;
// Elements placed without a drag are put in columns of this many, far enough from each other for
// the small picture of a phone.
const ROWS = 5;
const COLUMNS = 4;
// A finger trembles; only from here on it drags.
const MIN_DRAG_PX = 6;
/** @type {Record<string, [number, number]>} */
const ARROWS = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

export class Stage {
  #layout;
  #element;
  #size = signal(EMPTY_SIZE);
  /** @type {Signal<string | null>} */
  #picture = signal(null);
  /** @type {Signal<Held | null>} */
  #held = signal(null);

  // `element(labels)` draws one.
  /**
   * @param {Layout} layout
   * @param {(labels: string[]) => Template} element
   */
  constructor(layout, element) {
    this.#layout = layout;
    this.#element = element;
  }

  /** @param {string | null} address */
  set picture(address) {
    this.#picture.value = address;
    if (address === null) this.#size.value = EMPTY_SIZE;
  }

  close() {
    this.#letGo();
  }

  /** @param {(labels: string[]) => string} nameOf */
  view(nameOf) {
    const [width, height] = this.#size.value;
    return html`<div
      class="stage"
      ?data-arranged=${this.#layout.isArranged}
      .style=${`--width: ${width}; --height: ${height}`}
    >
      ${this.#picture.value === null
        ? nothing
        : html`<img
            src=${this.#picture.value}
            alt=${t("picture")}
            @load=${(event) => this.#fit(event.target)}
          />`}
      ${this.#layout.placed.map((element) => this.#placedView(element, nameOf(element.labels)))}
    </div>`;
  }

  /** @param {Placed} placed @param {string} name */
  #placedView({ index, labels, place: [left, top] }, name) {
    const [width, height] = this.#size.value;
    const style = `--left: ${(left / width) * 100}%; --top: ${(top / height) * 100}%`;
    if (!this.#layout.isArranged) {
      return html`<div class="placed" data-element=${labels[0]} .style=${style}>
        ${this.#element(labels)}
      </div>`;
    }
    return html`<div
      class="placed"
      data-element=${labels[0]}
      role="button"
      tabindex="0"
      aria-label=${t("element_at", { name, left, top })}
      aria-describedby="arrange-keys"
      .style=${style}
      @pointerdown=${(event) => this.take(event, index)}
      @keydown=${(event) => this.#key(event, index, left, top)}
    >
      <div inert>${this.#element(labels)}</div>
    </div>`;
  }

  // Begins a drag, also of an element that is not on the picture yet.
  /** @param {ControlEvent} event @param {number} index */
  take(event, index) {
    if (event.button !== 0 || !event.isPrimary) return;
    const box = event.currentTarget.getBoundingClientRect();
    const { clientX: x, clientY: y } = event;
    this.#layout.remember();
    this.#held.value = { index, x, y, byX: x - box.left, byY: y - box.top, isMoved: false };
    addEventListener("pointermove", this.#onMove);
    addEventListener("pointerup", this.#onRelease);
    addEventListener("pointercancel", this.#onRelease);
    // What lies under the way of a drag is not to be selected.
    addEventListener("selectstart", refuse);
    if (event.currentTarget.hasPointerCapture?.(event.pointerId)) {
      event.currentTarget.releasePointerCapture(event.pointerId);
    }
  }

  // Where nothing stands yet, for those who do not drag; the keys then move it.
  /** @param {number} index */
  putDown(index) {
    const [width, height] = this.#size.value;
    const before = this.#layout.placed.length;
    const [column, row] = [Math.floor(before / ROWS) % COLUMNS, before % ROWS];
    const left = width * (0.04 + column / COLUMNS);
    this.#layout.remember();
    this.#layout.move(index, left, height * (1 / 12 + row / (ROWS + 1)), this.#size.value);
    this.#focus(".placed", index);
  }

  // Elements move between picture and tray: the focus goes with them.
  /** @param {string} place @param {number} index */
  #focus(place, index) {
    const label = this.#layout.elements.find((element) => element.index === index)?.labels[0];
    Promise.resolve().then(() => {
      const found = document.querySelector(`${place}[data-element="${label}"]`);
      /** @type {HTMLElement | null} */ (found)?.focus();
    });
  }

  /** @param {PointerEvent} event */
  #onMove = (event) => {
    if (this.#held.value === null) return;
    const { index, x, y, byX, byY } = this.#held.value;
    this.#held.value.isMoved ||= Math.hypot(event.clientX - x, event.clientY - y) >= MIN_DRAG_PX;
    if (!this.#held.value.isMoved) return;
    const stage = stageBox();
    const [width, height] = this.#size.value;
    const left = ((event.clientX - byX - stage.left) / stage.width) * width;
    const top = ((event.clientY - byY - stage.top) / stage.height) * height;
    /** @param {number} value */
    const onGrid = (value) => (event.altKey ? value : Math.round(value / STEP) * STEP);
    this.#layout.move(index, onGrid(left), onGrid(top), this.#size.value, this.#sizeOf(index));
    event.preventDefault();
  };

  // Of an element, in pixels of the picture; nothing before it is drawn there.
  /** @param {number} index @returns {[number, number]} */
  #sizeOf(index) {
    const label = this.#layout.elements.find((element) => element.index === index)?.labels[0];
    const box = document.querySelector(`.placed[data-element="${label}"]`)?.getBoundingClientRect();
    const scale = this.#size.value[0] / stageBox().width;
    return box ? [box.width * scale, box.height * scale] : [0, 0];
  }

  // Beside the picture an element is taken off it.
  /** @param {PointerEvent} event */
  #onRelease = (event) => {
    const { index, isMoved } = /** @type {Held} */ (this.#held.value);
    if (isMoved && event.type === "pointerup" && !isWithin(stageBox(), event)) {
      this.#layout.takeOff(index);
    }
    this.#letGo();
  };

  #letGo() {
    this.#held.value = null;
    removeEventListener("pointermove", this.#onMove);
    removeEventListener("pointerup", this.#onRelease);
    removeEventListener("pointercancel", this.#onRelease);
    removeEventListener("selectstart", refuse);
  }

  // Arrow keys move, with Shift by single pixels; Delete takes it off the picture.
  /** @param {ControlEvent} event @param {number} index @param {number} left @param {number} top */
  #key(event, index, left, top) {
    if (event.key === "Delete" || event.key === "Backspace") {
      this.#layout.remember();
      this.#layout.takeOff(index);
      this.#focus(".tray button", index);
    } else if (event.key in ARROWS) {
      const [x, y] = ARROWS[event.key];
      const step = event.shiftKey ? 1 : STEP;
      this.#layout.remember();
      const [toLeft, toTop] = [left + x * step, top + y * step];
      this.#layout.move(index, toLeft, toTop, this.#size.value, this.#sizeOf(index));
    } else return;
    event.preventDefault();
  }

  /** @param {EventTarget} picture */
  #fit(picture) {
    const { naturalWidth, naturalHeight } = /** @type {HTMLImageElement} */ (picture);
    this.#size.value = [naturalWidth, naturalHeight];
  }
}

/** @param {Event} event */
const refuse = (event) => event.preventDefault();

const stageBox = () =>
  /** @type {Element} */ (document.querySelector(".stage")).getBoundingClientRect();

/** @param {DOMRect} box @param {PointerEvent} event */
const isWithin = ({ left, right, top, bottom }, { clientX: x, clientY: y }) =>
  x >= left && x <= right && y >= top && y <= bottom;
