// Findings that several units have: each one line, whatever a unit calls the thing.

import { contextOf } from "../lib/format/setting_words.js";
import { serverText, t } from "../lib/format/words.js";
import { findingSaid } from "../lib/things/findings.js";

// How a watch calls what a unit found itself.
const OF_UNIT = "finding ";

/** @param {WatchedUnit} unit @param {string} kind */
export const ownFinding = ({ findings: own }, kind) =>
  kind.startsWith(OF_UNIT) ? own.find(({ id }) => id === kind.slice(OF_UNIT.length)) : undefined;

// What several units have in common leads to the first of them.
/** @param {WatchedUnit[]} units */
export function sharedByUnits(units) {
  const found = units.flatMap((unit) =>
    Object.entries(unit.troubles)
      .filter(([kind]) => kind !== "drift")
      .map(([kind, sentence]) => ({ unit, kind, sentence, key: keyOf(unit, kind, sentence) })),
  );
  return [...Map.groupBy(found, ({ key }) => key).values()]
    .filter((alike) => alike.length > 1)
    .sort((one, other) => other.length - one.length)
    .map((alike) => ({
      count: t("count_units", { count: alike.length }),
      text: sharedText(alike),
      href: `#unit-${alike[0].unit.name}`,
    }));
}

// Findings of units are the same whatever a unit calls the thing.
/** @param {WatchedUnit} unit @param {string} kind @param {string} sentence */
function keyOf(unit, kind, sentence) {
  const own = ownFinding(unit, kind);
  return own ? `${own.id} ${JSON.stringify(own.figures)}` : `${kind} ${sentence}`;
}

/** @param {{ unit: WatchedUnit, kind: string, sentence: string }[]} alike */
function sharedText([first, ...rest]) {
  const own = ownFinding(first.unit, first.kind);
  if (!own) return serverText(first.sentence);
  const label = own.label ?? String(own.figures.part);
  const name = first.unit.names[label] ?? "";
  const isCommon = rest.every(({ unit }) => (unit.names[label] ?? "") === name);
  return findingSaid(contextOf(isCommon ? { [label]: name } : {}), own);
}
