// The list of controllers: health, name, worst finding, levers, the last hour, tags, version.

import { html, nothing } from "../vendor/lit-html.js";
import { shortMoment } from "../lib/format/moments.js";
import { contextOf } from "../lib/format/setting_words.js";
import { t } from "../lib/format/words.js";
import { cells, headings, sharedFindings } from "../lib/things/controllers.js";
import { findingSaid } from "../lib/things/findings.js";
import { addressWith } from "./view.js";

const HEALTHS = /** @type {const} */ (["fine", "attention", "fault", "off", "unknown"]);

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
  return html`<table class="controllers">
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
        ${headings()}
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
    ${cells({
      name: row.name,
      href: row.url,
      notes: notes(row, ofAll),
      health: row.health,
      healthText: t(`health_${row.health}`, { count: row.findings }),
      findings: finding(row, time),
      levers: row.levers,
      happened: row.happened,
      tags: row.tags.map(
        (tag) => html`<a class="tag" href=${addressWith({ tag, page: 1 })}>${tag}</a>`,
      ),
      version: row.hw ? `${row.hw} / ${row.sw}` : "",
    })}
  </tr>`;

/** @param {FleetRow} row */
const placeOf = ({ address, port }) =>
  [address, port === null ? "" : `:${port}`].filter(Boolean).join(" ");

/** @param {FleetRow} row @param {boolean} ofAll whether those of several tenants are shown */
const notes = (row, ofAll) =>
  html`${placeOf(row) ? html`<small>${placeOf(row)}</small>` : nothing}
  ${row.node && row.health !== "unknown"
    ? html`<small class="at">${t("at_node", { name: row.node })}</small>`
    : nothing}
  ${ofAll && row.tenant
    ? html`<small class="tenant"
        ><a href=${addressWith({ owner: row.tenant, page: 1 })}
          >${t("of_tenant", { name: row.tenant })}</a
        ></small
      >`
    : nothing}`;

/** @param {FleetRow} row @param {number} time */
function finding({ worst, about, findings, url, health: kind, node }, time) {
  if (kind === "unknown") {
    return html`<span>${node ? t("unknown_at", { name: node }) : t("unknown_free")}</span>`;
  }
  if (!worst) return html`<span class="quiet">${t("none")}</span>`;
  const sentence = findingSaid(contextOf(namesIn(worst, about)), worst);
  const since = t("since", { time: shortMoment(worst.since, time) });
  const more = findings > 1 ? t("more", { count: findings - 1 }) : "";
  return html`<a href=${`${url}#/${worst.page}`}>${sentence}</a>
    <small>${[since, more].filter(Boolean).join(", ")}</small>`;
}

// The controller's own name of the thing; a part in trouble can be a thing, too.
/** @param {Api.FindingReport} finding @param {string | null} about */
const namesIn = ({ label, figures }, about) =>
  about ? { [label ?? String(figures.part)]: about } : {};

// Each leads to the controllers that have it, and back to all.
/** @param {FleetView} view @param {FleetWanted} wanted */
export function sharedByControllers({ groups, matching }, wanted) {
  const shared = groups.map(({ key, finding: found, about, count }) => ({
    count: t("count_controllers", { count }),
    text: findingSaid(contextOf(namesIn(found, about)), found),
    href: addressWith({ finding: key === wanted.finding ? "" : key, page: 1 }),
    isChosen: key === wanted.finding,
  }));
  return html`${sharedFindings(shared)}
  ${wanted.finding
    ? html`<p class="note" role="status">
        ${t("count_controllers", { count: matching })}. ${t("with_finding")}
        <a href=${addressWith({ finding: "", page: 1 })}>${t("all_controllers")}</a>
      </p>`
    : nothing}`;
}
