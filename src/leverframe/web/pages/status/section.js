// One card of Status under its heading, `part_NAME` of words/status.json.

import { html } from "../../vendor/lit-html.js";
import { t } from "../../lib/words.js";

/** @param {string} name @param {Template} content */
export const section = (name, content) =>
  html`<section class="card" aria-labelledby=${name}>
    <h2 id=${name}>${t(`part_${name}`)}</h2>
    ${content}
  </section>`;
