// One drawing of uPlot in its place on the page: its size, its colours, and moving in time.
//
// `moves` is what people may do: { zoom(from, to), back(), point(time or null), press(time) }.

import { colour, plotter } from "../plot.js";
import { Fingers } from "./fingers.js";

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
  // While somebody moves the time by hand, it does not go on by itself.
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

  // The line through a moment, as if somebody pointed there; none where it is not in sight.
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
          setSelect: [(plot) => this.#selected(plot)],
          setCursor: [(plot) => this.#pointed(plot)],
        },
      },
      data,
      this.element,
    );
  }

  /** @param {uPlot} plot */
  #selected(plot) {
    const { left, width } = plot.select;
    if (width <= 0) return;
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    this.#moves.zoom?.(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
  }

  /** @param {uPlot} plot */
  #pointed(plot) {
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
      const by = (begin - clientX) * perPixel;
      this.#show(plot, from + by, to + by);
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
