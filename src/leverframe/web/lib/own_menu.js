// What everybody chooses in this browser, where a page shows more than one controller: language and
// theme.

import { html } from "../vendor/lit-html.js";
import { icon } from "./icon.js";
import { closeByEscape, closeWhenLeft, ownChoosers } from "./menu.js";
import { t } from "./words.js";

/** @param {() => void} redraw */
export const ownMenu = (redraw) =>
  html`<details class="pop own always" @keydown=${closeByEscape} @focusout=${closeWhenLeft}>
    <summary aria-label=${t("own_choices")}>${icon("more")}</summary>
    <div class="menu">
      <div class="choices">${ownChoosers(redraw)}</div>
    </div>
  </details>`;
