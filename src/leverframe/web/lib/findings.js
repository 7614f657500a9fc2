// What is not as it should be: the controller's list of findings, in words, with the way to repair.

import { html, nothing } from "../vendor/lit-html.js";
import { address } from "./router.js";
import { findingSentence, serverText, t } from "./words.js";

/** @param {Context} context */
export const findingsOf = (context) => context.live.state.findings ?? [];

// A finding stands on the page that repairs it, too.
/** @param {Context} context @param {PageEntry | null} page */
export function findingsHere(context, page) {
  if (!page || page.name === "status" || context.live.connection === "lost") return nothing;
  const here = findingsOf(context).filter((finding) => pageOf(finding) === page.name);
  return here.length === 0 ? nothing : findingList(context, here, { hasLinks: false });
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
        html`<li data-kind=${finding.severity} data-id=${finding.id}>
          <p>${findingText(context, finding)}</p>
          <small>${t("finding_since", { time: context.overview.moment(finding.since) })}</small>
          ${hasLinks && context.isAdmin
            ? html`<a href=${`${address("")}${finding.page}`}>${t("finding_repair")}</a>`
            : nothing}
        </li>`,
    )}
  </ul>`;
}

// The number beside "Status"; nothing where nobody knows.
/** @param {Context} context */
export function findingCount(context) {
  const count = context.live.connection === "lost" ? 0 : findingsOf(context).length;
  if (count === 0) return nothing;
  const told = t("findings_open", { count });
  return html`<span class="finding-count" role="img" aria-label=${told}>▲ ${count}</span>`;
}

/** @param {Api.FindingReport} finding */
const pageOf = ({ page }) => page.split("?")[0];

/** @typedef {Pick<Api.FindingReport, "kind" | "label" | "figures" | "text">} Found */

// What a finding says, in the reader's language.
/** @param {Context} context @param {Found} finding */
export function findingText(context, { kind, label, figures, text }) {
  const name = label ? context.overview.name(label) || label : "";
  // The trouble of a part comes as a sentence of the part.
  const told = "sentence" in figures ? { sentence: serverText(String(figures.sentence)) } : {};
  return findingSentence(kind, { name, ...figures, ...told }) ?? text;
}
