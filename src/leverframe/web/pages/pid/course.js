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
    const columns = answer.step ? reduced(answer.times, input, duty) : held(input, duty);
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
const reduced = (times, input, duty) =>
  times.map((time, index) => [time, input.mean[index], duty.mean[index]]);

// Each value holds until the next one of its own: one row for every moment at which one changed.
/** @param {RawSeries} input @param {RawSeries} duty @returns {Row[]} */
function held(input, duty) {
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
