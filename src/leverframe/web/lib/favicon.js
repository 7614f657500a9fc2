// The icon of the tab tells the state by its shape: plain, triangle, crossed square, dashed ring.

import { findingsOf } from "./findings.js";

const GREY = "#98a49d";
const PLATE = '<rect width="32" height="32" rx="5" fill="#1d2521"/>';
const SHAPES = {
  fine: { lever: "#5fcf8b", shape: "" },
  attention: {
    lever: "#efb64c",
    shape: '<path d="M24 17l8.5 15h-17z" fill="#efb64c" stroke="#1d2521" stroke-width="1.5"/>',
  },
  fault: {
    lever: "#ff8d82",
    shape:
      '<rect x="17.5" y="17.5" width="15" height="15" rx="1" fill="#ff6b5e" stroke="#1d2521"/>' +
      '<path d="M21.5 21.5l7 7M28.5 21.5l-7 7" stroke="#1d2521" stroke-width="2.4"/>',
  },
  lost: {
    lever: GREY,
    shape:
      `<circle cx="25" cy="25" r="6" fill="#1d2521" stroke="${GREY}" stroke-width="2" ` +
      'stroke-dasharray="3 2.3"/>',
  },
};

// Null while nobody knows.
/** @param {Context} context @returns {keyof typeof SHAPES | null} */
function stateOf(context) {
  const { connection, isHeard } = context.live;
  if (!isHeard) return connection === "lost" ? "lost" : null;
  const severities = findingsOf(context).map(({ severity }) => severity);
  if (severities.includes("fault")) return "fault";
  return severities.length > 0 ? "attention" : "fine";
}

let shown = "";

/** @param {Context} context */
export function showFavicon(context) {
  const state = stateOf(context);
  if (state === null || state === shown) return;
  shown = state;
  const { lever, shape } = SHAPES[state];
  const others = state === "lost" ? GREY : "#f6f8f7";
  const picture =
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${PLATE}` +
    `<g fill="none" stroke="${others}" stroke-width="3" stroke-linecap="round">` +
    `<path d="M4 25h24M9 25L6 8M16 25L13 8"/><path stroke="${lever}" d="M21 25l5-17"/></g>` +
    `${shape}</svg>`;
  const link = /** @type {HTMLLinkElement} */ (document.querySelector("link[rel=icon]"));
  link.href = `data:image/svg+xml,${encodeURIComponent(picture)}`;
  link.dataset.state = state;
}
