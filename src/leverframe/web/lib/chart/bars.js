// States under the time axis: a row for each, filled where it was on.

import { LEFT_PX, TIME_PX, timeAxis } from "./axes.js";
import { Figure } from "./figure.js";

/** @import { Options } from "./figure.js" */

const ROW_PX = 28;
const BAR_PX = 14;
const TOP_PX = 8;

export class Bars {
  #figure;
  /** @type {Bar[][]} */
  #rows = [];

  /** @param {string[]} labels @param {Moves} moves */
  constructor(labels, moves) {
    /** @type {Options} */
    const options = (colours) => ({
      height: labels.length * ROW_PX + TIME_PX + TOP_PX,
      scales: { y: { range: [0, labels.length] } },
      axes: [timeAxis(colours), rowAxis(labels, colours)],
      series: [{}, { show: false }],
      hooks: { draw: [(plot) => this.#paint(plot, colours)] },
    });
    this.#figure = new Figure("figure", options, moves);
  }

  get element() {
    return this.#figure.element;
  }

  // `rows`: a list of [from, to, share] for each label.
  /** @param {Bar[][]} rows @param {number} from @param {number} to */
  async draw(rows, from, to) {
    this.#rows = rows;
    await this.#figure.draw([[from, to], [null, null]], from, to);
  }

  close() {
    this.#figure.close();
  }

  // A part of the time on is drawn as a bar of that height.
  /** @param {uPlot} plot @param {Colours} colours */
  #paint(plot, colours) {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.fillStyle = colours("on");
    this.#rows.forEach((bars, row) => {
      const bottom = plot.valToPos(this.#rows.length - row - 0.5, "y", true) + (BAR_PX / 2) * ratio;
      for (const [from, to, share] of bars) {
        const left = plot.valToPos(from, "x", true);
        const width = Math.max(ratio, plot.valToPos(to, "x", true) - left);
        const height = BAR_PX * ratio * share;
        ctx.fillRect(left, bottom - height, width, height);
      }
    });
    ctx.restore();
  }
}

/** @param {string[]} labels @param {Colours} colours @returns {uPlot.Axis} */
function rowAxis(labels, colours) {
  const places = labels.map((_, index) => labels.length - index - 0.5);
  return {
    size: LEFT_PX,
    font: "13px system-ui, sans-serif",
    stroke: () => colours("quiet"),
    grid: { show: false },
    ticks: { show: false },
    splits: () => places,
    values: () => labels,
  };
}
