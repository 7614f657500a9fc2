// What a page draws from lives in signals: a change of one of them draws, once for all changes that
// come together. Presses and the focus outlast that.
//
//   #typed = signal("");                       read and set by its `.value`
//   observe(this, "saving", "tried");          in a constructor: fields that others read, too
//   #typed = observeMembers({ wanted: "" });  each member is a signal, also one that comes later
//   #failed = new ShownMap();                  and each change of the map is seen
//
// What is not drawn from, such as timers, stays as it is.

import { effect, signal } from "../../vendor/signals-core.js";

// Draws now, and a moment after something that the drawing read has changed, but not before it may.
// Gives a function to be called when it may draw again.
/** @param {() => void} draw */
export function keepDrawn(draw, mayDraw = () => true) {
  let isDue = true;
  let isDrawing = false;
  let forget = () => {};
  const isPressed = watchPresses(drawNow);
  function drawNow() {
    if (!isDue || !mayDraw() || isPressed()) return;
    isDue = false;
    forget();
    let isDrawn = false;
    isDrawing = true;
    // Called again, it reads nothing: what else changes until then is drawn with it.
    forget = effect(() => {
      if (isDrawn) drawSoon();
      else {
        isDrawn = true;
        drawSafely(draw);
      }
    });
    isDrawing = false;
  }
  function drawSoon() {
    if (isDue) return;
    isDue = true;
    // What a drawing changes itself is drawn when others had their turn.
    if (isDrawing) setTimeout(drawNow);
    else queueMicrotask(drawNow);
  }
  drawNow();
  return () => queueMicrotask(drawNow);
}

// What fails once is drawn again with the next change.
/** @param {() => void} draw */
function drawSafely(draw) {
  try {
    draw();
  } catch (error) {
    reportError(error);
  }
}

// Makes fields of an object signals, though they are read and set as before.
/** @template {object} T @param {T} object @param {(keyof T)[]} names */
export function observe(object, ...names) {
  for (const name of names) {
    const held = signal(object[name]);
    Object.defineProperty(object, name, {
      get: () => held.value,
      set: (value) => {
        held.value = value;
      },
      enumerable: true,
    });
  }
}

// The same for members that are named by what is typed, or by what the controller has.
/** @template {object} T @param {T} values @returns {T} */
export function observeMembers(values) {
  const changes = signal(0);
  return new Proxy(values, {
    get(held, name) {
      changes.value;
      return Reflect.get(held, name);
    },
    ownKeys(held) {
      changes.value;
      return Reflect.ownKeys(held);
    },
    set(held, name, value) {
      changes.value++;
      return Reflect.set(held, name, value);
    },
  });
}

/** @template K, V @extends {Map<K, V>} */
export class ShownMap extends Map {
  #changes = signal(0);

  /** @param {K} key @returns {V | undefined} */
  get(key) {
    this.#changes.value;
    return super.get(key);
  }

  /** @returns {MapIterator<K>} */
  keys() {
    this.#changes.value;
    return super.keys();
  }

  /** @param {K} key @param {V} value */
  set(key, value) {
    this.#changes.value++;
    return super.set(key, value);
  }

  /** @param {K} key */
  delete(key) {
    this.#changes.value++;
    return super.delete(key);
  }

  clear() {
    this.#changes.value++;
    super.clear();
  }
}

// Nothing is drawn under a press: what a finger or the mouse holds down could move away from under
// it, and the press would be lost, or meet something else.

const PRESSED = "button, a, summary, label, input[type=checkbox]";
// A longer press holds nothing up, and one that moves is a drag.
const PATIENCE_MS = 1000;
const DRAG_PX = 4;
// The click comes after the finger is up; where it was moved away, none does.
const CLICK_MS = 100;

// Returns a function that says whether a button is held down; `released()` is called at the end.
/** @param {() => void} released */
function watchPresses(released) {
  /** @type {{ x: number, y: number } | null} */
  let pressed = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const releaseAfter = (/** @type {number} */ ms) => {
    clearTimeout(timer);
    timer = setTimeout(release, ms);
  };
  const release = () => {
    clearTimeout(timer);
    if (!pressed) return;
    pressed = null;
    released();
  };
  const press = (/** @type {PointerEvent} */ { target, clientX: x, clientY: y }) => {
    if (!(target instanceof Element && target.closest(PRESSED))) return;
    pressed = { x, y };
    releaseAfter(PATIENCE_MS);
  };
  const move = (/** @type {PointerEvent} */ { clientX, clientY }) => {
    if (pressed && Math.hypot(clientX - pressed.x, clientY - pressed.y) > DRAG_PX) release();
  };
  addEventListener("pointerdown", press, true);
  addEventListener("pointermove", move, true);
  addEventListener("pointerup", () => releaseAfter(CLICK_MS), true);
  addEventListener("pointercancel", release, true);
  addEventListener("click", release);
  return () => pressed !== null;
}

// Moves the focus to what replaces a focused element: users of a keyboard or screen reader continue
// there instead of at the top of the page.

const CONTROLS = "a, button, input, select, textarea, summary";

const WRONG = "[aria-invalid=true], [data-wrong] :is(input, select, textarea)";

// Remembers where the focus is; call the answer after drawing.
export function keepFocus() {
  const focused = document.activeElement ?? document.body;
  const way = wayTo(focused);
  return () => {
    if (focused === document.body || focused.isConnected) return;
    const [parent, index] = way.find(([above]) => above.isConnected) ?? [document.body, 0];
    focusOn(parent, parent.children[Math.min(index, parent.children.length - 1)]);
  };
}

// [parent, place among its children], from the inside out.
/** @param {Element} element */
function wayTo(element) {
  /** @type {[HTMLElement, number][]} */
  const way = [];
  for (let one = element; one.parentElement; one = one.parentElement) {
    way.push([one.parentElement, [...one.parentElement.children].indexOf(one)]);
  }
  return way;
}

// Never on a control: a key that is still held down would press it, and it may be the one that
// confirms a danger.
/** @param {HTMLElement} parent @param {Element | undefined} standIn */
function focusOn(parent, standIn) {
  const isPlace = standIn instanceof HTMLElement && !standIn.matches(CONTROLS);
  const place = isPlace ? standIn : parent;
  if (!place.hasAttribute("tabindex")) place.tabIndex = -1;
  place.focus({ preventScroll: true });
}

// A form that cannot be saved shows where it is wrong, wherever that is in a long table.
/** @param {ParentNode} form */
export function focusWrong(form) {
  const wrong = form.querySelector(WRONG);
  if (wrong instanceof HTMLElement) wrong.focus();
}
