// The frame of the pages that show several controllers: the fleet of a node, the units of a watch.

import { html, nothing, render } from "../../vendor/lit-html.js";
import {
  clock,
  completeWords,
  fetchWords,
  followWords,
  startWords,
  t,
  usePageWords,
} from "../format/words.js";
import { keepDrawn } from "../live/drawing.js";
import { icon, mark } from "../things/signs.js";
import { applyTheme } from "./look.js";
import { closeMenusOutside, ownMenu } from "./menu.js";

// Sentences of the controllers are in the reader's language as soon as their words have come.
/** @param {string} page also the name of its words */
export async function startFrame(page) {
  applyTheme();
  closeMenusOutside();
  await Promise.all([startWords(), usePageWords(page), fetchWords("controllers"), completeWords()]);
}

/** @param {string} page @param {() => Template} view */
export function keepPageDrawn(page, view) {
  keepDrawn(() => {
    followWords();
    document.title = `${t(page)} · Leverframe`;
    const focused = document.activeElement;
    render(html`${view()}`, document.body);
    // What moves in the document loses the focus.
    const isLost = focused !== document.activeElement && focused?.isConnected;
    if (isLost && focused instanceof HTMLElement) focused.focus();
  });
}

/**
 * @typedef {object} Top
 * @property {Template} brand
 * @property {Template} [links]
 * @property {"connecting" | "live" | "lost"} connection
 * @property {number | null | undefined} time
 */

// The owner of the page, its connection, language and theme.
/** @param {Top} top */
export function header({ brand, links = nothing, connection, time }) {
  const word = connection === "lost" ? "no_connection" : `connection_${connection}`;
  const shown = time && connection === "live" ? clock(time).slice(0, 5) : "";
  return html`<header class="top">
    ${brand} ${links}
    <p class="connection" data-kind=${connection}>
      <span role="status">${t(word)}</span>${shown ? html` · <time>${shown}</time>` : nothing}
    </p>
    ${ownMenu()}
  </header>`;
}

/** @param {Template} name */
export const brandOf = (name) => html`${mark()}<span>${name}</span>`;

/** @param {number | null} since */
export const connectionView = (since) =>
  since === null
    ? nothing
    : html`<p class="lost" role="alert">${t("connection_lost", { time: clock(since) })}</p>`;

// Beside the word for the health of a controller; an unknown one has a dashed ring.
/** @param {FleetHealth | WatchedUnit["health"]} health @param {"" | "s"} [size] */
export function healthSign(health, size = "") {
  if (health === "off" || health === "unknown") {
    return html`<svg class=${`i ${size}`} viewBox="0 0 24 24" aria-hidden="true">
      <circle cx="12" cy="12" r="7.5" stroke-dasharray="3 3" />
    </svg>`;
  }
  if (health === "waiting") return icon("more", size);
  return icon(health === "fine" ? "check" : "attention", size);
}
