// The style sheet of a page that has one of its own: fetched with the page, and once.

import * as api from "./api.js";

/** @type {Map<string, Promise<void>>} */
const coming = new Map();

// Resolves when it is in force, so that nothing is seen without it.
/** @param {string} name */
export function useStyle(name) {
  const known = coming.get(name) ?? added(name);
  coming.set(name, known);
  return known;
}

/** @param {string} name @returns {Promise<void>} */
function added(name) {
  return new Promise((resolve) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = api.styleSheet(name);
    link.addEventListener("load", () => resolve());
    // Without it a page can still be read.
    link.addEventListener("error", () => {
      coming.delete(name);
      link.remove();
      resolve();
    });
    document.head.append(link);
  });
}
