// The header of the page: the fleet, whether it is heard, and what everybody chooses.

import { html, nothing } from "../vendor/lit-html.js";
import { icon, mark } from "../lib/icon.js";
import { closeByEscape, closeWhenLeft } from "../lib/menu.js";
import { THEMES, chooseTheme, currentTheme } from "../lib/theme.js";
import { LANGUAGES, chooseLanguage, clock, currentLanguage, t } from "../lib/words.js";

/** @param {import("./view.js").FleetStream} stream @param {() => void} redraw */
export function header({ connection, time, view }, redraw) {
  const tenant = view?.node.tenant;
  return html`<header class="top">
    <a class="brand" href="#/"
      >${mark()}<span>${t("fleet")}${tenant ? html` <small>${tenant}</small>` : nothing}</span></a
    >
    <span class="gap"></span>
    <p class="connection" data-kind=${connection}>
      <span role="status"
        >${connection === "lost" ? t("no_connection") : t(`connection_${connection}`)}</span
      >${time && connection === "live" ? html` · <time>${clock(time).slice(0, 5)}</time>` : nothing}
    </p>
    <details class="pop own" @keydown=${closeByEscape} @focusout=${closeWhenLeft}>
      <summary aria-label=${t("own_choices")}>${icon("more")}</summary>
      <div class="menu">
        <div class="choices">
          ${choice(t("language"), Object.entries(LANGUAGES), currentLanguage(), (name) => {
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
    </details>
  </header>`;
}

/**
 * @param {string} label
 * @param {[string, string][]} options
 * @param {string} current
 * @param {(value: string) => void} choose
 */
const choice = (label, options, current, choose) =>
  html`<select aria-label=${label} @change=${(event) => choose(event.target.value)}>
    ${options.map(
      ([value, text]) =>
        html`<option value=${value} .selected=${value === current}>${text}</option>`,
    )}
  </select>`;
