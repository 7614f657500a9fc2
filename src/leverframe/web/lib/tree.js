// Values of the settings tree by their path: `outputs.3.name`.

export function valueAt(tree, path) {
  return path.split(".").reduce((branch, step) => branch?.[step], tree);
}

export const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);
