// What the loop would make of a step of its target: the regulator as the controller has it, and a
// plant that follows full duty by `gain`, 63 % of it after `lag` seconds.

/** @typedef {{ kp: number, ki: number, kd: number }} Gains */
/** @typedef {{ gain: number, lag: number }} Plant */
/** @typedef {{ times: number[], values: number[], duties: number[] }} Response */

// Enough to see a plant settle, or not.
const LAGS = 6;
const MAX_POINTS = 400;
const HALF = 50;

// From rest at half duty, the target goes up by `step`; values are those above the rest.
/** @param {Gains} gains @param {Plant} plant @param {number} step @returns {Response} */
export function stepResponse({ kp, ki, kd }, { gain, lag }, step) {
  const span = Math.max(60, Math.round(lag * LAGS));
  const every = Math.max(1, Math.ceil(span / MAX_POINTS));
  /** @type {Response} */
  const response = { times: [], values: [], duties: [] };
  let [value, before, integral] = [0, 0, HALF];
  for (let second = 0; second <= span; second++) {
    const error = step - value;
    const others = kp * error - kd * (value - before) + (ki === 0 ? HALF : 0);
    const wanted = others + integral * Number(ki !== 0) + ki * error;
    // As in the controller, nothing is summed up that would drive the duty further past a limit.
    const added = ki * error;
    if ((wanted <= 100 || added < 0) && (wanted >= 0 || added > 0)) integral += added;
    const duty = Math.min(100, Math.max(0, others + integral * Number(ki !== 0)));
    before = value;
    value += ((gain * (duty - HALF)) / 100 - value) / Math.max(lag, 1);
    if (second % every === 0) {
      response.times.push(second);
      response.values.push(value);
      response.duties.push(duty);
    }
  }
  return response;
}

// How far it goes past the target, in parts of the step, and when it stays within a twentieth.
/** @param {Response} response @param {number} step */
export function judged({ times, values }, step) {
  const last = values.findLastIndex((value) => Math.abs(value - step) > Math.abs(step) / 20);
  return {
    overshoot: Math.max(0, ...values.map((value) => value / step - 1)),
    settled: last + 1 < times.length ? times[last + 1] : null,
  };
}
