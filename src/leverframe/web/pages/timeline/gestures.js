// What pointers do on the timeline: drag the cursor, draw a stretch of time, or press.

// Less than this is a press.
const MIN_DRAG_PX = 8;

/**
 * @param {PointerEvent} event
 * @param {(clientX: number) => void} moved
 * @param {() => void} ended
 */
export function dragging(event, moved, ended) {
  const place = /** @type {Element} */ (event.currentTarget);
  place.setPointerCapture(event.pointerId);
  const stop = new AbortController();
  const { signal } = stop;
  /** @param {PointerEvent} one */
  const move = ({ clientX }) => moved(clientX);
  place.addEventListener("pointermove", /** @type {EventListener} */ (move), { signal });
  const end = () => {
    stop.abort();
    ended();
  };
  place.addEventListener("pointerup", end, { signal });
  place.addEventListener("pointercancel", () => stop.abort(), { signal });
  moved(event.clientX);
}

// A mouse draws: `drawn` is told where it is, or null while that is too near; fingers scroll.
/**
 * @param {PointerEvent} event
 * @param {{ drawn: (clientX: number | null) => void, ended: () => void, pressed: () => void }} act
 */
export function drawing(event, { drawn, ended, pressed }) {
  const stop = new AbortController();
  const { signal } = stop;
  /** @param {PointerEvent} one */
  const isDrawn = ({ clientX }) => Math.abs(clientX - event.clientX) >= MIN_DRAG_PX;
  const isMouse = event.pointerType === "mouse";
  if (isMouse) {
    addEventListener("pointermove", (one) => drawn(isDrawn(one) ? one.clientX : null), { signal });
  }
  addEventListener(
    "pointerup",
    (one) => {
      stop.abort();
      if (!isDrawn(one)) pressed();
      else if (isMouse) ended();
    },
    { signal },
  );
  addEventListener("pointercancel", () => stop.abort(), { signal });
}
