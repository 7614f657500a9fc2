// Ways around: the groups of pages that the account and the version have, as bar and as phone bar.

import { html, nothing } from "../vendor/lit-html.js";
import { MORE, PAGES, PHONE_GROUPS } from "../pages/index.js";
import { SIMULATED } from "./context.js";
import { findingCount } from "./findings.js";
import { address } from "./router.js";
import { t } from "./words.js";

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
  return [...PAGES, MORE].find((page) => page.name === name) ?? null;
}

/** @param {Context} context @param {PageEntry} page */
export const mayOpen = (context, page) => isOffered(context)(page);

/** @param {string} name @param {string} text @param {unknown} current @param {Template} [beside] */
const link = (name, text, current, beside = nothing) =>
  html`<a href=${address(name)} aria-current=${current ? "page" : nothing}>${text}${beside}</a>`;

/** @param {Context} context @param {PageEntry | null} current */
const groupLink =
  (context, current) =>
  (/** @type {[string, PageEntry[]]} */ [group, [first]]) =>
    link(
      first.name,
      t(`group_${group}`),
      group === current?.group,
      group === "status" ? findingCount(context) : nothing,
    );

/** @param {Context} context @param {PageEntry | null} current */
export function navigation(context, current) {
  const groups = offeredGroups(context);
  const pages = groups.find(([group]) => group === current?.group)?.[1] ?? [];
  return html`<nav class="groups" aria-label=${t("navigation")}>
      ${groups.map(groupLink(context, current))}
    </nav>
    ${pages.length > 1
      ? html`<nav class="pages" aria-label=${t(`group_${current?.group}`)}>
          ${pages.map(({ name }) => link(name, t(`page_${name}`), name === current?.name))}
        </nav>`
      : nothing}`;
}

/** @param {Context} context @param {PageEntry | null} current */
export function phoneBar(context, current) {
  const groups = offeredGroups(context).filter(([group]) => PHONE_GROUPS.includes(group));
  const elsewhere = current && !PHONE_GROUPS.includes(current.group);
  return html`<nav class="phone-bar" aria-label=${t("navigation_short")}>
    ${groups.map(groupLink(context, current))} ${link(MORE.name, t("group_more"), elsewhere)}
  </nav>`;
}
