// The options of a choice: [value, shown text] each.

import { html } from "../vendor/lit-html.js";

/** @param {(string | number)[][]} offered @param {string | number | null} current */
export const optionsOf = (offered, current) =>
  offered.map(
    ([value, shown]) =>
      html`<option value=${value} .selected=${value === current}>${shown}</option>`,
  );
