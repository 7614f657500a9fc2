// An overview: rows with a name, the state and what is wrong there; each leads to its page.

import { html, nothing } from "../../vendor/lit-html.js";
import { t } from "../format/words.js";
import { findingsOf } from "../things/findings.js";
import { icon } from "../things/signs.js";
import { routeOf } from "./router.js";

/** @typedef {{ text: string, kind?: "attention" | "off" }} RowState */
/** @typedef {{ name: string, title: string, address: string, state: RowState }} OverviewRow */

/** @type {RowState} */
export const NO_STATE = { text: "" };

/** @param {Context} context @param {OverviewRow[]} rows */
export const overview = (context, rows) =>
  html`<ul class="overview" role="list">
    ${rows.map((row) => rowView(context, row))}
  </ul>`;

/** @param {Context} context @param {OverviewRow} row */
function rowView(context, { name, title, address, state }) {
  return html`<li data-part=${name}>
    <a href=${address}>${title}</a>
    <span class="state" data-kind=${state.kind ?? nothing}>${state.text}</span>
    ${findingMark(context, address)}
    <span class="onward" aria-hidden="true">${icon("down", "s")}</span>
  </li>`;
}

// How many findings are repaired there, in the colour of the worst.
/** @param {Context} context @param {string} address */
function findingMark(context, address) {
  if (context.live.connection === "lost") return nothing;
  const wanted = routeOf(address);
  const part = wanted.params.get("open");
  const own = findingsOf(context).filter(({ page }) => {
    const { name, params } = routeOf(page);
    return name === wanted.name && (part === null || params.get("open") === part);
  });
  if (own.length === 0) return nothing;
  const isFault = own.some(({ severity }) => severity === "fault");
  return html`<span
    class="finding-count"
    data-kind=${isFault ? "fault" : "attention"}
    role="img"
    aria-label=${t("findings_open", { count: own.length })}
    >▲ ${own.length}</span
  >`;
}
