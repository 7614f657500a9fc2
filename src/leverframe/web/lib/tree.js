// Values of the settings tree by their path: `outputs.3.name`.

/** @param {Value} tree @param {string} path */
export function valueAt(tree, path) {
  return path
    .split(".")
    .reduce((branch, step) => /** @type {Record<string, Value>} */ (branch)?.[step], tree);
}

/** @param {unknown} one @param {unknown} other */
export const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);
