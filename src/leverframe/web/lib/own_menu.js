// What everybody chooses in this browser, where a page shows more than one controller: language and
// theme.

import { html } from "../vendor/lit-html.js";
import { icon } from "./icon.js";
import { closeByEscape, closeWhenLeft } from "./menu.js";
import { THEMES, chooseTheme, currentTheme } from "./theme.js";
import { chooseLanguage, currentLanguage, languageChoices, t } from "./words.js";

/** @param {() => void} redraw */
export const ownMenu = (redraw) =>
  html`<details class="pop own always" @keydown=${closeByEscape} @focusout=${closeWhenLeft}>
    <summary aria-label=${t("own_choices")}>${icon("more")}</summary>
    <div class="menu">
      <div class="choices">
        ${choice(t("language"), languageChoices(), currentLanguage(), (name) => {
          chooseLanguage(name);
          redraw();
        })}
        ${choice(
          t("theme"),
          THEMES.map((name) => [name, t(`theme_${name}`)]),
          currentTheme(),
          chooseTheme,
        )}
      </div>
    </div>
  </details>`;

/**
 * @param {string} label
 * @param {[string, string][]} options
 * @param {string} current
 * @param {(value: string) => void} choose
 */
const choice = (label, options, current, choose) =>
  html`<label
    ><small>${label}</small
    ><select aria-label=${label} @change=${(event) => choose(event.target.value)}>
      ${options.map(
        ([value, text]) =>
          html`<option value=${value} .selected=${value === current}>${text}</option>`,
      )}
    </select></label
  >`;
