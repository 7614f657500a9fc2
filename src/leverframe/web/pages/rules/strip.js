// When a rule began and ceased: the newest times as a strip, newest first.

import { html, nothing } from "../../vendor/lit-html.js";
import { currentLanguage, t } from "../../lib/words.js";

const DAY_S = 86400;

export function strip(firings, now, most) {
  if (firings.length === 0) return nothing;
  return html`<ol class="strip">
    ${firings
      .slice(-most)
      .reverse()
      .map(
        ({ time, active }) =>
          html`<li data-active=${active ? "yes" : "no"}>
            ${t(active ? "began" : "ceased")}
            <time datetime=${new Date(time * 1000).toISOString()}>${moment(time, now)}</time>
          </li>`,
      )}
  </ol>`;
}

// The time of day, with the date where it is not of the last day.
function moment(time, now) {
  const date = new Date(time * 1000);
  return now - time < DAY_S
    ? date.toLocaleTimeString(currentLanguage())
    : date.toLocaleString(currentLanguage(), { dateStyle: "short", timeStyle: "short" });
}
