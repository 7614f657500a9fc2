// A controller as a row, the same for those of a node and for the units of a watch: health, name,
// findings, levers, the last hour, tags and version. Findings that several of them have are one
// line above the list.
//
//   html`<table class="controllers"><thead><tr>${headings()}</tr></thead>
//     <tr>${cells({ name, href, … })}</tr></table>`

import { html, nothing, svg } from "../../vendor/lit-html.js";
import { speaking, t } from "../format/words.js";
import { healthSign } from "../frame/several.js";

/**
 * @typedef {object} ControllerLine
 * @property {string} name
 * @property {string} href "" where it leads nowhere
 * @property {boolean} [isElsewhere] whether the address is another site, which learns nothing
 * @property {Template} notes what stands below the name
 * @property {FleetHealth | WatchedUnit["health"]} health
 * @property {string} healthText
 * @property {Template} findings
 * @property {(number | null)[]} levers
 * @property {number[]} happened
 * @property {Template[]} tags
 * @property {string} version
 */
/** @typedef {{ count: string, text: Template, href: string, isChosen?: boolean }} SharedFinding */

const STEP = 11;
const BAR = 2;
const HIGH = 16;
// Shared findings that are shown at first.
const FIRST = 3;

export const headings = () =>
  speaking(
    "controllers",
    () => html`<th>${t("health")}</th>
      <th>${t("name")}</th>
      <th>${t("findings")}</th>
      <th>${t("levers")}</th>
      <th class="p">${t("last_hour")}</th>
      <th class="t">${t("tags")}</th>
      <th class="v">${t("version")}</th>`,
  );

/** @param {ControllerLine} line */
export const cells = (line) =>
  speaking(
    "controllers",
    () => html`<td class="h">${healthSign(line.health)}<span>${line.healthText}</span></td>
      <td class="n">${nameView(line)}${line.notes}</td>
      <td class="f">${line.findings}</td>
      <td class="l">${line.levers.length ? levers(line.levers) : nothing}</td>
      <td class="p">${line.happened.length ? lastHour(line.happened) : nothing}</td>
      <td class="t">${line.tags}</td>
      <td class="v">${line.version || "–"}</td>`,
  );

/** @param {ControllerLine} line */
function nameView({ name, href, isElsewhere = false }) {
  if (!href) return html`<span class="name">${name}</span>`;
  return html`<a
    class="name"
    href=${href}
    target=${isElsewhere ? "_blank" : nothing}
    rel=${isElsewhere ? "noopener noreferrer" : nothing}
    >${name}</a
  >`;
}

/** @param {boolean} on */
const lean = (on) => (on ? 3.5 : -3.5);

// The frame of levers in small: on leans right and is thick, off leans left and is thin.
/** @param {(number | null)[]} states */
function levers(states) {
  const width = states.length * STEP + 4;
  /** @param {boolean} on */
  const path = (on) =>
    states
      .map((state, at) => (Boolean(state) === on ? `M${7 + at * STEP} 19l${lean(on)} -15` : ""))
      .join("");
  const label = t("levers_on", { on: states.filter(Boolean).length, all: states.length });
  return html`<svg class="mini" width=${width} height="20" role="img" aria-label=${label}>
    ${svg`<path d=${`M0 19h${width}`} /><path class="no" d=${path(false)} />
      <path class="yes" d=${path(true)} />`}
  </svg>`;
}

/** @param {number[]} bars */
function lastHour(bars) {
  const sum = bars.reduce((total, bar) => total + bar, 0);
  const top = Math.max(1, ...bars);
  const path = bars
    .map((bar, at) => (bar ? `M${at * BAR + 1} 19v${-Math.ceil((bar / top) * HIGH)}` : ""))
    .join("");
  const width = bars.length * BAR;
  return html`<svg
    class="hour"
    width=${width}
    height="20"
    role="img"
    aria-label=${t("happened", { count: sum })}
  >
    ${svg`<path class="ground" d=${`M0 19.5h${width}`} /><path d=${path} />`}
  </svg>`;
}

/** @param {SharedFinding[]} shared worst first */
export function sharedFindings(shared) {
  if (shared.length === 0) return nothing;
  return speaking("controllers", () => {
    const more = shared.slice(FIRST);
    return html`<section class="card shared" aria-label=${t("shared_findings")}>
      ${sharedList(shared.slice(0, FIRST))}
      ${more.length
        ? html`<details>
            <summary>${t("more_shared", { count: more.length })}</summary>
            ${sharedList(more)}
          </details>`
        : nothing}
    </section>`;
  });
}

/** @param {SharedFinding[]} shared */
const sharedList = (shared) =>
  html`<ul role="list">
    ${shared.map(
      ({ count, text, href, isChosen }) =>
        html`<li>
          <b>${count}:</b>
          <a href=${href} aria-current=${isChosen ? "true" : nothing}>${text}</a>
        </li>`,
    )}
  </ul>`;
