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
