// The page of units that `unit watch` serves: their health, versions and drift.

import { html, nothing, render } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { moment, shortMoment } from "../lib/format/moments.js";
import { contextOf } from "../lib/format/setting_words.js";
import { serverText, t } from "../lib/format/words.js";
import { CONNECTION, Task } from "../lib/forms/task.js";
import {
  brandOf,
  header,
  keepPageDrawn,
  connectionView,
  startFrame,
} from "../lib/frame/several.js";
import * as api from "../lib/live/api.js";
import { ShownMap } from "../lib/live/drawing.js";
import { cells, headings, sharedFindings } from "../lib/things/controllers.js";
import { findingSaid } from "../lib/things/findings.js";
import { driftLine, pathsOf, planView, sideBySide, wordsFor } from "./plan.js";
import { ownFinding, sharedByUnits } from "./shared.js";

const EVERY_MS = 5000;
const SHOWN_DRIFT = 20;
const SHOWN_FINDINGS = 8;

class UnitsPage {
  /** @type {Signal<WatchedUnits | null>} */
  #watched = signal(null);
  /** @type {Signal<number | null>} */
  #lostSince = signal(null);
  // What is being done with which unit, and what was refused.
  /** @type {ShownMap<string, string>} */
  #doing = new ShownMap();
  #task = new Task({ lost: CONNECTION });
  // What is shown below a unit: how it differs from its file, or a plan.
  /** @type {ShownMap<string, { differences?: UnitDifference[], plan?: UnitPlan }>} */
  #below = new ShownMap();
  // A part of the table for each unit, which moves with it as units get better and worse.
  /** @type {Map<string, HTMLElement>} */
  #bodies = new Map();

  async start() {
    await startFrame("units");
    await this.#read();
    keepPageDrawn("units", () => this.#view());
    setInterval(() => this.#read(), EVERY_MS);
  }

  async #read() {
    try {
      const watched = await api.units();
      await wordsFor(watched.units.flatMap((unit) => (unit.differences ?? []).map(pathOf)));
      this.#watched.value = watched;
      this.#lostSince.value = null;
    } catch (error) {
      if (!api.mayPass(error)) throw error;
      this.#lostSince.value ??= Date.now() / 1000;
    }
  }

  /** @param {string} what @param {string} name @param {(name: string) => Promise<unknown>} send */
  async #do(what, name, send) {
    this.#doing.set(name, what);
    await this.#task.run(() => send(name));
    this.#doing.delete(name);
    await this.#read();
  }

