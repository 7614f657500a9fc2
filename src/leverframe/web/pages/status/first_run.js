// The way into the first run, for as long as it is not finished.

import { html, nothing } from "../../vendor/lit-html.js";
import { address } from "../../lib/router.js";
import { t } from "../../lib/words.js";

/** @param {Context} context */
export function firstRunCard({ isAdmin, firstRunStep }) {
  if (!isAdmin || firstRunStep === null) return nothing;
  const key = firstRunStep === "place" ? "first_run_begin" : "first_run_go_on";
  return html`<section class="card first-run" aria-labelledby="first-run">
    <h2 id="first-run">${t("first_run")}</h2>
    <p class="note">${t("first_run_note")}</p>
    <p><a class="button" href=${address("firstrun")}>${t(key)}</a></p>
  </section>`;
}
