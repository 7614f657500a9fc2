// Nothing is drawn under a press: what a finger or the mouse holds down could move away from under
// it, and the press would be lost, or meet something else.

const PRESSED = "button, a, summary, label, input[type=checkbox]";
// A longer press holds nothing up, and one that moves is a drag.
const PATIENCE_MS = 1000;
const DRAG_PX = 4;
// The click comes after the finger is up; where it was moved away, none does.
const CLICK_MS = 100;

// Gives a function that tells whether something is held down; `released()` is called when it ends.
/** @param {() => void} released */
export function watchPresses(released) {
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
