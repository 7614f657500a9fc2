// Is everything as it should be? The findings, worst first, and how much is on, met and to come.

import { html, nothing } from "../../vendor/lit-html.js";
import { shortMoment } from "../../lib/format/moments.js";
import { t } from "../../lib/format/words.js";
import { connectionWord } from "../../lib/frame/frame.js";
import { findingList, findingsOf } from "../../lib/things/findings.js";
import { INPUTS, OUTPUTS, PWMS, READINGS, stateWord } from "../../lib/things/labels.js";
import { mover } from "../../lib/things/lever_state.js";
import { icon } from "../../lib/things/signs.js";
import { plateOf, thingAddress, thingName } from "../../lib/things/things.js";
import { isLeftOut } from "../../lib/things/unused.js";

/** @import { IconName } from "../../lib/things/signs.js" */

// A glance is short: the rest stands behind "more".
const MAX_FINDINGS = 3;

/** @param {Context} context */
export const glance = (context) =>
  html`<section class="card glance" data-kind=${worst(context)} aria-label=${t("glance")}>
    ${truth(context)} ${facts(context)}
  </section>`;

/** @param {Context} context */
function worst(context) {
  const { connection } = context.live;
  const findings = findingsOf(context);
  if (connection === "lost" || findings.some((one) => one.severity === "fault")) return "fault";
  if (findings.length > 0) return "attention";
  return connection === "live" ? "fine" : "unknown";
}

// Only who hears of every change may say that all is well.
/** @param {Context} context */
function truth(context) {
  const { connection } = context.live;
  if (connection === "lost") return line("close", "unknown", t("state_unknown"));
  const findings = findingsOf(context);
  if (findings.length > 0) return list(context, findings);
  return connection === "live"
    ? line("check", "fine", t("all_fine"), watchedText(context))
    : line("more", "waiting", connectionWord(context.live), watchedText(context), t("all_fine"));
}

// What is probably said next keeps its room, so that nothing below moves when it is.
/**
 * @param {IconName} name @param {string} kind @param {string} say @param {string} [small]
 * @param {string} [next]
 */
const line = (name, kind, say, small = "", next = "") =>
  html`<div class=${`finding ${kind}`}>
    ${icon(name)}
    <p class="say">
      <span>${say}</span>${next ? html`<span aria-hidden="true">${next}</span>` : nothing}
    </p>
    ${small ? html`<small>${small}</small>` : nothing}
  </div>`;

/** @param {Context} context @param {Api.FindingReport[]} findings */
function list(context, findings) {
  const rest = findings.slice(MAX_FINDINGS);
  return html`<div>
    ${findingList(context, findings.slice(0, MAX_FINDINGS), { hasLinks: true })}
    ${rest.length === 0
      ? nothing
      : html`<details class="rest">
          <summary>${t("findings_more", { count: rest.length })}</summary>
          ${findingList(context, rest, { hasLinks: true })}
        </details>`}
  </div>`;
}

// The readings that stand below it as tiles.
/** @param {Context} context */
function watchedText({ live, overview }) {
  const rules = activeRules(live.state).length;
  const sensors = [...READINGS, ...INPUTS].filter(
    (label) => overview.isVisible(label) && live.state[label] != null,
  ).length;
  return t("watched", { rules, sensors });
}

/** @param {State} state */
const activeRules = ({ rules = [] }) =>
  rules.filter(({ obstacle }) => obstacle?.kind !== "disabled");

/** @param {Context} context */
function facts(context) {
  const { overview, live } = context;
  if (live.connection === "lost") return nothing;
  const outputs = [...OUTPUTS, ...PWMS].filter(
    (label) =>
      overview.isVisible(label) && overview.isPresent(label) && !isLeftOut(context, label),
  );
  const on = outputs.filter((label) => overview.isOn(label)).length;
  const rules = activeRules(live.state);
  const met = rules.filter((rule) => rule.met).length;
  const next = nextChange(context);
  const rows = [
    ["part_outputs", t("glance_on", { on, all: outputs.length })],
    ...(rules.length > 0 && overview.isVisible("rules")
      ? [["group_rules", t("glance_met", { met, all: rules.length })]]
      : []),
    ...(next ? [["glance_next", next]] : []),
  ];
  return html`<dl class="figures">
    ${rows.map(([key, value]) => html`<div><dt>${t(key)}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

// What will be switched next, as far as it is known by now.
/** @param {Context} context */
function nextChange(context) {
  const { live, settings } = context;
  const { time, schedule = [], returns_in: returns = {} } = live.state;
  const planned = schedule.flatMap(({ index, next_run: run }) => {
    const entry = settings?.schedule[index];
    if (run == null || !entry || ![...OUTPUTS, ...PWMS].includes(entry.action)) return [];
    return [{ at: run, label: entry.action, on: entry.value === 1 }];
  });
  const ending = Object.entries(returns).map(([label, seconds]) => ({
    at: time + live.remaining(Number(seconds)),
    label,
    on: false,
  }));
  const [next] = [...planned, ...ending].sort((one, other) => one.at - other.at);
  if (!next) return "";
  const state = stateWord(next.on !== context.overview.isInverted(next.label));
  return `${thingName(context, next.label)} ${state}, ${shortMoment(next.at, time)}`;
}

// A lever of the frame with what stands around it: the number of its terminal, "on for", its name,
// who moved it and why.

/**
 * @param {Context} context
 * @param {string} label
 * @param {{ lever: Template, pulse: Template, duty: Template, soon: string[] }} parts
 */
export const post = (context, label, { lever, pulse, duty, soon }) =>
  html`<li class="post" data-label=${label}>
    <div class="row"><span class="plate" aria-hidden="true">${plateOf(label)}</span>${pulse}</div>
    ${lever}
    <div class="who">
      <a class="name" href=${thingAddress(label)}>${thingName(context, label)}</a>
      ${duty}
      <span class="why" id=${`who-${label}`}
        >${moverView(context, label)}
        ${soon.map((text) => html`<span class="soon">${text}</span>`)}</span
      >
    </div>
  </li>`;

/** @param {Context} context @param {string} label */
function moverView(context, label) {
  const actor = mover(context, label);
  if (actor === null) return nothing;
  return html`<span class=${`cause ${actor.cause.look}`}
      >${icon(actor.cause.icon, "s")} ${actor.name}</span
    >
    <span>${actor.why}</span>`;
}
