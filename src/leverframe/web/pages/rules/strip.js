// When a rule began and ceased: the newest times as a strip, newest first.

import { html, nothing } from "../../vendor/lit-html.js";
import { moment } from "../../lib/moments.js";
import { t } from "../../lib/words.js";

/** @param {Api.Firing[]} firings @param {number} now @param {number} most */
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