  #view() {
    const watched = this.#watched.value;
    const refusal = this.#task.refusal();
    return html`${header({
        brand: html`<p class="brand">${brandOf(t("units"))}</p>`,
        connection: this.#lostSince.value === null ? "live" : "lost",
        time: watched?.time,
      })}
      ${connectionView(this.#lostSince.value)}
      <main>
        <h1>${t("units")}</h1>
        ${refusal ? html`<p class="problem" role="alert">${refusal}</p>` : nothing}
        ${watched ? this.#list(watched) : nothing}
      </main>`;
  }

  /** @param {WatchedUnits} watched */
  #list({ units }) {
    const count = Map.groupBy(units, ({ health }) => health);
    /** @param {WatchedUnit["health"]} health */
    const sum = (health) => count.get(health)?.length ?? 0;
    const waiting = sum("waiting");
    return html`<p class="note">
        ${t("summary", {
          all: units.length,
          fine: sum("fine"),
          attention: sum("attention"),
          fault: sum("fault"),
          lost: sum("lost"),
        })}${waiting ? `, ${t("waiting", { count: waiting })}` : nothing}
      </p>
      ${sharedFindings(sharedByUnits(units))}
      <section class="card list">
        <div class="rows">
          <table class="controllers units">
            <thead>
              <tr>
                ${headings()}
                <th><span class="unseen">${t("do")}</span></th>
              </tr>
            </thead>
            ${units.map((unit) => this.#body(unit))}
          </table>
        </div>
      </section>`;
  }

  /** @param {WatchedUnit} unit */
  #body(unit) {
    const body = this.#bodies.get(unit.name) ?? document.createElement("tbody");
    this.#bodies.set(unit.name, body);
    render([this.#row(unit), this.#under(unit)], body);
    return body;
  }

  /** @param {WatchedUnit} unit */
  #row(unit) {
    const now = this.#watched.value?.time ?? 0;
    return html`<tr id=${`unit-${unit.name}`} data-health=${unit.health} data-unit=${unit.name}>
      ${cells({
        name: unit.name,
        href: hrefTo(unit, ""),
        isElsewhere: true,
        notes: notes(unit, now),
        health: unit.health,
        healthText: healthWord(unit),
        findings: findings(unit, now),
        levers: unit.levers,
        happened: unit.happened,
        tags: unit.tags.map((tag) => html`<span class="tag">${tag}</span>`),
        version: unit.hardware ? `${unit.hardware} / ${unit.software}` : "",
      })}
      <td class="d">
        <div class="doings">
          ${this.#button(unit, "look", t("look"), api.lookAtUnit)}
          ${this.#button(unit, "pull", t("pull"), api.pullUnit)}
          ${unit.has_file
            ? html`${this.#button(unit, "compare", t("compare"), async (name) => {
                const differences = await api.compareUnit(name);
                await wordsFor(differences.map(pathOf));
                this.#below.set(name, { differences });
              })}
              ${this.#button(unit, "plan", t("plan"), async (name) => {
                const plan = await api.planUnit(name);
                await wordsFor(pathsOf(plan));
                this.#below.set(name, { plan });
              })}`
            : nothing}
        </div>
      </td>
    </tr>`;
  }

  /**
   * @param {WatchedUnit} unit
   * @param {string} what
   * @param {string} label
   * @param {(name: string) => Promise<unknown>} send
   */
  #button(unit, what, label, send) {
    const doing = this.#doing.get(unit.name);
    const isBusy = doing !== undefined || isChanging(unit);
    return html`<button
      type="button"
      data-do=${what}
      ?disabled=${isBusy}
      @click=${() => this.#do(what, unit.name, send)}
    >
      ${doing === what ? t("under_way") : label}
    </button>`;
  }

  /** @param {WatchedUnit} unit */
  #under(unit) {
    const below = this.#below.get(unit.name);
    if (!below && !unit.progress) return nothing;
    return html`<tr class="under" data-under=${unit.name}>
      <td colspan="8">
        ${unit.progress ? howFar(unit.progress) : nothing}
        ${below?.differences ? sideBySide(contextOf(unit.names), below.differences) : nothing}
        ${below?.plan ? this.#plan(unit, below.plan) : nothing}
      </td>
    </tr>`;
  }

  /** @param {WatchedUnit} unit @param {UnitPlan} plan */
  #plan(unit, plan) {
    const apply = async (/** @type {string} */ name) => {
      await api.applyPlan(name, plan.key);
      this.#below.delete(name);
    };
    const steps = plan.steps.length;
    return html`${planView(contextOf(unit.names), plan)}
    ${steps === 0
      ? nothing
      : this.#watched.value?.may_apply
        ? this.#button(unit, "apply", t("apply", { steps }), apply)
        : html`<p class="note">${t("apply_needs_password")}</p>`}`;
  }
}

// Of a unit without contact: why.
/** @param {WatchedUnit} unit */
function healthWord({ health, troubles }) {
  const [worst] = Object.keys(troubles);
  return t(`health_${health === "lost" ? worst.replace("-", "_") : health}`);
}

// A place in the pages of a unit: nothing but HTTP is followed.
/** @param {WatchedUnit} unit @param {string} place */
const hrefTo = ({ address }, place) =>
  /^https?:\/\//.test(address) ? `${address}/${place}` : "";

