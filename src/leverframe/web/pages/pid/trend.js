// The picture of a course: input and target on the left scale, duty on the right one.

import { numberText } from "../../lib/format/numbers.js";
import { clock } from "../../lib/format/words.js";
import { colour, plotter } from "../../lib/things/figure.js";

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
  #valueText(value) {
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
        { ...axis, size: 72, values: (_, values) => values.map((value) => this.#valueText(value)) },
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

// The course of input, target and duty over the last minutes: from the history, then as it happens.

/** Time, input and duty. @typedef {[number, number | null, number | null]} Row */

// What is older is dropped.
export const SPAN_S = 15 * 60;

export class Course {
  /** @type {number[]} */
  times = [];
  /** @type {(number | null)[]} */
  input = [];
  /** @type {number[]} */
  target = [];
  /** @type {(number | null)[]} */
  duty = [];

  // An answer of /api/history. What the target was is not recorded: the present one is shown.
  /**
   * @param {HistoryReply} answer
   * @param {{ source: string, output: string, target: number }} shown
   */
  static of(answer, { source, output, target }) {
    const course = new Course();
    const [input, duty] = [answer.series[source], answer.series[output]];
    const columns = answer.step ? reduce(answer.times, input, duty) : holdLast(input, duty);
    for (const [time, one, other] of columns) course.add(time, one, target, other);
    const last = columns.at(-1);
    if (last && answer.step === 0) course.add(answer.to, last[1], target, last[2]);
    return course;
  }

  /**
   * @param {number} time
   * @param {number | null | undefined} input
   * @param {number} target
   * @param {number | null | undefined} duty
   */
  add(time, input, target, duty) {
    if (time < (this.times.at(-1) ?? 0)) return;
    this.times.push(time);
    this.input.push(input ?? null);
    this.target.push(target);
    this.duty.push(duty ?? null);
    this.#forget(time - SPAN_S);
  }

  /** @param {number} before */
  #forget(before) {
    const old = this.times.findIndex((time) => time >= before);
    for (const column of [this.times, this.input, this.target, this.duty]) column.splice(0, old);
  }
}

/**
 * @param {number[]} times
 * @param {ReducedSeries} input
 * @param {ReducedSeries} duty
 * @returns {Row[]}
 */
const reduce = (times, input, duty) =>
  times.map((time, index) => [time, input.mean[index], duty.mean[index]]);

// Each value holds until the next one of its own: one row for every moment at which one changed.
/** @param {RawSeries} input @param {RawSeries} duty @returns {Row[]} */
function holdLast(input, duty) {
  const moments = [...new Set([...input.times, ...duty.times])].sort((one, other) => one - other);
  const [one, other] = [holder(input), holder(duty)];
  return moments.map((time) => [time, one(time), other(time)]);
}

/** @param {RawSeries} series */
function holder({ times, values }) {
  let next = 0;
  return (/** @type {number} */ time) => {
    while (next < times.length && times[next] <= time) next++;
    return next === 0 ? null : values[next - 1];
  };
}
