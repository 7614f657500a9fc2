// The certificate that browsers check: until when and for whom it is valid, and how to replace it.

import { html, nothing } from "../vendor/lit-html.js";
import * as api from "../lib/api.js";
import { Followed } from "../lib/followed.js";
import { fullMoment } from "../lib/moments.js";
import { t } from "../lib/words.js";

export class Part {
  #certificate;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#certificate = new Followed(context, api.certificate);
  }

  open() {
    return this.#certificate.open();
  }

  close() {
    this.#certificate.close();
  }

  view() {
    const certificate = this.#certificate.value;
    return html`<div class="cards">${certificate ? card(certificate) : nothing}</div>`;
  }
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

/** @param {string} title @param {string | null} text */
const row = (title, text) =>
  text
    ? html`<div>
        <dt>${t(title)}</dt>
        <dd class="as-is">${text}</dd>
      </div>`
    : nothing;
