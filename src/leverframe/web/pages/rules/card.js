// One rule to be read: its sentence, its state, what is wrong with it, and its last firings.

import { html, nothing } from "../../vendor/lit-html.js";
import { Action } from "../../lib/action.js";
import * as api from "../../lib/api.js";
import { t } from "../../lib/words.js";
import { adviceList, reason } from "./advice.js";
import { sentence } from "./sentence.js";
import { strip } from "./strip.js";

/**
 * @typedef {object} Tell
 * @property {(index: number) => void} edit
 * @property {(index: number) => Promise<void>} deleted
 * @property {() => void} changed
 */

const SHOWN_FIRINGS = 6;

export class RuleCard {
  index;
  #context;
  #tell;
  #remove;
  /** @type {string | null} */
  #refusal = null;

  // `tell`: `edit(index)`, `deleted(index)` and `changed()` are called.
  /** @param {AdminContext} context @param {number} index @param {Tell} tell */
  constructor(context, index, tell) {
    this.index = index;
    this.#context = context;
    this.#tell = tell;
    this.#remove = new Action(context, {
      label: "delete_rule",
      danger: "delete_danger",
      perform: () => this.#delete(),
    });
  }

  // `explanation` is the newest that is known of the rule's state.
  /**
   * @param {Api.RuleReport} report
   * @param {Api.RuleExplanation} explanation
   * @param {Record<string, string>} titles
   */
  view(report, explanation, titles) {
    const { number, settings: rule } = report;
    const kind = stateOf(rule, explanation);
    return html`<article class="card rule" data-kind=${kind} aria-labelledby="rule-${number}">
      <header>
        <h2 id="rule-${number}">
          ${t("rule_number", { number })} <small>${titles[number]}</small>
        </h2>
        <span class="state">${t(`now_${kind}`)}</span>
        ${this.#enabling(rule, number)}
      </header>
      ${sentence(report, explanation, this.#context.settings, titles)}
      ${this.#reason(report, explanation)} ${adviceList(report, this.#context.settings)}
      ${strip(report.firings, this.#context.live.state.time, SHOWN_FIRINGS)}
      ${this.#refusal ? html`<p class="refusal" role="alert">${this.#refusal}</p>` : nothing}
      <footer>
        <button type="button" @click=${() => this.#tell.edit(this.index)}>${t("edit")}</button>
        ${this.#remove.view()} ${this.#request(report)}
      </footer>
    </article>`;
  }

  /** @param {Rule} rule @param {number} number */
  #enabling(rule, number) {
    return html`<label class="toggle">
      <input
        type="checkbox"
        role="switch"
        aria-label=${t("enable_rule", { number })}
        .checked=${rule.enabled}
        @change=${(event) => this.#enable(event.target)}
      />
      <span>${t("enabled")}</span>
    </label>`;
  }

  /** @param {Api.RuleReport} report @param {Api.RuleExplanation} explanation */
  #reason({ explanation: read }, explanation) {
    const said = reason(explanation, read.pending ?? explanation.pending ?? 0);
    return said ? html`<p class="why">${said}</p>` : nothing;
  }

  /** @param {Api.RuleReport} report */
  #request({ command }) {
    if (!command) return nothing;
    const { path } = this.#context.commands.get("event");
    return html`<details class="request">
      <summary>${t("as_request")}</summary>
      <pre tabindex="0">${api.curl({ target: `${path}?${command}` })}</pre>
    </details>`;
  }

  /** @param {HTMLInputElement} box */
  async #enable(box) {
    this.#refusal = await this.#sent("eventon", { A: this.index, B: box.checked });
    // The box shows what is stored until the controller says otherwise.
    if (this.#refusal) box.checked = !box.checked;
    this.#tell.changed();
  }

  /** @param {string} name @param {ByLetter} values */
  async #sent(name, values) {
    try {
      await api.send(this.#context.commands.get(name).request(values).target);
      await this.#context.readSettings();
      return null;
    } catch (error) {
      return error instanceof api.Refused ? error.message : t("not_reached");
    }
  }

  async #delete() {
    const { target } = this.#context.commands.get("eventdel").request({ A: this.index });
    await api.send(target);
    await this.#context.readSettings();
    await this.#tell.deleted(this.index);
  }
}

/** @param {Rule} rule @param {Api.RuleExplanation} explanation */
function stateOf(rule, explanation) {
  if (!rule.enabled) return "disabled";
  if (explanation.pending_action) return "waiting";
  return explanation.met ? "active" : "resting";
}
