// What became, or would become, of something for each controller: refusals first.

import { html, nothing } from "../vendor/lit-html.js";
import { contextOf } from "../lib/foreign_context.js";
import { icon } from "../lib/icon.js";
import { settingName, settingWords, valueText } from "../lib/setting_words.js";
import { kindName } from "../lib/things.js";
import { serverText, t } from "../lib/words.js";

const DONE = 200;
const SHOWN = 30;
const CONTEXT = contextOf();

// What the settings are called that would change.
/** @param {BulkReport} report */
export const resultWords = ({ results: all }) =>
  settingWords(
    all.flatMap(({ effects = [] }) =>
      effects.filter(({ is_state: isState }) => !isState).map(({ what }) => what),
    ),
  );

/** @param {BulkReport} report */
export function results({ dry_run: tried, done, refused, results: all }) {
  return html`<p class="outcome" role="status">
      ${t(tried ? "would_sum" : "done_sum", { done, refused })}
    </p>
    ${resultList(all, tried)}`;
}

/** @param {BulkReport["results"]} all @param {boolean} tried */
export function resultList(all, tried) {
  const worstFirst = [...all].sort((a, b) => Number(a.status === DONE) - Number(b.status === DONE));
  const hidden = all.length - SHOWN;
  return html`<ul class="results">
      ${worstFirst.slice(0, SHOWN).map(
        (one) =>
          html`<li data-result=${one.name} data-status=${one.status}>
            ${icon(one.status === DONE ? "check" : "close", "s")}<b>${one.name}</b>
            <span>${sentence(one, tried)}</span>
          </li>`,
      )}
    </ul>
    ${hidden > 0 ? html`<p class="quiet">${t("hidden", { count: hidden })}</p>` : nothing}`;
}

/** @param {BulkReport["results"][number]} result @param {boolean} tried */
function sentence({ status, detail, effects = [] }, tried) {
  if (status !== DONE) return t("refuses", { why: detail ? serverText(detail) : status });
  if (effects.length > 0) return effects.map(effect).join("; ");
  return t(tried ? "would_be_done" : "is_done");
}

/** @param {CommandEffect} effect */
function effect({ what, old, new: later, is_state: isState }) {
  const name = isState ? kindName(what) : settingName(CONTEXT, what);
  if (old === null && later === null) return name;
  const [from, to] = [old, later].map((value) =>
    isState ? stateWord(value) : valueText(CONTEXT, what, value),
  );
  return from === to
    ? t("stays", { what: name, now: to })
    : t("becomes", { what: name, from, to });
}

/** @param {unknown} value */
const stateWord = (value) => t(value === 1 ? "state_on" : "state_off");
