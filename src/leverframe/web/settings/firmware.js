// Firmware: what is installed, what is newer, the bootloader; and the web site that people upload.

import { html, nothing } from "../vendor/lit-html.js";
import { Action } from "../lib/action.js";
import * as api from "../lib/api.js";
import { FileChoice } from "../lib/file_choice.js";
import { Followed } from "../lib/followed.js";
import { Form } from "../lib/form.js";
import { moment } from "../lib/moments.js";
import { serverText, t } from "../lib/words.js";
import { Update } from "./firmware/update.js";

/** @type {PartOf} */
export function partOf(context) {
  const news = new Followed(context, api.firmware);
  const check = new Form(context, {
    title: "check",
    note: "check_note",
    lead: () => (news.value ? heard(context, news.value) : nothing),
    fields: [{ command: "bit1", label: "check_daily", path: "ui.firmware_check" }],
  });
  return [news, new Update(context, news), check, siteCard(context)];
}

// What the last check heard, or why it heard nothing.
/** @param {AdminContext} context @param {Firmware} news */
function heard({ live }, { on, checked, newest, is_newer: isNewer, notes, trouble }) {
  if (!on) return nothing;
  const time = checked ? moment(checked, live.state.time) : "";
  return html`<p class=${isNewer || trouble ? "attention" : "note"} role="status">
    ${trouble ? serverText(trouble) : ""}
    ${!trouble && newest ? t(isNewer ? "is_newer" : "is_newest", { newest }) : ""}
    ${trouble || newest ? "" : t("not_checked")}
    ${time ? t("checked_at", { time }) : nothing}
    ${isNewer && notes ? html`<a href=${notes} rel="noreferrer">${t("notes")}</a>` : nothing}
  </p>`;
}

/** @param {AdminContext} context */
function siteCard(context) {
  const choice = new FileChoice(context, { id: "site-file", label: "site_file" });
  const upload = new Action(context, {
    label: "upload_site",
    danger: "site_danger",
    done: "site_taken",
    isReady: () => choice.file !== null,
    perform: async () => {
      await api.uploadSite(/** @type {File} */ (choice.file));
      choice.empty();
    },
  });
  const view = () =>
    html`<section class="card">
      <h2>${t("site")}</h2>
      <p class="note">${t("site_note")}</p>
      <pre tabindex="0">leverframe site build FOLDER</pre>
      ${choice.view()} ${upload.view()}
      <p class="note">
        ${t("back_note")} <a href=${api.builtInPages}>${location.host}${api.builtInPages}</a>
      </p>
    </section>`;
  return { view };
}
