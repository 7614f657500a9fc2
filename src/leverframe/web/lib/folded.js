// A text without accents and case, so that who types "zarovka" finds "Žárovka".

/** @param {string} text */
export const folded = (text) =>
  text
    .normalize("NFD")
    .replace(/\p{Diacritic}/gu, "")
    .toLowerCase();
