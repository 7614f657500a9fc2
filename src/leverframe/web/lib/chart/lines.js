// Readings of one unit as thin lines; where they are reduced, with a band from lowest to highest.

import { timeAxis, valueAxis } from "./axes.js";
import { Figure } from "./figure.js";
import { joined } from "./table.js";

/** @import { Options } from "./figure.js" */

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

  // `table` as lib/chart/table.js makes it, `behind` the same of an earlier time, in a thin line.
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
      ? joined([behind.times, ...ghosts], [table.times, ...columns])
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
          isRaw ? rawLine(index, isDense, colours, Plot) : reducedLine(index, colours),
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
function reducedLine(index, colours) {
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
