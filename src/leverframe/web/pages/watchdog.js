// Watchdog: six entries that ping a host and restart an output, each with what it has seen.

import { html, nothing } from "../vendor/lit-html.js";
import { Form } from "../lib/form.js";
import { decimal, t } from "../lib/words.js";

// One command sets all entries: a letter for each.
const COMMAND = "wdog1";
const FIELDS = [
  { part: "enabled", label: "watch" },
  { part: "host", label: "host", hint: "host_hint" },
  { part: "output", label: "output" },
  { part: "interval", label: "interval", unit: "s" },
  { part: "timeout", label: "timeout", unit: "s" },
  { part: "failures", label: "failures_allowed" },
  { part: "length", label: "length", unit: "s" },
  { part: "wait", label: "wait", unit: "s" },
  { part: "limit", label: "limit", hint: "limit_hint" },
  { part: "delay", label: "start_delay", unit: "s" },
  { part: "email", label: "email" },
];

export class Page {
  #context;
  /** @type {Form[]} */
  #cards = [];

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#cards = lettersOf(context).map((_, index) => entryCard(context, index));
  }

  async open() {}

  view() {
    const { watchdog = [] } = this.#context.live.state;
    return html`<div class="cards">
      ${this.#cards.map(
        (card, index) => html`<div>${this.#seen(watchdog[index])} ${card.view()}</div>`,
      )}
    </div>`;
  }

  close() {}

  /** @param {Api.WatchdogExplanation} guard */
  #seen(guard) {
    if (!guard) return nothing;
    const { state, last_answer: answer, failures, restarts } = guard;
    return html`<p class="guard" data-state=${state} role="status">
      <strong>${t(`guard_${state.replace(" ", "_")}`)}</strong>
      ${answer === null ? nothing : html`<span>${answerText(answer)}</span>`}
      ${state === "off" ? nothing : html`<span>${t("seen", { failures, restarts })}</span>`}
    </p>`;
  }
}

/** @param {Api.WatchdogExplanation["last_answer"]} answer */
const answerText = (answer) =>
  typeof answer === "number"
    ? t("answered", { milliseconds: decimal(answer, 1) })
    : t("no_answer");

/** @param {AdminContext} context */
const lettersOf = ({ commands }) => commands.find(COMMAND)?.letters ?? [];

/** @param {AdminContext} context @param {number} index @returns {FieldSpec[]} */
export const fieldsOf = (context, index) =>
  FIELDS.map((field) => ({ ...field, command: COMMAND, letter: lettersOf(context)[index] }));

/** @param {AdminContext} context @returns {Paths} */
export const pathsOf = (context) => ({
  [COMMAND]: Object.fromEntries(
    lettersOf(context).map((letter, index) => [letter, `watchdog.${index}`]),
  ),
});

/** @param {AdminContext} context @param {number} index */
function entryCard(context, index) {
  return new Form(context, {
    heading: () => {
      const { host } = context.settings.watchdog[index];
      const title = `${t("page_watchdog")} ${index + 1}`;
      return host ? `${title} · ${host}` : title;
    },
    fields: fieldsOf(context, index),
    paths: pathsOf(context),
  });
}
