// The picture with its elements on it; in arranging they follow the pointer and the arrow keys.

import { html, nothing } from "../../vendor/lit-html.js";
import { t } from "../../lib/words.js";

// Without a picture the elements stand on an empty ground of this size.
const EMPTY_SIZE = [1280, 720];
const STEP = 8;
const ARROWS = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

export class Stage {
  #context;
  #layout;
  #element;
  #size = EMPTY_SIZE;
  #picture = null;
  // What is being dragged: { index, byX, byY } with where it was taken hold of; else null.
  #held = null;

  // `element(labels)` draws one.
  constructor(context, layout, element) {
    this.#context = context;
    this.#layout = layout;
    this.#element = element;
  }

  set picture(address) {
    this.#picture = address;
    if (address === null) this.#size = EMPTY_SIZE;
  }

  close() {
    this.#letGo();
  }

  view(nameOf) {
    const [width, height] = this.#size;
    return html`<div
      class="stage"
      ?data-arranged=${this.#layout.isArranged}
      .style=${`--width: ${width}; --height: ${height}`}
    >
      ${this.#picture === null
        ? nothing
        : html`<img
            src=${this.#picture}
            alt=${t("picture")}
            @load=${(event) => this.#fit(event)}
          />`}
      ${this.#layout.placed.map((element) => this.#placed(element, nameOf(element.labels)))}
    </div>`;
  }

  #placed({ index, labels, place: [left, top] }, name) {
    const [width, height] = this.#size;
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
  take(event, index) {
    if (event.button !== 0) return;
    const box = event.currentTarget.getBoundingClientRect();
    this.#held = { index, byX: event.clientX - box.left, byY: event.clientY - box.top };
    addEventListener("pointermove", this.#moved);
    addEventListener("pointerup", this.#released);
    addEventListener("pointercancel", this.#released);
    if (event.currentTarget.hasPointerCapture?.(event.pointerId)) {
      event.currentTarget.releasePointerCapture(event.pointerId);
    }
  }

  // Where nothing stands yet, for those who place without a pointer.
  putDown(index) {
    const [width, height] = this.#size;
    const row = this.#layout.placed.length;
    const step = height / 12;
    this.#layout.move(index, width * 0.04, step * (1 + (row % 10)), this.#size);
    this.#context.redraw();
  }

  #moved = (event) => {
    const stage = document.querySelector(".stage").getBoundingClientRect();
    const { index, byX, byY } = this.#held;
    const [width, height] = this.#size;
    const left = ((event.clientX - byX - stage.left) / stage.width) * width;
    const top = ((event.clientY - byY - stage.top) / stage.height) * height;
    this.#layout.move(index, left, top, this.#size);
    event.preventDefault();
    this.#context.redraw();
  };

  #released = () => this.#letGo();

  #letGo() {
    this.#held = null;
    removeEventListener("pointermove", this.#moved);
    removeEventListener("pointerup", this.#released);
    removeEventListener("pointercancel", this.#released);
  }

  // Arrow keys move, with Shift by single pixels; Delete takes it off the picture.
  #key(event, index, left, top) {
    if (event.key === "Delete" || event.key === "Backspace") this.#layout.takeOff(index);
    else if (event.key in ARROWS) {
      const [x, y] = ARROWS[event.key];
      const step = event.shiftKey ? 1 : STEP;
      this.#layout.move(index, left + x * step, top + y * step, this.#size);
    } else return;
    event.preventDefault();
    this.#context.redraw();
  }

  #fit({ target }) {
    this.#size = [target.naturalWidth, target.naturalHeight];
    this.#context.redraw();
  }
}
