// For settings of a controller that is not the page's own: its things are called what is known of
// it, or what they are.

/** @param {Record<string, string>} [names] by label @returns {Context} */
export const contextOf = (names = {}) =>
  /** @type {Context} */ (
    /** @type {unknown} */ ({
      overview: {
        name: (/** @type {string} */ label) => names[label] ?? "",
        isInverted: () => false,
      },
      settings: null,
    })
  );
