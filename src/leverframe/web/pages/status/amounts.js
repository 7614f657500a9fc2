// What a counter has counted: today, yesterday, and in each hour of the last day.

const HOUR_S = 3600;
const DAY_HOURS = 24;

/** @typedef {{ today: number | null, yesterday: number | null, hours: number[] }} Amounts */

// A counter only grows; one that falls was set back, and counts from there.
/**
 * @param {HistoryReply} history
 * @param {RawSeries & ReducedSeries} series
 * @param {number} yesterday When it began; a day need not have 24 hours.
 * @param {number} today
 * @returns {Amounts}
 */
export function amounts({ now, step, times }, series, yesterday, today) {
  const at = step === 0 ? series.times : times;
  const counts = step === 0 ? series.values : series.max;
  const lastHour = Math.floor(now / HOUR_S);
  const hours = new Array(DAY_HOURS).fill(0);
  const sums = { today: 0, yesterday: 0 };
  /** @type {number | null} */
  let before = null;
  let knownFrom = Infinity;
  counts.forEach((count, index) => {
    if (count === null) return;
    const time = at[index];
    const grown = before === null ? 0 : Math.max(0, count - before);
    before = count;
    knownFrom = Math.min(knownFrom, time);
    if (time >= today) sums.today += grown;
    else if (time >= yesterday) sums.yesterday += grown;
    const place = DAY_HOURS - 1 - (lastHour - Math.floor(time / HOUR_S));
    if (place >= 0 && place < DAY_HOURS) hours[place] += grown;
  });
  return {
    today: before === null ? null : sums.today,
    yesterday: knownFrom < today ? sums.yesterday : null,
    hours,
  };
}
