// The page of units that `unit watch` serves: their health, versions and drift.

import { html, nothing, render } from "../vendor/lit-html.js";
import * as api from "../lib/api.js";
import { THEMES, applyTheme, chooseTheme, currentTheme } from "../lib/theme.js";
import {
  LANGUAGES,
  chooseLanguage,
  clock,
  currentLanguage,
  startWords,
  t,
  usePageWords,
} from "../lib/words.js";

const EVERY_MS = 5000;
const SHOWN_DRIFT = 20;
// Troubles that leave nothing known of a unit.
const LOST = ["reach", "sign-in", "answer", "mac", "stale"];

class UnitsPage {
  /** @type {WatchedUnits | null} */
  #watched = null;
  /** @type {number | null} */
  #lostSince = null;
  // What is being done with which unit, and what was refused.
  /** @type {Map<string, string>} */
  #doing = new Map();
  /** @type {string | null} */
  #refusal = null;

  async start() {
    applyTheme();
    await Promise.all([startWords(), usePageWords("units")]);
    await this.#read();
    setInterval(() => this.#read(), EVERY_MS);
  }

  async #read() {
    try {
      this.#watched = await api.units();
      this.#lostSince = null;
    } catch (error) {
      if (!api.mayPass(error)) throw error;
      this.#lostSince ??= Date.now() / 1000;
    }
    this.#draw();
  }

  /** @param {string} what @param {string} name @param {(name: string) => Promise<unknown>} send */
  async #do(what, name, send) {
    this.#doing.set(name, what);
    this.#refusal = null;
    this.#draw();
    try {
      await send(name);
    } catch (error) {
      if (!api.mayPass(error)) throw error;
      this.#refusal = /** @type {Error} */ (error).message;
    }
    this.#doing.delete(name);
    await this.#read();
  }

  #draw() {
    document.title = `${t("units")} · Leverframe`;
    render(
      html`${this.#header()}
        <main>
          <h1>${t("units")}</h1>
          ${this.#lostSince === null
            ? nothing
            : html`<p class="lost" role="alert">
                ${t("connection_lost", { time: clock(this.#lostSince) })}
              </p>`}
          ${this.#refusal ? html`<p class="problem" role="alert">${this.#refusal}</p>` : nothing}
          ${this.#watched ? this.#list(this.#watched) : nothing}
        </main>`,
      document.body,
    );
  }

  #header() {
    const time = this.#watched ? clock(this.#watched.time) : "";
    return html`<header class="top">
      <p class="brand">Leverframe<span> · ${t("units")}</span></p>
      <p class="facts">${time}</p>
      <div class="choices">
        ${this.#choice(t("language"), Object.entries(LANGUAGES), currentLanguage(), chooseLanguage)}
        ${this.#choice(
          t("theme"),
          THEMES.map((name) => [name, t(`theme_${name}`)]),
          currentTheme(),
          chooseTheme,
        )}
      </div>
    </header>`;
  }

  /**
   * @param {string} label
   * @param {[string, string][]} options
   * @param {string} current
   * @param {(value: string) => void} choose
   */
  #choice(label, options, current, choose) {
    const chosen = (/** @type {string} */ value) => {
      choose(value);
      this.#draw();
    };
    return html`<select aria-label=${label} @change=${(event) => chosen(event.target.value)}>
      ${options.map(
        ([value, text]) =>
          html`<option value=${value} .selected=${value === current}>${text}</option>`,
      )}
    </select>`;
  }

  /** @param {WatchedUnits} watched */
  #list({ units }) {
    const count = Map.groupBy(units, healthOf);
    const sum = (/** @type {ReturnType<typeof healthOf>} */ health) => count.get(health)?.length ?? 0;
    return html`<p class="note">
        ${t("summary", {
          all: units.length,
          fine: sum("fine"),
          attention: sum("attention"),
          fault: sum("fault") + sum("waiting"),
        })}
      </p>
      <section class="card">
        <table class="units">
          <thead>
            <tr>
              <th>${t("health")}</th>
              <th>${t("name")}</th>
              <th>${t("findings")}</th>
              <th>${t("drift")}</th>
              <th>${t("version")}</th>
              <th>${t("heard")}</th>
              <th></th>
            </tr>
          </thead>
          <tbody>
            ${units.map((unit) => this.#row(unit))}
          </tbody>
        </table>
      </section>`;
  }

  /** @param {WatchedUnit} unit */
  #row(unit) {
    const health = healthOf(unit);
    const doing = this.#doing.get(unit.name);
    return html`<tr data-health=${health} data-unit=${unit.name}>
      <td class="health">${t(`health_${health}`)}</td>
      <td>
        <span class="unit-name">${unit.name}</span>
        <small>${[unit.told_name, unit.address, unit.mac].filter(Boolean).join(" · ")}</small>
      </td>
      <td>${findings(unit)}</td>
      <td>${drift(unit)}</td>
      <td>${unit.hardware ? `HW ${unit.hardware} SW ${unit.software}` : nothing}</td>
      <td>${unit.seen === null ? t("never") : clock(unit.seen)}</td>
      <td>
        <div class="doings">
          <button
            type="button"
            ?disabled=${doing !== undefined}
            @click=${() => this.#do("look", unit.name, api.lookAtUnit)}
          >
            ${doing === "look" ? t("looking") : t("look")}
          </button>
          <button
            type="button"
            ?disabled=${doing !== undefined}
            @click=${() => this.#do("pull", unit.name, api.pullUnit)}
          >
            ${doing === "pull" ? t("pulling") : t("pull")}
          </button>
        </div>
      </td>
    </tr>`;
  }
}

/** @param {WatchedUnit} unit */
function healthOf({ looks, troubles }) {
  if (looks === 0) return "waiting";
  const kinds = Object.keys(troubles);
  if (kinds.some((kind) => LOST.includes(kind))) return "fault";
  return kinds.length ? "attention" : "fine";
}

/** @param {WatchedUnit} unit */
function findings({ troubles, restarts, restarted }) {
  const said = Object.values(troubles);
  if (restarts && restarted !== null) {
    said.push(t("restarted", { restarts, time: clock(restarted) }));
  }
  if (said.length === 0) return html`<span class="quiet">${t("none")}</span>`;
  return html`<ul>
    ${said.map((sentence) => html`<li>${sentence}</li>`)}
  </ul>`;
}

/** @param {WatchedUnit} unit */
function drift({ drift: lines }) {
  if (lines === null) return html`<span class="quiet">${t("drift_unknown")}</span>`;
  if (lines.length === 0) return html`<span class="quiet">${t("drift_none")}</span>`;
  const hidden = lines.length - SHOWN_DRIFT;
  return html`<details>
    <summary>${t("drift_count", { count: lines.length })}</summary>
    <ul>
      ${lines.slice(0, SHOWN_DRIFT).map((line) => html`<li>${line}</li>`)}
    </ul>
    ${hidden > 0 ? html`<p class="note">${t("drift_more", { hidden })}</p>` : nothing}
  </details>`;
}

new UnitsPage().start();