// The unit learns nothing of this page.
/** @param {WatchedUnit} unit @param {string} place @param {Template} text */
function linkTo(unit, place, text) {
  const href = hrefTo(unit, place);
  if (!href) return html`<span>${text}</span>`;
  return html`<a href=${href} target="_blank" rel="noopener noreferrer">${text}</a>`;
}

// Where the unit is, when it was heard, and whether it is as its file says.
/** @param {WatchedUnit} unit @param {number} now */
function notes(unit, now) {
  const seen = unit.seen === null ? t("never") : moment(unit.seen, now);
  const place = [unit.told_name, unit.address, unit.mac].filter(Boolean).join(" · ");
  const file = fileNote(unit);
  return html`<small>${place}</small><small>${t("heard", { time: seen })}</small>${file
      ? html`<small>${file}</small>`
      : nothing}`;
}

/** @param {WatchedUnit} unit */
function fileNote({ differences: found, has_file: hasFile }) {
  if (!hasFile) return "";
  if (found === null) return t("drift_unknown");
  return found.length === 0 ? t("drift_none") : "";
}

/** @param {WatchedUnit} unit */
const isChanging = ({ progress }) => progress !== null && !progress.is_over;

/** @param {NonNullable<WatchedUnit["progress"]>} progress */
function howFar({ done, steps, is_over: isOver, trouble }) {
  if (trouble) return html`<p class="problem" role="alert">${serverText(trouble)}</p>`;
  const text = isOver ? t("applied", { steps }) : t("applying", { done, steps });
  return html`<p role="status">${text} <progress max=${steps} value=${done}></progress></p>`;
}

/** @param {{ path: string }} setting */
const pathOf = ({ path }) => path;

// Worst first, the unit's own ones with a way to the page that repairs them.
/** @param {WatchedUnit} unit @param {number} now */
function findings(unit, now) {
  const texts = Object.entries(unit.troubles).map(([kind, sentence]) =>
    findingText(unit, kind, sentence),
  );
  if (unit.restarts && unit.restarted !== null) {
    const time = shortMoment(unit.restarted, now);
    texts.push(t("restarted", { restarts: unit.restarts, time }));
  }
  if (texts.length === 0) return html`<span class="quiet">${t("none")}</span>`;
  const hidden = texts.slice(SHOWN_FINDINGS);
  return html`${itemList(texts.slice(0, SHOWN_FINDINGS))}
  ${hidden.length
    ? html`<details>
        <summary>${t("more_findings", { count: hidden.length })}</summary>
        ${itemList(hidden)}
      </details>`
    : nothing}
  ${drift(unit)}`;
}

/** @param {Template[]} items */
const itemList = (items) =>
  html`<ul>
    ${items.map((item) => html`<li>${item}</li>`)}
  </ul>`;

/** @param {WatchedUnit} unit @param {string} kind @param {string} sentence */
function findingText(unit, kind, sentence) {
  // What differs is listed below.
  if (kind === "drift" && unit.differences) {
    return t("drift_found", { count: unit.differences.length });
  }
  const own = ownFinding(unit, kind);
  if (!own) return serverText(sentence);
  const text = findingSaid(contextOf(unit.names), own);
  return own.page ? linkTo(unit, `#/${own.page}`, text) : text;
}

/** @param {WatchedUnit} unit */
function drift({ differences: found, names }) {
  if (!found?.length) return nothing;
  const hidden = found.length - SHOWN_DRIFT;
  const context = contextOf(names);
  return html`<details>
    <summary>${t("drift_count", { count: found.length })}</summary>
    <ul>
      ${found.slice(0, SHOWN_DRIFT).map((one) => html`<li>${driftLine(context, one)}</li>`)}
    </ul>
    ${hidden > 0 ? html`<p class="note">${t("drift_more", { hidden })}</p>` : nothing}
  </details>`;
}

new UnitsPage().start();
