// Values of the settings tree by their path: `outputs.3.name`.

/** @param {Value} tree @param {string} path */
export function valueAt(tree, path) {
  return path
    .split(".")
    .reduce((branch, step) => /** @type {Record<string, Value>} */ (branch)?.[step], tree);
}

// The rules that exist, with their numbers from 1: places of the list may be empty.
/** @param {(Rule | null)[] | undefined} rules */
export const numberRules = (rules) =>
  (rules ?? []).flatMap((rule, place) => (rule ? [{ number: place + 1, rule }] : []));

// The first place without a rule; behind the last one where none is empty.
/** @param {(Rule | null)[]} rules */
export function freePlace(rules) {
  const place = rules.indexOf(null);
  return place < 0 ? rules.length : place;
}

/** @param {unknown} one @param {unknown} other */
export const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);
