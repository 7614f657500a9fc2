// The picture of a course: input and target on the left scale, duty on the right one.

import { numberText } from "../../lib/numbers.js";
import { colour, plotter } from "../../lib/plot.js";
import { clock } from "../../lib/words.js";
import { SPAN_S } from "./course.js";

/** @import { Course } from "./course.js" */

const HEIGHT = 240;

export class Trend {
  element = document.createElement("div");
  /** @type {typeof uPlot | undefined} */
  #uPlot;
  /** @type {uPlot | null} */
  #plot = null;
  #ink = "";
  // Of the input and its target.
  #unit = "";
  #watch = new ResizeObserver(() => this.#fit());

  async start() {
    this.element.className = "trend";
    this.#watch.observe(this.element);
    this.#uPlot = await plotter();
  }

  end() {
    this.#watch.disconnect();
    this.#plot?.destroy();
  }

  /** @param {Course} course @param {string} unit */
  show({ times, input, target, duty }, unit) {
    if (!this.#uPlot) return;
    this.#unit = unit;
    /** @type {uPlot.AlignedData} */
    const data = [times, input, target, duty];
    const ink = colour("ink");
    // Another theme has other colours.
    if (this.#plot && ink === this.#ink) {
      this.#plot.setData(data);
      return;
    }
    this.#plot?.destroy();
    this.#ink = ink;
    this.#plot = new this.#uPlot(this.#options(this.#uPlot, ink), data, this.element);
  }

  #fit() {
    this.#plot?.setSize({ width: this.element.clientWidth, height: HEIGHT });
  }

  /** @param {number} value */
  #told(value) {
    return `${numberText(value)} ${this.#unit}`.trim();
  }

  /** @param {typeof uPlot} plot @param {string} ink @returns {uPlot.Options} */
  #options(plot, ink) {
    const paths = plot.paths.stepped?.({ align: 1 });
    const line = { points: { show: false }, paths, spanGaps: false };
    const thin = { stroke: colour("line"), width: 1 };
    const axis = { stroke: colour("quiet"), grid: thin, ticks: thin };
    return {
      width: this.element.clientWidth || 320,
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { range: (_, min, max) => [Math.min(min, max - SPAN_S), max] },
        y: { range: roomy },
        duty: { range: [0, 100] },
      },
      axes: [
        { ...axis, values: (_, moments) => moments.map(clockTime), space: 80, size: 32 },
        { ...axis, size: 72, values: (_, values) => values.map((value) => this.#told(value)) },
        { ...axis, scale: "duty", side: 1, grid: { show: false }, size: 56, values: percent },
      ],
      series: [
        {},
        { ...line, stroke: ink, width: 2 },
        { ...line, stroke: ink, width: 1, dash: [6, 4] },
        { ...line, stroke: colour("operate"), width: 1.5, scale: "duty" },
      ],
    };
  }
}

// A value that stands still keeps some room around it.
/** @type {uPlot.Range.Function} */
function roomy(_, min, max) {
  // There is nothing to draw yet.
  if (min === null) return [0, 1];
  const room = Math.max((max - min) * 0.1, Math.abs(max) * 0.01, 0.1);
  return [min - room, max + room];
}

/** @param {uPlot} _ @param {number[]} values */
const percent = (_, values) => values.map((value) => `${value} %`);

/** @param {number} seconds */
const clockTime = (seconds) => clock(seconds).slice(0, "00:00".length);
