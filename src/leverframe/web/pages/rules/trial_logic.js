// What the picture of a trial shows, as spans of time: [begin, end] in seconds since 1970.

/** @typedef {[number, number]} Span */
/** @typedef {{ compare: string, reference: number, hysteresis: number }} Condition */

// When something was on, from the moments at which it turned.
/** @param {Api.Firing[]} turns @param {number} last @returns {Span[]} */
export function spansOf(turns, last) {
  /** @type {Span[]} */
  const spans = [];
  /** @type {number | null} */
  let begin = null;
  for (const { time, active } of turns) {
    if (active) begin ??= time;
    else if (begin !== null) {
      spans.push([begin, time]);
      begin = null;
    }
  }
  if (begin !== null) spans.push([begin, last]);
  return spans;
}

// When pulses were on, from the moments at which a rule turned; one that begins within another
// makes it longer.
/** @param {Api.Firing[]} turns @param {number} seconds @param {number} last @returns {Span[]} */
export function pulsesOf(turns, seconds, last) {
  /** @type {Span[]} */
  const spans = [];
  for (const { time } of turns.filter(({ active }) => active)) {
    const before = spans.at(-1);
    const end = Math.min(time + seconds, last);
    if (before && before[1] >= time) before[1] = end;
    else spans.push([time, end]);
  }
  return spans;
}

// The rest of the time.
/** @param {Span[]} spans @param {number} first @param {number} last @returns {Span[]} */
export function without(spans, first, last) {
  const edges = [first, ...spans.flat(), last];
  /** @type {Span[]} */
  const rest = [];
  for (let at = 0; at < edges.length; at += 2) {
    if (edges[at + 1] > edges[at]) rest.push([edges[at], edges[at + 1]]);
  }
  return rest;
}

/** @param {Span[]} some @param {Span[]} others @returns {Span[]} */
export function common(some, others) {
  return some
    .flatMap(([begin, end]) =>
      others.map(
        ([from, to]) => /** @type {Span} */ ([Math.max(begin, from), Math.min(end, to)]),
      ),
    )
    .filter(([begin, end]) => end > begin);
}

// Where the two differ for longer than clocks and delays explain.
const SHORT_S = 30;
/** @param {Span[]} would @param {Span[]} did @param {number} first @param {number} last */
export function differences(would, did, first, last) {
  const missed = common(would, without(did, first, last));
  const more = common(did, without(would, first, last));
  return [...missed, ...more]
    .filter(([begin, end]) => end - begin > SHORT_S)
    .sort(([one], [other]) => one - other);
}

/** @param {Span[]} spans */
export const total = (spans) => spans.reduce((sum, [begin, end]) => sum + end - begin, 0);

// At which values the first condition begins to hold and ceases.
/** @param {Condition} condition */
export function thresholds({ compare, reference, hysteresis }) {
  const way = compare === "<" ? 1 : -1;
  return { on: reference, off: reference + way * hysteresis };
}
