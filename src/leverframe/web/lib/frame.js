// Header, the banner of a lost connection, and the question before unsaved changes are left.

import { html, nothing } from "../vendor/lit-html.js";
import * as api from "./api.js";
import { SIMULATED } from "./context.js";
import { THEMES, chooseTheme, currentTheme } from "./theme.js";
import { LANGUAGES, chooseLanguage, clock, currentLanguage, t } from "./words.js";

/** @param {Context} context @param {() => void} redraw */
export function header(context, redraw) {
  const { state, connection } = context.live;
  const device = context.overview.deviceName;
  const facts = [
    state.profile ? `HW ${state.profile.hw} SW ${state.profile.sw}` : "",
    context.board === SIMULATED ? t("simulated") : context.board,
    state.time ? clock(state.time) : "",
  ];
  return html`<header class="top">
    <p class="brand">Leverframe<span>${device ? ` · ${device}` : ""}</span></p>
    <p class="facts">${facts.filter(Boolean).join(" · ")}</p>
    <p class="connection" data-kind=${connection} role="status">${connectionWord(context.live)}</p>
    <div class="choices">
      ${chooser(t("language"), Object.entries(LANGUAGES), currentLanguage(), (name) => {
        chooseLanguage(name);
        redraw();
      })}
      ${chooser(
        t("theme"),
        THEMES.map((name) => [name, t(`theme_${name}`)]),
        currentTheme(),
        chooseTheme,
      )}
      ${maySignOut(context)
        ? html`<button type="button" ?disabled=${connection === "lost"} @click=${leave}>
            ${t("sign_out")}
          </button>`
        : nothing}
    </div>
  </header>`;
}

/** @param {Context} context */
const maySignOut = ({ settings, live }) =>
  settings ? settings.access.required : live.connection === "live";

export async function leave() {
  await api.signOut();
  api.goToSignIn();
}

/** @param {Live} live */
function connectionWord(live) {
  if (live.connection !== "lost") return t(`connection_${live.connection}`);
  return t("connection_lost", { time: clock(Number(live.lostSince) / 1000) });
}

/**
 * @param {string} label
 * @param {[string, string][]} options
 * @param {string} current
 * @param {(value: string) => void} choose
 */
function chooser(label, options, current, choose) {
  return html`<select aria-label=${label} @change=${(event) => choose(event.target.value)}>
    ${options.map(
      ([value, text]) =>
        html`<option value=${value} .selected=${value === current}>${text}</option>`,
    )}
  </select>`;
}

/** @param {Live} live */
export function lostBanner(live) {
  if (live.connection !== "lost") return nothing;
  return html`<p class="lost" role="alert">${connectionWord(live)}. ${t("lost_advice")}</p>`;
}

/**
 * @param {(() => void) | null} proceed
 * @param {(choice: "save" | "leave" | "stay") => void} answer
 */
export function leaveQuestion(proceed, answer) {
  if (!proceed) return nothing;
  return html`<dialog
    class="leave"
    aria-labelledby="leave-question"
    @cancel=${() => answer("stay")}
  >
    <h2 id="leave-question">${t("unsaved")}</h2>
    <p>${t("unsaved_advice")}</p>
    <footer>
      <button class="primary" @click=${() => answer("save")}>${t("save_and_go")}</button>
      <button @click=${() => answer("leave")}>${t("leave")}</button>
      <button @click=${() => answer("stay")}>${t("stay")}</button>
    </footer>
  </dialog>`;
}
