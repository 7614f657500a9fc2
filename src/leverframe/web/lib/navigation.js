// Ways around: the groups of pages that the account and the version have, as bar and as phone bar.

import { html, nothing } from "../vendor/lit-html.js";
import { FIRST_RUN, MORE, PAGES, PHONE_GROUPS } from "../pages/index.js";
import { SIMULATED } from "./context.js";
import { findingCount } from "./findings.js";
import { icon } from "./icon.js";
import { address } from "./router.js";
import { t } from "./words.js";

/** @import { IconName } from "./icon.js" */

/** @param {Context} context */
const isOffered = (context) => (/** @type {PageEntry} */ page) =>
  (page.role === "control" || context.isAdmin) &&
  (!page.needs || context.commands.find(page.needs) !== null) &&
  (!page.simulated || context.board === SIMULATED);

// [group, its pages] in the order of the list.
/** @param {Context} context */
export function offeredGroups(context) {
  return [...Map.groupBy(PAGES.filter(isOffered(context)), (page) => page.group)];
}

/** @param {string} name @returns {PageEntry | null} */
export function findPage(name) {
  return [...PAGES, MORE, FIRST_RUN].find((page) => page.name === name) ?? null;
}

/** @param {Context} context @param {PageEntry} page */
export const mayOpen = (context, page) => isOffered(context)(page);

/** @param {string} name @param {Template} text @param {unknown} current */
const link = (name, text, current) =>
  html`<a href=${address(name)} aria-current=${current ? "page" : nothing}>${text}</a>`;

// The first page of each group, in the order of the list.
/** @param {Context} context @param {PageEntry | null} current */
export const groupLinks = (context, current) =>
  offeredGroups(context).map(([group, [first]]) =>
    link(
      first.name,
      html`${t(`group_${group}`)}${group === "status" ? findingCount(context) : nothing}`,
      group === current?.group,
    ),
  );

// The pages of the present group, where it has several.
/** @param {Context} context @param {PageEntry | null} current */
export function pageLinks(context, current) {
  const pages = offeredGroups(context).find(([group]) => group === current?.group)?.[1] ?? [];
  if (pages.length < 2) return nothing;
  return html`<nav class="pages" aria-label=${t(`group_${current?.group}`)}>
    ${pages.map(({ name }) => link(name, t(`page_${name}`), name === current?.name))}
  </nav>`;
}

/** @type {Record<string, IconName>} */
const PHONE_ICONS = { status: "lever", timeline: "timeline", rules: "rule", things: "things" };

/** @param {Context} context @param {PageEntry | null} current */
export function phoneBar(context, current) {
  const groups = offeredGroups(context).filter(([group]) => PHONE_GROUPS.includes(group));
  const elsewhere = current && !PHONE_GROUPS.includes(current.group);
  return html`<nav class="phone-bar" aria-label=${t("navigation_short")}>
    ${groups.map(([group, [first]]) =>
      link(
        first.name,
        html`${icon(PHONE_ICONS[group])}<span
            >${t(`group_${group}`)}${group === "status" ? findingCount(context) : nothing}</span
          >`,
        group === current?.group,
      ),
    )}
    ${link(MORE.name, html`${icon("more")}<span>${t("group_more")}</span>`, elsewhere)}
  </nav>`;
}
