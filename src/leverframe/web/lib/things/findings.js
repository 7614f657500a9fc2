// What is not as it should be: the controller's list of findings, in words, with the way to repair.

import { html, nothing } from "../../vendor/lit-html.js";
import { shortMoment } from "../format/moments.js";
import { findingSentence, t } from "../format/words.js";
import { address, here, routeOf } from "../frame/router.js";
import * as api from "../live/api.js";
import { indexOf, PWMS, VARIABLES } from "./labels.js";
import { icon } from "./signs.js";
import { kindOf, thingName } from "./things.js";

/** @param {Context} context */
export const findingsOf = (context) => context.live.state.findings ?? [];

// A finding stands on the page that repairs it, too.
/** @param {Context} context @param {PageEntry | null} page */
export function findingsHere(context, page) {
  if (!page || page.name === "status" || context.live.connection === "lost") return nothing;
  const own = findingsOf(context).filter((finding) => pageOf(finding) === page.name);
  // Things are repaired in their drawers.
  const hasLinks = page.name === "things";
  return own.length === 0 ? nothing : findingList(context, own, { hasLinks });
}

/**
 * @param {Context} context
 * @param {Api.FindingReport[]} findings
 * @param {{ hasLinks: boolean }} choice
 */
export function findingList(context, findings, { hasLinks }) {
  return html`<ul class="findings" role="list">
    ${findings.map(
      (finding) =>
        html`<li class="finding" data-kind=${finding.severity} data-id=${finding.id}>
          ${icon("attention")}
          <p class="say">${findingSaid(context, finding)}</p>
          <small>${since(context, finding)}</small>
          ${context.overview.isReadOnly ? nothing : repair(context, finding, hasLinks)}
        </li>`,
    )}
  </ul>`;
}

/** @param {Context} context @param {Api.FindingReport} finding */
const since = ({ live }, finding) =>
  t("finding_since", { time: shortMoment(finding.since, live.state.time) });

// One press repairs, where that is all that is missing; else it leads to the field.
/** @typedef {(label: string, context: Context) => Promise<unknown>} Act */
/** @typedef {{ text: string, act: Act }} Repair */
/** @type {Act} */
const reverse = (label, { live }) => switchLabel(label, live.state[label] !== 1);
/** @type {Record<string, Repair>} */
const REPAIRS = {
  rule_held: { text: "repair_give_back", act: reverse },
  rule_overruled: { text: "repair_give_back", act: reverse },
  schedule_overruled: { text: "repair_switch_on", act: reverse },
  pid_output_off: { text: "repair_switch_on", act: (label) => switchLabel(label, true) },
};

/** @param {string} label @param {boolean} on */
const switchLabel = (label, on) =>
  (VARIABLES.includes(label)
    ? api.switchVariable
    : PWMS.includes(label)
      ? api.switchPwm
      : api.switchOutput)(indexOf(label), on);

/** @param {Context} context @param {Api.FindingReport} finding @param {boolean} hasLinks */
function repair(context, { kind, label, page }, hasLinks) {
  const own = REPAIRS[kind];
  if (own && label) {
    return html`<button
      type="button"
      class="primary fix"
      @click=${() => own.act(label, context).catch(() => {})}
    >
      ${t(own.text)}
    </button>`;
  }
  const { thing } = routeOf(page);
  // Its drawer is open already.
  const isHere = thing !== null && thing === here().thing;
  if (!hasLinks || !context.isAdmin || isHere) return nothing;
  return html`<a class="button primary fix" href=${`${address("")}${page}`}
    >${t("repair_open", { page: placeName(context, page) })}</a
  >`;
}

// A thing by its name, a group of settings or a page by its title.
/** @param {Context} context @param {string} page */
function placeName(context, page) {
  const { name, params, thing } = routeOf(page);
  if (thing && kindOf(thing).kind !== "all") return thingName(context, thing);
  return t(`page_${params.get("open") ?? name}`);
}

// The number beside "Status", in the colour of the worst finding; nothing while unknown.
/** @param {Context} context */
export function findingCount(context) {
  const findings = context.live.connection === "lost" ? [] : findingsOf(context);
  if (findings.length === 0) return nothing;
  const label = t("findings_open", { count: findings.length });
  return html`<span
    class="finding-count"
    data-kind=${worstOf(findings)}
    role="img"
    aria-label=${label}
    >▲ ${findings.length}</span
  >`;
}

