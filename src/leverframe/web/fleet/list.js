// The list of controllers: health, name, worst finding, levers, the last hour, tags, version.

import { html, nothing, svg } from "../vendor/lit-html.js";
import { shortMoment } from "../lib/format/moments.js";
import { findingSentence, t } from "../lib/format/words.js";
import { healthSign } from "../lib/frame/several.js";
import { addressWith } from "./view.js";

const HEALTHS = /** @type {const} */ (["fine", "attention", "fault", "off", "unknown"]);
const STEP = 11;
const BAR = 2;
const HIGH = 16;

// The sums over all controllers; each leads to those that it counts.
/** @param {FleetView} view @param {FleetWanted} wanted */
export function sums({ node, counts }, { health: wanted }) {
  /** @param {string} name @param {string} text */
  const link = (name, text) =>
    html`<a
      href=${addressWith({ health: name, page: 1 })}
      aria-current=${name === wanted ? "true" : nothing}
      >${text}</a
    >`;
  return html`<p class="sums">
    ${link("", t("all", { count: node.controllers }))}
    ${HEALTHS.filter((name) => counts[name] || name === wanted).map((name) =>
      link(name, t(`sum_${name}`, { count: counts[name] ?? 0 })),
    )}
  </p>`;
}

/**
 * @param {FleetView} view
 * @param {number} shown how many of the rows are drawn by now
 * @param {(name: string) => boolean} isChosen
 * @param {(names: string[], on: boolean) => void} choose
 * @param {number} time
 */
export function list({ node, rows }, shown, isChosen, choose, time) {
  const names = rows.map(({ name }) => name);
  const count = names.filter(isChosen).length;
  return html`<table class="fleet">
    <thead>
      <tr>
        <th class="c">
          <input
            type="checkbox"
            aria-label=${t("choose_page")}
            .checked=${count > 0 && count === names.length}
            .indeterminate=${count > 0 && count < names.length}
            @change=${(event) => choose(names, event.target.checked)}
          />
        </th>
        <th>${t("health")}</th>
        <th>${t("name")}</th>
        <th>${t("findings")}</th>
        <th>${t("levers")}</th>
        <th class="p">${t("last_hour")}</th>
        <th class="t">${t("tags")}</th>
        <th class="v">${t("version")}</th>
      </tr>
    </thead>
    <tbody>
      ${rows
        .slice(0, shown)
        .map((row) => tableRow(row, node.tenant === null, isChosen(row.name), choose, time))}
    </tbody>
  </table>`;
}

/**
 * @param {FleetRow} row
 * @param {boolean} ofAll whether those of several tenants are shown
 * @param {boolean} picked
 * @param {(names: string[], on: boolean) => void} choose
 * @param {number} time
 */
const tableRow = (row, ofAll, picked, choose, time) =>
  html`<tr data-name=${row.name} data-health=${row.health} class=${picked ? "picked" : ""}>
    <td class="c">
      <label
        ><input
          type="checkbox"
          aria-label=${row.name}
          .checked=${picked}
          @change=${(event) => choose([row.name], event.target.checked)}
      /></label>
    </td>
    <td class="h">${health(row)}</td>
    <td class="n">
      <a class="name" href=${row.url}>${row.name}</a>
      ${placeOf(row) ? html`<small>${placeOf(row)}</small>` : nothing}
      ${row.node && row.health !== "unknown"
        ? html`<small class="at">${t("at_node", { name: row.node })}</small>`
        : nothing}
      ${ofAll && row.tenant
        ? html`<small class="tenant"
            ><a href=${addressWith({ owner: row.tenant, page: 1 })}
              >${t("of_tenant", { name: row.tenant })}</a
            ></small
          >`
        : nothing}
    </td>
    <td class="f">${finding(row, time)}</td>
    <td class="l">${row.levers.length ? levers(row.levers) : nothing}</td>
    <td class="p">${row.happened.length ? lastHour(row.happened) : nothing}</td>
    <td class="t">
      ${row.tags.map(
        (tag) => html`<a class="tag" href=${addressWith({ tag, page: 1 })}>${tag}</a>`,
      )}
    </td>
    <td class="v">${row.hw ? `${row.hw} / ${row.sw}` : "–"}</td>
  </tr>`;

/** @param {FleetRow} row */
const placeOf = ({ address, port }) =>
  [address, port === null ? "" : `:${port}`].filter(Boolean).join(" ");

/** @param {FleetRow} row */
function health({ health: kind, findings }) {
  return html`${healthSign(kind)}<span>${t(`health_${kind}`, { count: findings })}</span>`;
}

/** @param {FleetRow} row @param {number} time */
function finding({ worst, about, findings, url, health: kind, node }, time) {
  if (kind === "unknown") {
    return html`<span>${node ? t("unknown_at", { name: node }) : t("unknown_free")}</span>`;
  }
  if (!worst) return html`<span class="quiet">${t("none")}</span>`;
  const name = about || worst.label || "";
  const sentence = findingSentence(worst.kind, { name, ...worst.figures }) ?? worst.text;
  const since = t("since", { time: shortMoment(worst.since, time) });
  const more = findings > 1 ? t("more", { count: findings - 1 }) : "";
  return html`<a href=${`${url}#/${worst.page}`}>${sentence}</a>
    <small>${[since, more].filter(Boolean).join(", ")}</small>`;
}

/** @param {boolean} on */
const lean = (on) => (on ? 3.5 : -3.5);

// The frame of levers in small: on leans right and is thick, off leans left and is thin.
/** @param {(number | null)[]} states */
export function levers(states) {
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
export function lastHour(bars) {
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
