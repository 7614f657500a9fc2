// The two kinds of charts: lines of readings, bars of states.

import { FACE, LEFT_PX, TIME_PX, timeAxis, valueAxis } from "./axes.js";
import { Figure } from "./figure.js";
import { join } from "./history.js";

/** @import { Options } from "./figure.js" */

// Readings of one unit as thin lines; where they are reduced, with a band from lowest to highest.

const HEIGHT_PX = 240;
// Lines differ by more than their colour.
export const DASHES = [[], [8, 4], [2, 3], [12, 3, 2, 3], [5, 5], [16, 4]];
export const TOKENS = ["line-1", "line-2", "line-3", "line-4", "line-5", "line-6"];
// More values than this are finer than the pixels of a chart.
const MAX_STEPS = 4000;
const PADDING = 0.08;
// A line that hardly moves is not blown up to fill the chart.
const MIN_SPAN = 0.01;

export class Lines {
  /** @type {Figure | null} */
  #figure = null;
  #moves;
  #height;
  #kind = "";
  element = document.createElement("div");

  /** @param {Moves} moves */
  constructor(moves, height = HEIGHT_PX) {
    this.#moves = moves;
    this.#height = height;
    this.element.className = "chart";
    // Its room is kept until it is drawn.
    this.element.style.setProperty("min-height", `${height}px`);
  }

  // `table` as history.js makes it, `behind` the same of an earlier time, in a thin line.
  /** @param {ChartTable} table @param {number} from @param {number} to */
  async draw(table, from, to, /** @type {ChartTable | null} */ behind = null) {
    const isDense = table.times.length > MAX_STEPS;
    const kind = `${table.step === 0} ${isDense} ${table.columns.length} ${behind?.step === 0}`;
    const whole = behind ? `${kind} behind` : kind;
    if (whole !== this.#kind) this.#replace(whole, table, isDense, behind);
    const columns = table.columns.flatMap(({ values = [], mean = [], max = [], min = [] }) =>
      table.step === 0 ? [values] : [mean, max, min],
    );
    const ghosts = behind?.columns.map(({ values, mean = [] }) => values ?? mean) ?? [];
    const data = behind
      ? join([behind.times, ...ghosts], [table.times, ...columns])
      : [table.times, ...columns];
    await this.#figure?.draw(/** @type {uPlot.AlignedData} */ (data), from, to);
  }

  /** @param {number | null} time */
  mark(time) {
    this.#figure?.mark(time);
  }

  close() {
    this.#figure?.close();
  }

  /**
   * @param {string} kind
   * @param {ChartTable} table
   * @param {boolean} isDense
   * @param {ChartTable | null} behind
   */
  #replace(kind, { step, columns }, isDense, behind) {
    this.#figure?.close();
    this.#kind = kind;
    const isRaw = step === 0;
    const ghosts = behind?.columns ?? [];
    /** @type {Options} */
    const options = (colours, Plot) => ({
      height: this.#height,
      scales: { y: { range: (_, low, high) => roomy(low, high) } },
      axes: [timeAxis(colours), valueAxis(colours)],
      series: [
        {},
        ...ghosts.map((_, index) => ghostLine(index, behind?.step === 0, colours, Plot)),
        ...columns.flatMap((_, index) =>
          isRaw ? rawLine(index, isDense, colours, Plot) : reducedLineOf(index, colours),
        ),
      ],
      bands: isRaw ? [] : columns.map((_, index) => band(index, ghosts.length, colours)),
    });
    this.#figure = new Figure("figure", options, this.#moves);
    this.element.replaceChildren(this.#figure.element);
  }
}

/** @param {number} index @param {Colours} colours */
function lineOf(index, colours) {
  const place = index % TOKENS.length;
  return {
    stroke: () => colours(TOKENS[place]),
    width: 1.5,
    dash: DASHES[place],
    points: { show: false },
    spanGaps: false,
  };
}

// A value holds until the next one, so lines go in steps. Where steps are finer than pixels, plain
// lines look the same and are drawn many times faster.
/**
 * @param {number} index
 * @param {boolean} isDense
 * @param {Colours} colours
 * @param {typeof uPlot} Plot
 */
function rawLine(index, isDense, colours, Plot) {
  const paths = isDense ? Plot.paths.linear?.() : Plot.paths.stepped?.({ align: 1 });
  return [{ ...lineOf(index, colours), paths }];
}

/**
 * @param {number} index
 * @param {boolean} isRaw
 * @param {Colours} colours
 * @param {typeof uPlot} Plot
 */
function ghostLine(index, isRaw, colours, Plot) {
  const paths = isRaw ? Plot.paths.stepped?.({ align: 1 }) : Plot.paths.linear?.();
  return { ...lineOf(index, colours), stroke: () => colours("edge"), width: 1, paths };
}

/** @param {number} index @param {Colours} colours */
function reducedLineOf(index, colours) {
  const edge = { points: { show: false }, width: 0, spanGaps: false };
  return [lineOf(index, colours), { ...edge }, { ...edge }];
}

// Each line has three series: mean, highest, lowest. What stands behind comes before them.
/** @param {number} index @param {number} before @param {Colours} colours @returns {uPlot.Band} */
function band(index, before, colours) {
  const first = 1 + before + index * 3;
  return {
    series: [first + 1, first + 2],
    fill: () => colours(`${TOKENS[index % TOKENS.length]}-band`),
  };
}

/** @param {number | null} low @param {number | null} high @returns {[number, number]} */
export function roomy(low, high) {
  if (low === null || high === null) return [0, 1];
  const span = Math.max(high - low, Math.abs(high) * MIN_SPAN, 1e-3);
  const middle = (low + high) / 2;
  const half = span * (0.5 + PADDING);
  return [middle - half, middle + half];
}

// States under the time axis: a row for each, filled where it was on, its name above.

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
    ctx.font = `${13 * ratio}px ${FACE}`;
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