/** @param {Api.FindingReport[]} findings */
const worstOf = (findings) =>
  findings.some(({ severity }) => severity === "fault") ? "fault" : "attention";

/** @param {Api.FindingReport} finding */
const pageOf = ({ page }) => page.split("?")[0];

/** @typedef {Pick<Api.FindingReport, "kind" | "label" | "figures" | "text">} Found */

// What a finding says, in the reader's language, with names that stand out: they are marked in the
// sentence before it is cut at them.
const CUT = "\u0000";

/** @param {Context} context @param {Found} finding */
export const findingSaid = (context, finding) =>
  composeText(context, finding, (name) => `${CUT}${name}${CUT}`)
    .split(CUT)
    .map((part, index) => (index % 2 === 0 ? part : html`<b>${part}</b>`));

/** @param {Context} context @param {Found} finding @param {(name: string) => string} mark */
function composeText(context, { kind, label, figures, text }, mark) {
  const rules = ["rule", "other"].flatMap((key) =>
    key in figures ? [[key, mark(String(figures[key]))]] : [],
  );
  const name = label ? mark(thingName(context, label)) : "";
  // A thing can be a part in trouble, too.
  const part = String(figures.part);
  const thing = kindOf(part).kind ? { part: thingName(context, part) } : {};
  const things = "labels" in figures ? { labels: namesOf(context, String(figures.labels)) } : {};
  const values = { ...figures, name, ...thing, ...things, ...Object.fromEntries(rules) };
  return findingSentence(kind, values) ?? text;
}

/** @param {Context} context @param {string} labels */
const namesOf = (context, labels) =>
  labels
    .split(", ")
    .map((label) => (kindOf(label).kind ? thingName(context, label) : label))
    .join(", ");

// The icon of the tab shows the state by its shape: plain, triangle, crossed square, dashed ring.

const GREY = "#98a49d";
const PLATE = '<rect width="32" height="32" rx="5" fill="#1d2521"/>';
const SHAPES = {
  fine: { lever: "#5fcf8b", shape: "" },
  attention: {
    lever: "#efb64c",
    shape: '<path d="M24 17l8.5 15h-17z" fill="#efb64c" stroke="#1d2521" stroke-width="1.5"/>',
  },
  fault: {
    lever: "#ff8d82",
    shape:
      '<rect x="17.5" y="17.5" width="15" height="15" rx="1" fill="#ff6b5e" stroke="#1d2521"/>' +
      '<path d="M21.5 21.5l7 7M28.5 21.5l-7 7" stroke="#1d2521" stroke-width="2.4"/>',
  },
  lost: {
    lever: GREY,
    shape:
      `<circle cx="25" cy="25" r="6" fill="#1d2521" stroke="${GREY}" stroke-width="2" ` +
      'stroke-dasharray="3 2.3"/>',
  },
};

// Null while unknown.
/** @param {Context} context @returns {keyof typeof SHAPES | null} */
function stateOf(context) {
  const { connection, isHeard } = context.live;
  if (!isHeard) return connection === "lost" ? "lost" : null;
  const findings = findingsOf(context);
  return findings.length > 0 ? worstOf(findings) : "fine";
}

let shown = "";

/** @param {Context} context */
export function showFavicon(context) {
  const state = stateOf(context);
  if (state === null || state === shown) return;
  shown = state;
  const { lever, shape } = SHAPES[state];
  const others = state === "lost" ? GREY : "#f6f8f7";
  const picture =
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${PLATE}` +
    `<g fill="none" stroke="${others}" stroke-width="3" stroke-linecap="round">` +
    `<path d="M4 25h24M9 25L6 8M16 25L13 8"/><path stroke="${lever}" d="M21 25l5-17"/></g>` +
    `${shape}</svg>`;
  const link = /** @type {HTMLLinkElement} */ (document.querySelector("link[rel=icon]"));
  link.href = `data:image/svg+xml,${encodeURIComponent(picture)}`;
  link.dataset.state = state;
}
