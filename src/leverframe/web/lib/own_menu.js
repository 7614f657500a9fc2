// What everybody chooses in this browser, where a page shows more than one controller: language and
// theme.

import { html } from "../vendor/lit-html.js";
import { icon } from "./icon.js";
import { chooser, closeByEscape, closeWhenLeft } from "./menu.js";
import { THEMES, chooseTheme, currentTheme } from "./theme.js";
import { chooseLanguage, currentLanguage, languageChoices, t } from "./words.js";

/** @param {() => void} redraw */
export const ownMenu = (redraw) =>
  html`<details class="pop own always" @keydown=${closeByEscape} @focusout=${closeWhenLeft}>
    <summary aria-label=${t("own_choices")}>${icon("more")}</summary>
    <div class="menu">
      <div class="choices">
        ${chooser(t("language"), languageChoices(), currentLanguage(), (name) => {
          chooseLanguage(name);
          redraw();
        })}
        ${chooser(
          t("theme"),
          THEMES.map((name) => [name, t(`theme_${name}`)]),
          currentTheme(),
          chooseTheme,
        )}
      </div>
    </div>
  </details>`;
