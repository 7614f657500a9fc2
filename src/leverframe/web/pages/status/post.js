// A lever of the frame with what stands around it: the number of its terminal, "on for", its name,
// who moved it and why.

import { html, nothing } from "../../vendor/lit-html.js";
import { icon } from "../../lib/icon.js";
import { mover } from "../../lib/lever_state.js";
import { plateOf, thingAddress, thingName } from "../../lib/things.js";

/**
 * @param {Context} context
 * @param {string} label
 * @param {{ lever: Template, pulse: Template, duty: Template, soon: string[] }} parts
 */
export const post = (context, label, { lever, pulse, duty, soon }) =>
  html`<li class="post" data-label=${label}>
    <div class="row"><span class="plate" aria-hidden="true">${plateOf(label)}</span>${pulse}</div>
    ${lever}
    <div class="who">
      <a class="name" href=${thingAddress(label)}>${thingName(context, label)}</a>
      ${duty}
      <span class="why" id=${`who-${label}`}
        >${told(context, label)}
        ${soon.map((text) => html`<span class="soon">${text}</span>`)}</span
      >
    </div>
  </li>`;

/** @param {Context} context @param {string} label */
function told(context, label) {
  const who = mover(context, label);
  if (who === null) return nothing;
  return html`<span class=${`cause ${who.cause.look}`}
      >${icon(who.cause.icon, "s")} ${who.name}</span
    >
    <span>${who.why}</span>`;
}
