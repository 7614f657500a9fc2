// The certificate that browsers check: until when and for whom it is valid, and how to replace it.

import { html, nothing } from "../vendor/lit-html.js";
import { fullMoment } from "../lib/format/moments.js";
import { t } from "../lib/format/words.js";
import { valueRow as row } from "../lib/forms/fields.js";
import * as api from "../lib/live/api.js";
import { Followed } from "../lib/live/live.js";

/** @type {PartOf} */
export function partOf(context) {
  const certificate = new Followed(context, api.certificate);
  return [certificate, { view: () => (certificate.value ? card(certificate.value) : nothing) }];
}

/** @param {Certificate} certificate */
function card({ ends, names, fingerprint, files, is_own: isOwn }) {
  if (ends === null) {
    return html`<section class="card"><p class="note">${t("elsewhere")}</p></section>`;
  }
  return html`<section class="card across">
    <dl class="values">
      ${row("valid_until", fullMoment(ends, { dateStyle: "long", timeStyle: "short" }))}
      ${row("for_hosts", names.join(", "))} ${row("fingerprint", fingerprint)}
      ${row("files", files.join(", "))}
    </dl>
    <h2>${t("replacing")}</h2>
    <p class="note">${t(isOwn ? "own_note" : "given_note")}</p>
  </section>`;
}
