// The header of the page: the fleet, whether it is heard, and what everybody chooses.

import { html, nothing } from "../vendor/lit-html.js";
import { clock, t } from "../lib/format/words.js";
import { ownMenu } from "../lib/frame/menu.js";
import { icon, mark } from "../lib/things/signs.js";
import { troublesOf } from "./nodes.js";
import { underWay } from "./rollouts.js";
import { addressWith } from "./view.js";

/** @param {import("./view.js").FleetStream} stream @param {string} current */
export function header({ connection, time, view }, current) {
  const tenant = view?.node.tenant;
  return html`<header class="top">
    <a class="brand" href="#/"
      >${mark()}<span>${t("fleet")}${tenant ? html` <small>${tenant}</small>` : nothing}</span></a
    >
    ${view?.node.role === "administrator" ? viewLinks(view, current) : nothing}
    <p class="connection" data-kind=${connection}>
      <span role="status"
        >${connection === "lost" ? t("no_connection") : t(`connection_${connection}`)}</span
      >${time && connection === "live" ? html` · <time>${clock(time).slice(0, 5)}</time>` : nothing}
    </p>
    ${ownMenu()}
  </header>`;
}

// The controllers, roll-outs, changes, and the nodes where there are several.
/** @param {FleetView} view @param {string} current */
function viewLinks({ node, rollouts, cluster }, current) {
  const running = underWay(rollouts);
  const troubles = cluster ? troublesOf(cluster) : 0;
  /** @type {[string, string, Template][]} */
  const links = [
    ["", t("controllers"), nothing],
    ["rollouts", t("rollouts"), running ? html`<b class="count">${running}</b>` : nothing],
    ["changes", t("changes"), nothing],
  ];
  if (cluster) {
    const count = html`<b class="finding-count">${icon("attention", "s")}${troubles}</b>`;
    links.push(["nodes", t("nodes"), troubles ? count : nothing]);
  }
  // Whose people there are is the operator's affair.
  if (node.tenant === null) links.push(["tenants", t("tenants"), nothing]);
  return html`<nav class="groups views" aria-label=${t("navigation")}>
    ${links.map(
      ([name, text, count]) =>
        html`<a
          href=${addressWith({ view: name })}
          aria-current=${name === current ? "page" : nothing}
          >${text}${count}</a
        >`,
    )}
  </nav>`;
}
