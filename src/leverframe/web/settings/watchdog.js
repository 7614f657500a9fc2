// An entry of the watchdog: the host that it pings, the output that it restarts, what it has seen.

import { html, nothing } from "../vendor/lit-html.js";
import { decimal, t } from "../lib/format/words.js";
import { thingChoice } from "../lib/forms/fields.js";
import { Form } from "../lib/forms/form.js";

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

/** @type {CardsOf} */
export function cardsOf(context, { index, more }) {
  const letters = context.commands.find(COMMAND)?.letters ?? [];
  const paths = letters.map((letter, place) => [letter, `watchdog.${place}`]);
  return [
    new Form(context, {
      title: "settings",
      lead: () => pingText(context.live.state.watchdog?.[index]),
      fields: FIELDS.map((field) => ({
        ...field,
        command: COMMAND,
        letter: letters[index],
        ...(field.part === "output" ? { draw: thingChoice(context) } : {}),
      })),
      paths: { [COMMAND]: Object.fromEntries(paths) },
      opened: ["watch", "host", "output"],
      ...more,
    }),
  ];
}

/** @param {Api.WatchdogExplanation | undefined} guard */
function pingText(guard) {
  if (!guard || guard.state === "off") return nothing;
  const { last_answer: answer, failures, restarts } = guard;
  return html`<p class="note" role="status">
    ${answer === null ? nothing : html`${answerText(answer)} · `}
    ${t("seen", { failures, restarts })}
  </p>`;
}

/** @param {Api.WatchdogExplanation["last_answer"]} answer */
const answerText = (answer) =>
  typeof answer === "number"
    ? t("answered", { milliseconds: decimal(answer, 1) })
    : t("no_answer");
