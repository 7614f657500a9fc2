// What stands beside the list of rules: trials of all, templates, the question before one goes.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { exactMoment } from "../../lib/format/moments.js";
import { durationText, roughText } from "../../lib/format/numbers.js";
import { serverText, t } from "../../lib/format/words.js";
import { optionsOf } from "../../lib/forms/controls.js";
import { Task } from "../../lib/forms/task.js";
import * as api from "../../lib/live/api.js";
import { entryView, journalWords, reasonText } from "../../lib/things/journal.js";
import { thingName } from "../../lib/things/things.js";
import { wireOf } from "../schedule/entry.js";
import { Draft } from "./draft.js";
import { dependence } from "./sentence.js";
import { EMPTY_RULE } from "./typed.js";
import { goesWith, windowOfRule } from "./window.js";

// Any change, tried: what would happen only with these commands, and only without them.

const HOURS = [6, 24, 72, 168];
const HOUR_S = 3600;
// More lines than this are counted and not drawn.
const SHOWN = 100;

export class WhatIf {
  #context;
  #commands = signal("");
  #hours = signal(24);
  #task = new Task();
  /** @type {Signal<Api.WhatIf | null>} */
  #outcome = signal(null);

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
  }

  view() {
    return html`<section class="card">
      <h2>${t("what_if_title")}</h2>
      <p class="note">${t("what_if_note")}</p>
      <form class="ask" @submit=${(event) => this.#try(event)}>
        <div class="field">
          <label for="what-if-commands">${t("what_if_commands")}</label>
          <textarea
            id="what-if-commands"
            required
            rows="4"
            spellcheck="false"
            placeholder="/inpa.cgi?eventon=0*0"
            .value=${this.#commands.value}
            @input=${(event) => this.#type(event.target.value)}
          ></textarea>
        </div>
        <div class="field">
          <label for="what-if-hours">${t("what_if_hours")}</label>
          <select
            id="what-if-hours"
            @change=${(event) => (this.#hours.value = Number(event.target.value))}
          >
            ${optionsOf(
              HOURS.map((count) => [count, durationText(count * HOUR_S)]),
              this.#hours.value,
            )}
          </select>
        </div>
        <footer>
          <button class="primary" ?disabled=${this.#task.isBusy}>${t("what_if_try")}</button>
        </footer>
      </form>
      ${this.#outcome.value || this.#task.refusal()
        ? html`<section class="trial" role="status">${this.#resultView()}</section>`
        : nothing}
    </section>`;
  }

  #resultView() {
    const outcome = this.#outcome.value;
    if (outcome === null) return html`<p class="refusal">${this.#task.refusal()}</p>`;
    const { differing, not_listed: further, same } = outcome;
    const count = differing.length + further;
    return html`<p>${t("what_if_result", { count, same })}</p>
      <ul class="log">
        ${differing.slice(0, SHOWN).map(
          (one) =>
            html`<li>
              <time>${exactMoment(one.time)}</time>
              <div><b>${one.only === "with" ? "+" : "−"}</b> ${this.#entry(one)}</div>
            </li>`,
        )}
      </ul>
      ${count > SHOWN
        ? html`<p class="note">${t("what_if_more", { count: count - SHOWN })}</p>`
        : nothing}
      ${this.#outputs(outcome)}`;
  }

  // A message that would be sent is no entry yet.
  /** @param {Api.DifferingEntry} differing */
  #entry({ entry, text, cause }) {
    if (entry) return entryView(this.#context, entry);
    return html`<span>${serverText(text)}</span>
      <small>${reasonText(this.#context, cause)}</small>`;
  }

  /** @param {Api.WhatIf} outcome */
  #outputs({ without, with: after }) {
    return html`<ul class="wired">
      ${Object.entries(without).map(
        ([label, use]) =>
          html`<li>
            ${t("what_if_output", {
              label: thingName(this.#context, label),
              before: use.changes,
              time_before: roughText(use.on_s),
              after: after[label].changes,
              time_after: roughText(after[label].on_s),
            })}
          </li>`,
      )}
    </ul>`;
  }

  /** @param {string} typed */
  #type(typed) {
    this.#commands.value = typed;
    this.#outcome.value = null;
    this.#task.forget();
  }

  /** @param {Event} event */
  async #try(event) {
    event.preventDefault();
    const isDone = await this.#task.run(async () => {
      const answer = api.whatIf(this.#commands.value, this.#hours.value);
      [this.#outcome.value] = await Promise.all([answer, journalWords()]);
    });
    if (!isDone) this.#outcome.value = null;
  }
}

