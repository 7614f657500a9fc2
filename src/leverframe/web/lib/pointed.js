// The moment that people point at: the timeline and the charts draw one line through it.

/** @type {number | null} */
let moment = null;

// Null where nobody points: then it is now.
export const pointedAt = () => moment;

/** @param {number | null} time */
export function pointAt(time) {
  moment = time;
}
