// Is everything as it should be? Troubles first, then the rules that act or wait.

import { html, nothing } from "../../vendor/lit-html.js";
import { address } from "../../lib/router.js";
import { decimal, t } from "../../lib/words.js";

// A glance is short: so many rules are told in words.
const MAX_RULES = 6;
// States of a watchdog entry in which somebody should look.
const WORRYING = new Set(["restarting", "given up"]);

export class Glance {
  #context;
  #overview;
  // A phone shows the rules when asked: there the levers come first.
  #isWide = matchMedia("(min-width: 721px)").matches;

  /** @param {Context} context @param {Overview} overview */
  constructor(context, overview) {
    this.#context = context;
    this.#overview = overview;
  }

  // What is wrong, as a list of [kind, text]; kinds are "fault" and "attention".
  #troubles() {
    const { state, connection } = this.#context.live;
    const { troubles = {}, absent_since: absent = {}, watchdog = [] } = state;
    return [
      ...(connection === "lost" ? [["fault", t("nobody_knows")]] : []),
      ...Object.entries(troubles).map(([name, text]) => ["fault", `${name}: ${text}`]),
      ...watchdog.flatMap((entry, index) => this.#watched(entry, index + 1)),
      ...Object.entries(absent).map(([label, since]) => ["attention", this.#lost(label, since)]),
      ...this.#missing(absent).map((label) => ["attention", this.#unseen(label)]),
    ];
  }

  // What rules look at and nobody has ever seen.
  /** @param {Record<string, number | null>} absent */
  #missing(absent) {
    const { rules = [] } = this.#context.live.state;
    const labels = rules.flatMap(({ obstacle }) =>
      obstacle?.kind === "absent" && obstacle.label && !(obstacle.label in absent)
        ? [obstacle.label]
        : [],
    );
    return [...new Set(labels)];
  }

  /** @param {string} label */
  #unseen(label) {
    return t("rule_waits_for", { name: this.#overview.name(label) || label });
  }

  /** @param {Api.WatchdogExplanation} guard @param {number} number */
  #watched({ state, failures }, number) {
    if (WORRYING.has(state)) return [["fault", t("watchdog_acts", { number })]];
    return failures > 0 ? [["attention", t("watchdog_fails", { number, failures })]] : [];
  }

  /** @param {string} label @param {number | null} since */
  #lost(label, since) {
    const name = this.#overview.name(label) || label;
    return since
      ? t("lost_since", { name, time: this.#overview.moment(since) })
      : t("lost_now", { name });
  }

  view() {
    const troubles = this.#troubles();
    return html`<section class="card glance" aria-labelledby="glance">
      <h2 id="glance">${t("glance")}</h2>
      ${troubles.length === 0
        ? html`<p class="fine">${t("all_fine")}</p>`
        : html`<ul class="troubles">
            ${troubles.map(([kind, text]) => html`<li data-kind=${kind}>${text}</li>`)}
          </ul>`}
      ${this.#overview.isVisible("rules") ? this.#rules() : nothing}
    </section>`;
  }

  #rules() {
    const { rules = [] } = this.#context.live.state;
    if (rules.length === 0) {
      return this.#context.isAdmin
        ? html`<p class="empty">
            ${t("no_rules")} <a href=${address("rules")}>${t("first_rule")}</a>
          </p>`
        : nothing;
    }
    const busy = rules.filter((rule) => rule.met || rule.pending !== null);
    const active = rules.filter((rule) => rule.met).length;
    return html`<details ?open=${this.#isWide}>
      <summary class="count">${t("rules_active", { active, all: rules.length })}</summary>
      <ul class="acting">
        ${busy.slice(0, MAX_RULES).map((rule) => this.#rule(rule))}
      </ul>
      ${busy.length > MAX_RULES
        ? html`<p class="count">${t("more_rules", { count: busy.length - MAX_RULES })}</p>`
        : nothing}
    </details>`;
  }

  /** @param {Api.RuleExplanation} ruleExplanation */
  #rule({ number, conditions, pending }) {
    const name = t("rule_number", { number });
    const told = conditions.map((condition) => this.#condition(condition)).join(", ");
    const action = this.#context.settings?.rules[number - 1]?.action;
    return html`<li>
      ${this.#context.isAdmin
        ? html`<a href=${address("rules", { edit: number })}>${name}</a>`
        : html`<b>${name}</b>`}
      <span>${told}${action ? ` → ${this.#overview.name(action) || action}` : ""}</span>
      ${pending === null
        ? nothing
        : html`<small>${t("acts_in", { seconds: this.#context.live.left(pending) })}</small>`}
    </li>`;
  }

  /** @param {Api.ConditionExplanation} conditionExplanation */
  #condition({ label, compare, reference }) {
    const name = this.#overview.name(label) || label;
    const sign = compare === ">=" ? "≥" : compare;
    const digits = Number.isInteger(reference) ? 0 : 2;
    return `${name} ${sign} ${decimal(reference, digits)} ${this.#overview.unit(label)}`.trim();
  }
}
