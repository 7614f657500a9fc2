// Header, the line of a lost connection, and the question before unsaved changes are left.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { FIRST_RUN, MORE, PAGES, PHONE_GROUPS } from "../../pages/index.js";
import { clock, t } from "../format/words.js";
import * as api from "../live/api.js";
import { SIMULATED } from "../live/context.js";
import { findingCount } from "../things/findings.js";
import { icon, mark } from "../things/signs.js";
import { closeByEscape, closeWhenLeft, ownChoosers } from "./menu.js";
import { address } from "./router.js";

/** @import { IconName } from "../things/signs.js" */

// What is in the menu is drawn while it is open: no part of the first view.
const isOwnOpen = signal(false);
// A longer name than this stands in small letters on several lines.
const LONG = 16;

/**
 * @param {Context} context
 * @param {PageEntry | null} current
 * @param {Template} skip
 * @param {Template} find
 */
export function header(context, current, skip, find) {
  const { connection, state } = context.live;
  const time = state.time ? clock(state.time).slice(0, 5) : "";
  const name = context.overview.deviceName || "Leverframe";
  return html`<header class="top">
    ${skip}
    <a class="brand" href=${address("status")}
      >${mark()}<span ?data-long=${name.length > LONG}>${name}</span></a
    >
    <nav class="groups" aria-label=${t("navigation")}>${groupLinks(context, current)}</nav>
    ${context.overview.isReadOnly
      ? html`<p class="only-look">${t("lever_read_only")}</p>`
      : nothing}
    ${find}
    <p class="connection" data-kind=${connection}>
      <span role="status">${connectionWord(context.live)}</span>${connection === "lost" || !time
        ? nothing
        : html` · <time>${time}</time>`}
    </p>
    <details
      class="pop own"
      @keydown=${closeByEscape}
      @focusout=${closeWhenLeft}
      @toggle=${(event) => (isOwnOpen.value = event.target.open)}
    >
      <summary aria-label=${t("own_choices")}>${icon("more")}</summary>
      ${isOwnOpen.value ? html`<div class="menu">${ownChoices(context)}</div>` : nothing}
    </details>
  </header>`;
}

// Language and theme, and what the controller is.
/** @param {Context} context */
export function ownChoices(context) {
  const { profile } = context.live.state;
  const facts = [
    "Leverframe",
    profile ? `HW ${profile.hw} SW ${profile.sw}` : "",
    context.board === SIMULATED ? t("simulated") : context.board,
  ];
  const { accountName } = context.overview;
  return html`${accountName ? html`<p>${t("signed_in_as", { name: accountName })}</p>` : nothing}
    <p class="facts">${facts.filter(Boolean).join(" · ")}</p>
    <div class="choices">
      ${ownChoosers()}
      ${maySignOut(context)
        ? html`<button
            type="button"
            ?disabled=${context.live.connection === "lost"}
            @click=${leave}
          >
            ${t("sign_out")}
          </button>`
        : nothing}
    </div>`;
}

/** @param {Context} context */
const maySignOut = ({ settings, live }) => (settings ? settings.access.required : live.isHeard);

export async function leave() {
  await api.signOut();
  api.goToSignIn();
}

/** @param {Live} live */
export function connectionWord(live) {
  if (live.connection !== "lost") return t(`connection_${live.connection}`);
  return t("connection_lost", { time: clock(live.lostSince ?? 0) });
}

/** @param {Live} live */
export function lossBanner(live) {
  if (live.connection !== "lost") return nothing;
  if (api.isSessionOver()) {
    return html`<p class="lost" role="alert">
      ${t("session_over")} <a href="/signin" target="_blank">${t("sign_in_again")}</a>
    </p>`;
  }
  return html`<p class="lost" role="alert">${connectionWord(live)}. ${t("lost_advice")}</p>`;
}

/**
 * @param {(() => void) | null} proceed
 * @param {(choice: "save" | "leave" | "stay") => void} answer
 */
export function leaveQuestion(proceed, answer) {
  if (!proceed) return nothing;
  return html`<dialog
    class="leave"
    aria-labelledby="leave-question"
    @cancel=${() => answer("stay")}
  >
    <h2 id="leave-question">${t("unsaved")}</h2>
    <p>${t("unsaved_advice")}</p>
    <footer>
      <button class="primary" @click=${() => answer("save")}>${t("save_and_go")}</button>
      <button @click=${() => answer("leave")}>${t("leave")}</button>
      <button @click=${() => answer("stay")}>${t("stay")}</button>
    </footer>
  </dialog>`;
}

// Ways around: the groups of pages that the account and the version have, as bar and as phone bar.

/** @param {Context} context */
const isOffered = (context) => (/** @type {PageEntry} */ page) =>
  (page.role === "control" || context.isAdmin) &&
  (!page.simulated || context.board === SIMULATED);

// [group, its pages] in the order of the list.
/** @param {Context} context */
export function listGroups(context) {
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
const groupLinks = (context, current) =>
  listGroups(context).map(([group, [first]]) =>
    link(
      first.name,
      html`${t(`group_${group}`)}${group === "status" ? findingCount(context) : nothing}`,
      group === current?.group,
    ),
  );

// The pages of the present group, where it has several.
/** @param {Context} context @param {PageEntry | null} current */
export function pageLinks(context, current) {
  const pages = listGroups(context).find(([group]) => group === current?.group)?.[1] ?? [];
  if (pages.length < 2) return nothing;
  return html`<nav class="pages" aria-label=${t(`group_${current?.group}`)}>
    ${pages.map(({ name }) => link(name, t(`page_${name}`), name === current?.name))}
  </nav>`;
}

/** @type {Record<string, IconName>} */
const PHONE_ICONS = { status: "lever", timeline: "timeline", rules: "rule", things: "things" };

/** @param {Context} context @param {PageEntry | null} current */
export function phoneBar(context, current) {
  const groups = listGroups(context).filter(([group]) => PHONE_GROUPS.includes(group));
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
