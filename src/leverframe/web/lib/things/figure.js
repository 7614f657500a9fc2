// One drawing of uPlot in its place on the page: its size, its colours, and moving in time.
//
// `moves` is what people may do: { zoom(from, to), back(), point(time or null), press(time) }.

/** What one drawing is made of. @typedef {Omit<uPlot.Options, "width">} Drawing */
/** @typedef {(colours: Colours, Plot: typeof uPlot) => Drawing} Options */

const MIN_DRAG_PX = 8;

export class Figure {
  // The element to put into the page.
  element = document.createElement("div");
  /** @type {uPlot | null} */
  #plot = null;
  #options;
  #moves;
  #from = 0;
  #to = 1;
  // While the user moves the time, it does not advance.
  #isHeld = () => false;
  /** @type {Map<string, string>} */
  #colours = new Map();
  #resized = new ResizeObserver(() => this.#fit());
  // On paper everything is light.
  #media = ["(prefers-color-scheme: dark)", "print"].map((query) => matchMedia(query));
  #themed = new MutationObserver(() => this.#repaint());
  #repainting = () => this.#repaint();

  // `options(colours)` gives series, axes, scales, hooks and height.
  /** @param {string} className @param {Options} options @param {Moves} moves */
  constructor(className, options, moves) {
    this.element.className = className;
    this.#options = options;
    this.#moves = moves;
    this.#resized.observe(this.element);
    for (const one of this.#media) one.addEventListener("change", this.#repainting);
    this.#themed.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  close() {
    this.#resized.disconnect();
    this.#themed.disconnect();
    for (const one of this.#media) one.removeEventListener("change", this.#repainting);
    this.#plot?.destroy();
    this.#plot = null;
  }

  /** @param {uPlot.AlignedData} data @param {number} from @param {number} to */
  async draw(data, from, to) {
    const Plot = await plotter();
    if (!this.#isHeld()) [this.#from, this.#to] = [from, to];
    if (this.#plot !== null) this.#plot.setData(data);
    else {
      this.#plot = this.#begin(Plot, data);
      if (this.#moves.zoom) this.#takeFingers(this.#plot);
      this.#takePresses(this.#plot);
    }
  }

  // Draws the line through a moment as if pointed at; none where it is out of sight.
  /** @param {number | null} time */
  mark(time) {
    const isSeen = time !== null && time >= this.#from && time <= this.#to;
    const left = isSeen ? this.#plot?.valToPos(time, "x") : -1;
    if (left !== undefined) this.#plot?.setCursor({ left, top: isSeen ? 0 : -1 }, true);
  }

  // A token of the page, resolved once for each theme.
  /** @param {string} token */
  colour(token) {
    const found = this.#colours.get(token) ?? colour(token);
    this.#colours.set(token, found);
    return found;
  }

  /** @param {typeof uPlot} Plot @param {uPlot.AlignedData} data */
  #begin(Plot, data) {
    const { series, axes, scales = {}, hooks = {}, height, bands } = this.#options(
      (token) => this.colour(token),
      Plot,
    );
    return new Plot(
      {
        width: Math.max(1, this.element.clientWidth),
        height,
        series,
        axes,
        bands,
        padding: [8, 24, 0, 0],
        legend: { show: false },
        scales: { x: { time: true, range: () => [this.#from, this.#to] }, ...scales },
        cursor: {
          ...(this.#moves.sync ? { sync: { key: this.#moves.sync } } : {}),
          y: false,
          // A value holds until the next one, where its dot would stand, away from the cursor.
          points: { show: false },
          drag: { x: true, y: false, setScale: false, dist: MIN_DRAG_PX },
          bind: {
            dblclick: () => () => {
              this.#moves.back?.();
              return null;
            },
            mousedown: (plot, _, handler) => (event) => this.#press(plot, event, handler),
          },
        },
        hooks: {
          ...hooks,
          setSelect: [(plot) => this.#onSelect(plot)],
          setCursor: [(plot) => this.#onPoint(plot)],
        },
      },
      data,
      this.element,
    );
  }

  /** @param {uPlot} plot */
  #onSelect(plot) {
    const { left, width } = plot.select;
    if (width <= 0) return;
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    this.#moves.zoom?.(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
  }

  /** @param {uPlot} plot */
  #onPoint(plot) {
    const { left = -1, idx } = plot.cursor;
    this.#moves.point?.(left < 0 || idx == null ? null : plot.posToVal(left, "x"));
  }

  /** @param {uPlot} plot @param {number} from @param {number} to */
  #show(plot, from, to) {
    [this.#from, this.#to] = [from, to];
    plot.setScale("x", { min: from, max: to });
  }

  /** @param {uPlot} plot */
  #takeFingers(plot) {
    const fingers = new Fingers(plot.over, {
      range: () => [this.#from, this.#to],
      show: (from, to) => this.#show(plot, from, to),
      end: () => this.#moves.zoom?.(this.#from, this.#to),
      back: () => this.#moves.back?.(),
    });
    this.#isHeld = () => fingers.areDown;
  }

  // A press that draws nothing.
  /** @param {uPlot} plot */
  #takePresses({ over, posToVal }) {
    let began = 0;
    over.addEventListener("pointerdown", ({ clientX }) => (began = clientX));
    over.addEventListener("click", ({ clientX }) => {
      if (Math.abs(clientX - began) >= MIN_DRAG_PX) return;
      this.#moves.press?.(posToVal(clientX - over.getBoundingClientRect().left, "x"));
    });
  }

  // With the shift key the time is moved instead of chosen.
  /** @param {uPlot} plot @param {MouseEvent} event @param {(event: MouseEvent) => void} handler */
  #press(plot, event, handler) {
    if (!event.shiftKey || !this.#moves.zoom) {
      handler(event);
      return null;
    }
    const [begin, from, to] = [event.clientX, this.#from, this.#to];
    const perPixel = (to - from) / plot.over.clientWidth;
    /** @param {MouseEvent} mouseEvent */
    const move = ({ clientX }) => {
      const offset = (begin - clientX) * perPixel;
      this.#show(plot, from + offset, to + offset);
    };
    const end = () => {
      removeEventListener("mousemove", move);
      this.#moves.zoom?.(this.#from, this.#to);
    };
    addEventListener("mousemove", move);
    addEventListener("mouseup", end, { once: true });
    return null;
  }

  #fit() {
    const width = this.element.clientWidth;
    if (this.#plot && width > 0) this.#plot.setSize({ width, height: this.#plot.height });
  }

  #repaint() {
    this.#colours.clear();
    this.#plot?.redraw(false);
  }
}

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

// The plotting library, fetched when the first chart is drawn, and the page's colours for it.

const SCRIPT = new URL("../../vendor/uPlot.js", import.meta.url).href;
const STYLE = new URL("../../vendor/uPlot.css", import.meta.url).href;
let fetched = null;

// The constructor `uPlot`. It is no module, so it comes by a script element.
export function plotter() {
  fetched ??= Promise.all([
    addElement("script", { src: SCRIPT }),
    addElement("link", { rel: "stylesheet", href: STYLE }),
  ]).then(
    () => globalThis.uPlot,
    (error) => {
      fetched = null;
      throw error;
    },
  );
  return fetched;
}

/** @param {"script" | "link"} tag @param {Record<string, string>} properties */
function addElement(tag, properties) {
  return new Promise((resolve, reject) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.onload = resolve;
    element.onerror = () => {
      element.remove();
      reject(new TypeError(`${tag} of the charts could not be fetched`));
    };
    document.head.append(element);
  });
}

// A token of style.css, such as "operate", as the present theme has it: canvases need it resolved.
/** @param {string} token */
export function colour(token) {
  const probe = document.createElement("span");
  probe.style.setProperty("color", `var(--${token})`);
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
