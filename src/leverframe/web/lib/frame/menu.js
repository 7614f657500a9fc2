// A menu that opens at its button: Escape, a press outside and leaving it close it.
//
//   html`<details class="pop" @keydown=${closeByEscape} @focusout=${closeWhenLeft}>
//     <summary>…</summary> <div class="menu">…</div>
//   </details>`

import { html } from "../../vendor/lit-html.js";
import { chooseLanguage, currentLanguage, languageChoices, t } from "../format/words.js";
import { optionsOf } from "../forms/controls.js";
import { icon } from "../things/signs.js";
import { chooseTheme, currentTheme, THEMES } from "./look.js";

/** @param {EventTarget | null} within */
export function closeMenu(within) {
  const menu = within instanceof Element ? within.closest("details") : null;
  menu?.removeAttribute("open");
  menu?.querySelector("summary")?.focus();
}

/** @param {KeyboardEvent} event */
export function closeByEscape(event) {
  if (event.key !== "Escape") return;
  event.stopPropagation();
  closeMenu(event.target);
}

/** @param {FocusEvent} event */
export function closeWhenLeft(event) {
  const menu = /** @type {HTMLElement} */ (event.currentTarget);
  const next = event.relatedTarget;
  if (next instanceof Node && !menu.contains(next)) menu.removeAttribute("open");
}

// Of all menus, once: a press elsewhere closes the open one.
export function closeMenusOutside() {
  addEventListener("pointerdown", ({ target }) => {
    for (const menu of document.querySelectorAll("details.pop[open]")) {
      if (target instanceof Node && !menu.contains(target)) menu.removeAttribute("open");
    }
  });
}

// What every user chooses in this browser: language and theme.
export const ownChoosers = () =>
  html`${chooser(t("language"), languageChoices(), currentLanguage(), chooseLanguage)}
  ${chooser(
    t("theme"),
    THEMES.map((name) => [name, t(`theme_${name}`)]),
    currentTheme(),
    chooseTheme,
  )}`;

// A choice in a menu, with its label above it.
/**
 * @param {string} label
 * @param {[string, string][]} options
 * @param {string} current
 * @param {(value: string) => void} choose
 */
function chooser(label, options, current, choose) {
  return html`<label
    ><small>${label}</small
    ><select aria-label=${label} @change=${(event) => choose(event.target.value)}>
      ${optionsOf(options, current)}
    </select></label
  >`;
}

// Language and theme, for pages that show more than one controller.

export const ownMenu = () =>
  html`<details class="pop own always" @keydown=${closeByEscape} @focusout=${closeWhenLeft}>
    <summary aria-label=${t("own_choices")}>${icon("more")}</summary>
    <div class="menu">
      <div class="choices">${ownChoosers()}</div>
    </div>
  </details>`;
