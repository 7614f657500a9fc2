// One card of Status under its heading, `part_NAME` of words/status.json.

import { html, nothing } from "../../vendor/lit-html.js";
import { t } from "../../lib/words.js";

/** @param {string} name @param {Template} content @param {string} [beside] */
export const section = (name, content, beside = "") =>
  html`<section class="card sheet" aria-labelledby=${name}>
    <div class="sect">
      <h2 id=${name}>${t(`part_${name}`)}</h2>
      ${beside ? html`<small>${beside}</small>` : nothing}
    </div>
    ${content}
  </section>`;
