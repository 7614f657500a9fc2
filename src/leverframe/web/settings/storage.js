// Where settings and history are stored, how much space they take, and how much is free.

import { html, nothing } from "../vendor/lit-html.js";
import { decimal, t } from "../lib/format/words.js";
import { valueRow as row } from "../lib/forms/fields.js";
import { address } from "../lib/frame/router.js";
import * as api from "../lib/live/api.js";
import { Followed } from "../lib/live/live.js";

const PREFIXES = ["", "k", "M", "G", "T"];
const THOUSAND = 1000;

/** @type {PartOf} */
export function partOf(context) {
  const storage = new Followed(context, api.storage);
  return [storage, { view: () => (storage.value ? card(storage.value) : nothing) }];
}

/** @param {StorageReport} storage */
function card(storage) {
  const { kind, folder, used_bytes: used, free_bytes: free } = storage;
  const points = storage.history_points ?? 0;
  const history = { count: points, size: sizeText(storage.history_bytes ?? 0) };
  return html`<section class="card across">
    <dl class="values">
      ${row("stored_in", folder ?? t(kind === "memory" ? "in_memory" : "in_node"))}
      ${row("space_used", sizeText(used))} ${row("space_free", sizeText(free))}
      ${row("stored_history", points > 0 ? t("history_size", history) : "")}
    </dl>
    ${kind === "memory" ? html`<p class="note">${t("memory_note")}</p>` : nothing}
    <p><a href=${address("system", { open: "backup" })}>${t("page_backup")}</a></p>
  </section>`;
}

// "12.3 MB"; "" where it is not known.
/** @param {number | null | undefined} bytes */
function sizeText(bytes) {
  if (bytes === null || bytes === undefined) return "";
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), PREFIXES.length - 1);
  const number = bytes / THOUSAND ** power;
  return t("size", { number: decimal(number, power > 1 ? 1 : 0), prefix: PREFIXES[power] });
}
