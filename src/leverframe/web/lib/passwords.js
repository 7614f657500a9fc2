// Why a password is easy to guess, as far as it can be told from the password itself.

// Long enough, and among the first that are tried.
const COMMON = /^((password|passw0rd|leverframe|changeme|iloveyou)\d*|administrator|\d+)$/i;
const MIN_DIFFERENT = 5;

// One word for the reason; null where there is none. `names` are those that anybody knows.
/** @param {string} password @param {string[]} names */
export function weakness(password, names) {
  const folded = password.toLowerCase();
  if (COMMON.test(password)) return "common";
  if (new Set(folded).size < MIN_DIFFERENT) return "alike";
  const known = names.filter((name) => name.length > 2).map((name) => name.toLowerCase());
  const rest = known.reduce((text, name) => text.replaceAll(name, ""), folded);
  return known.length > 0 && rest.length < folded.length / 2 ? "name" : null;
}
