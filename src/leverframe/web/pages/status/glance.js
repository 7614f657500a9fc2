// Is everything as it should be? Findings first, then the rules that act or wait.

import { html, nothing } from "../../vendor/lit-html.js";
import { findingList, findingsOf } from "../../lib/findings.js";
import { address } from "../../lib/router.js";
import { decimal, t } from "../../lib/words.js";

// A glance is short: so many rules are told in words.
const MAX_RULES = 6;

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

  view() {
    return html`<section class="card glance" aria-labelledby="glance">
      <h2 id="glance">${t("glance")}</h2>
      ${this.#truth()}
      ${this.#overview.isVisible("rules") ? this.#rules() : nothing}
    </section>`;
  }

  // Only who hears of every change may say that all is well.
  #truth() {
    const { connection } = this.#context.live;
    if (connection === "lost") return html`<p class="unknown">${t("nobody_knows")}</p>`;
    const findings = findingsOf(this.#context);
    if (findings.length > 0) return findingList(this.#context, findings, { hasLinks: true });
    return connection === "live" ? html`<p class="fine">${t("all_fine")}</p>` : nothing;
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
