// The header of the page: the fleet, its connection, language and theme.

import { html, nothing } from "../vendor/lit-html.js";
import { t } from "../lib/format/words.js";
import { brandOf, header } from "../lib/frame/several.js";
import { icon } from "../lib/things/signs.js";
import { troublesOf } from "./nodes.js";
import { underWay } from "./rollouts.js";
import { addressWith } from "./view.js";

/** @param {import("./view.js").FleetStream} stream @param {string} current */
export function fleetHeader({ connection, time, view }, current) {
  const tenant = view?.node.tenant;
  const name = html`${t("fleet")}${tenant ? html` <small>${tenant}</small>` : nothing}`;
  return header({
    brand: html`<a class="brand" href="#/">${brandOf(name)}</a>`,
    links: view?.node.role === "administrator" ? viewLinks(view, current) : nothing,
    connection,
    time,
  });
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
