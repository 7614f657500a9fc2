// How the pages look: theme and style sheets.

import * as api from "../live/api.js";

// Light or dark: as the system has it, or as chosen in this browser.

const KEPT = "leverframe.theme";
export const THEMES = ["system", "light", "dark"];

export const currentTheme = () => localStorage.getItem(KEPT) ?? "system";

/** @param {string} name */
export function chooseTheme(name) {
  localStorage.setItem(KEPT, name);
  applyTheme();
}

export function applyTheme() {
  document.documentElement.dataset.theme = currentTheme();
}

// The style sheet of a page that has one of its own: fetched with the page, and once.

/** @type {Map<string, Promise<void>>} */
const coming = new Map();

// Resolves when it is in force, so that nothing is seen without it.
/** @param {string} name */
export function useStyle(name) {
  const known = coming.get(name) ?? addElement(name);
  coming.set(name, known);
  return known;
}

/** @param {string} name @returns {Promise<void>} */
function addElement(name) {
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
