// States under the time axis: a row for each, filled where it was on, its name above.

import { LEFT_PX, TIME_PX, timeAxis } from "./axes.js";
import { Figure } from "./figure.js";

/** @import { Options } from "./figure.js" */

const ROW_PX = 44;
const BAR_PX = 14;
const TOP_PX = 8;
// Below the name, in the lower part of the row.
const BAR_AT = 0.32;
const NAME_AT = 0.78;

export class Bars {
  #figure;
  /** @type {Bar[][]} */
  #rows = [];

  /** @param {string[]} names @param {Moves} moves */
  constructor(names, moves) {
    const height = names.length * ROW_PX + TIME_PX + TOP_PX;
    /** @type {Options} */
    const options = (colours) => ({
      height,
      scales: { y: { range: [0, names.length] } },
      axes: [timeAxis(colours), noAxis()],
      series: [{}, { show: false }],
      hooks: { draw: [(plot) => this.#paint(plot, colours, names)] },
    });
    this.#figure = new Figure("figure", options, moves);
    // Its room is kept until it is drawn.
    this.element.style.setProperty("min-height", `${height}px`);
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

  /** @param {number | null} time */
  mark(time) {
    this.#figure.mark(time);
  }

  close() {
    this.#figure.close();
  }

  // A part of the time on is drawn as a bar of that height.
  /** @param {uPlot} plot @param {Colours} colours @param {string[]} names */
  #paint(plot, colours, names) {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.font = `${13 * ratio}px system-ui, sans-serif`;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    this.#rows.forEach((bars, row) => {
      /** @param {number} share */
      const y = (share) => plot.valToPos(this.#rows.length - row - 1 + share, "y", true);
      const bottom = y(BAR_AT) + (BAR_PX / 2) * ratio;
      ctx.fillStyle = colours("sunk");
      ctx.fillRect(bbox.left, bottom - BAR_PX * ratio, bbox.width, BAR_PX * ratio);
      ctx.fillStyle = colours("ink");
      ctx.fillText(names[row], bbox.left, y(NAME_AT));
      ctx.fillStyle = colours("on");
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

// Room as other charts have it, so that times stand above each other.
/** @returns {uPlot.Axis} */
const noAxis = () => ({
  size: LEFT_PX,
  grid: { show: false },
  ticks: { show: false },
  values: (_, places) => places.map(() => ""),
});
