// From an answer of /api/history to columns for drawing: absent stays absent, nothing is guessed.

// Several series on common times: { times, columns, step }. A column is { values } of raw values,
// which hold until the next time, or { mean, min, max } of reduced ones.
export function tableOf(history, labels) {
  const series = labels.map((label) => history.series[label]);
  return history.step === 0 ? rawTable(history, series) : reducedTable(history, series);
}

function rawTable({ to, now }, series) {
  const known = series.map((one) => one ?? { times: [], values: [] });
  const end = Math.min(to, now);
  const times = known.length === 1 ? [...known[0].times] : merged(known.map((one) => one.times));
  // The last value still holds.
  if (times.length > 0 && times.at(-1) < end) times.push(end);
  return { step: 0, times, columns: known.map((one) => ({ values: held(one, times) })) };
}

function merged(lists) {
  return [...new Set(lists.flat())].sort((one, other) => one - other);
}

function held({ times, values }, common) {
  const column = new Array(common.length);
  let next = 0;
  let value = null;
  for (let index = 0; index < common.length; index++) {
    while (next < times.length && times[next] <= common[index]) value = values[next++];
    column[index] = value;
  }
  return column;
}

// A mean stands for its whole interval, so it is drawn in the middle of it.
function reducedTable({ times, step }, series) {
  const empty = times.map(() => null);
  return {
    step,
    times: times.map((time) => time + step / 2),
    columns: series.map((one) => one ?? { min: empty, mean: empty, max: empty }),
  };
}

// When a state was on: [from, to, share of the time] each.
export function barsOf(history, label) {
  const series = history.series[label];
  if (!series) return [];
  return history.step === 0 ? rawBars(history, series) : reducedBars(history, series);
}

function rawBars({ to, now }, { times, values }) {
  const end = Math.min(to, now);
  const bars = [];
  values.forEach((value, index) => {
    if (value) bars.push([times[index], times[index + 1] ?? end, 1]);
  });
  return bars;
}

function reducedBars({ times, step }, { mean }) {
  const bars = [];
  mean.forEach((share, index) => {
    if (share) bars.push([times[index], times[index] + step, share]);
  });
  return bars;
}

// Lowest, highest and last value of one label within an answer; nulls where there is none.
export function summaryOf(history, label) {
  const series = history.series[label];
  const column = (name) => (series?.[history.step === 0 ? "values" : name] ?? []).filter(isThere);
  const lowest = column("min").reduce((least, value) => Math.min(least, value), Infinity);
  const highest = column("max").reduce((most, value) => Math.max(most, value), -Infinity);
  return lowest > highest
    ? { min: null, max: null, last: null }
    : { min: lowest, max: highest, last: column("mean").at(-1) };
}

const isThere = (value) => value !== null;