// What a new rule can start from. Of candidates the first is taken that the version has, and of
// sources rather one that has a value.

/**
 * What the version has to choose from.
 * @typedef {object} Offer
 * @property {string[]} sources
 * @property {string[]} actions
 * @property {State} state
 * @property {string | null} [source]
 * @property {(action: string) => string} [slotFor] Where a message has a place of its own.
 */
/**
 * Gives the first of the candidates that the version has.
 * @typedef {(candidates: string[]) => string | undefined} Pick
 */

const TEMPERATURES = ["DS1", "T1", "TEMP"];
const LIGHTS = ["INPA1", "VCC"];
const MESSAGES = ["eMail 1", "eMail", "SMS1", "HTTP1"];

// By the name of its text: what is special about the rule.
/** @type {Record<string, (pick: Record<"source" | "action", Pick>) => Partial<Rule>>} */
export const TEMPLATES = {
  thermostat: (pick) => ({
    source: pick.source(TEMPERATURES),
    compare: "<",
    reference: 21,
    hysteresis: 0.5,
    action: "OUT0",
  }),
  night_light: (pick) => ({
    source: pick.source(LIGHTS),
    compare: "<",
    reference: 500,
    hysteresis: 100,
    action: "OUT1",
    off_delay: 60,
  }),
  door_alarm: (pick) => ({ source: "INPD1", reference: 1, action: pick.action(MESSAGES) }),
  pump_protection: () => ({
    source: "INPD2",
    reference: 0,
    action: "OUT2",
    value: 0,
    off_delay: 60,
    permanent: true,
  }),
};

// A new rule from a template, or an empty one; `source` overrides what the template looks at.
/** @param {string | null} name @param {Offer} offer */
export function ruleFrom(name, { sources, actions, state, source, slotFor = (one) => one }) {
  /** @type {Record<"source" | "action", Pick>} */
  const pick = {
    source: (candidates) =>
      candidates.find((label) => sources.includes(label) && state[label] != null) ??
      candidates.find((label) => sources.includes(label)),
    action: (candidates) => candidates.find((action) => actions.includes(action)),
  };
  const rule = { ...EMPTY_RULE, ...(TEMPLATES[name ?? ""]?.(pick) ?? {}) };
  rule.action = slotFor(rule.action);
  return source && sources.includes(source) ? { ...rule, source } : rule;
}

// The commands that delete a rule with its time window, and those that bring it back.

/** @param {AdminContext} context @param {Settings} settings @param {number} index */
export function deletion({ commands }, settings, index) {
  const saved = settings.rules[index];
  const window = new Draft(commands, index, saved, undefined, settings).removalOfWindow();
  return [commands.get("eventdel").query({ A: index }), ...window];
}

// To be made before the deletion, from what is stored.
/** @param {AdminContext} context @param {Api.RuleReport[]} reports @param {number} index */
export function restoration({ commands, settings }, reports, index) {
  const [rule, last] = [settings.rules[index], settings.rules.length - 1];
  const command = reports.find(({ number }) => number === index + 1)?.command;
  if (!rule) return [];
  const items = [(command ?? "").replace(/^event=\d+/, `event=${last}`)];
  /** @param {string} name @param {ByLetter} values */
  const add = (name, values) => items.push(commands.get(name).query(values));
  if (rule.name) add("rulename", { A: last, B: rule.name });
  if (rule.permanent) add("eventper", { A: last, B: true });
  if (index !== last) add("rulemove", { A: last, B: index });
  // What depended on it has forgotten that.
  items.push(
    ...reports
      .filter(({ settings: other }) => dependence(other)[0] === index + 1)
      .map((report) => report.command ?? ""),
  );
  const window = windowOfRule(settings, rule);
  if (window && goesWith(settings, window, index)) {
    for (const { place, entry } of [window.begins, window.ends]) {
      add("schedset", wireOf(place, entry));
    }
  }
  if (rule.enabled) add("eventon", { A: index, B: true });
  return items.filter(Boolean);
}
