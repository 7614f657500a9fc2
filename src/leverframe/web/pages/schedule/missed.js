// Runs that a power cut or a clock prevented, and when they were caught up.

import { t } from "../../lib/format/words.js";
import { dayOf, secondOfDay } from "../../lib/format/zone.js";
import { DAY_S, partsOn } from "./week.js";

/** @import { Piece } from "./week.js" */

/**
 * The part of a day on which something should have been on: whether and when it was at last.
 * @typedef {{ lane: number, from: number, to: number, isCaughtUp: boolean }} Missed
 */

/** @typedef {{ index: number, missed?: number | null, caught_up?: number | null }} Run */

/** @param {State} state @param {number[]} places */
function missedRun({ schedule = [] }, places) {
  const runs = /** @type {Run[]} */ (schedule);
  return runs.find(({ index, missed }) => places.includes(index) && missed != null);
}

// What was missed on a day of the present week, by its number since 1970.
/** @param {State} state @param {Piece[]} pieces @param {string} day @param {number} date */
export function missedOn(state, pieces, day, date) {
  return pieces.flatMap((piece) => {
    const run = missedRun(state, piece.places.slice(0, 1));
    const missed = run?.missed;
    if (!missed || dayOf(missed) !== date) return [];
    const part = partsOn([piece], day).find(({ tail }) => !tail);
    const from = secondOfDay(missed);
    const end = run.caught_up ? from + run.caught_up - missed : (part?.to ?? from);
    const isCaughtUp = run.caught_up != null;
    return [{ lane: piece.lane, from, to: Math.min(end, DAY_S), isCaughtUp }];
  });
}

// The same in words, for the card of an entry; nothing where nothing was missed.
/** @param {State} state @param {number[]} places @param {(time: number) => string} moment */
export function missedText(state, places, moment) {
  const run = missedRun(state, places);
  if (!run?.missed) return "";
  const missed = moment(run.missed);
  return run.caught_up
    ? t("run_caught_up", { missed, time: moment(run.caught_up) })
    : t("run_missed", { missed });
}
