// What became, or would become, of something for each controller: refusals first.

import { html, nothing } from "../vendor/lit-html.js";
import { contextOf } from "../lib/foreign_context.js";
import { icon } from "../lib/icon.js";
import { settingName, settingWords, valueText } from "../lib/setting_words.js";
import { kindName } from "../lib/things.js";
import { serverText, t } from "../lib/words.js";

const DONE = 200;
// So many lines are shown, and so many names in each.
const SHOWN = 30;
const NAMED = 12;
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

// What is the same for several is said once.
/** @param {BulkReport["results"]} all @param {boolean} tried */
export function resultList(all, tried) {
  /** @type {Map<string, BulkReport["results"]>} */
  const alike = new Map();
  for (const one of all) {
    const key = `${one.status} ${one.detail ?? ""} ${JSON.stringify(one.effects ?? [])}`;
    const some = alike.get(key);
    if (some) some.push(one);
    else alike.set(key, [one]);
  }
  const worstFirst = [...alike.values()].sort(
    ([a], [b]) => Number(a.status === DONE) - Number(b.status === DONE),
  );
  const hidden = worstFirst.slice(SHOWN).flat().length;
  return html`<ul class="results">
      ${worstFirst.slice(0, SHOWN).map(
        (some) =>
          html`<li data-names=${names(some, " ")} data-status=${some[0].status}>
            ${icon(some[0].status === DONE ? "check" : "close", "s")}<b>${namesOf(some)}</b>
            <span>${sentence(some[0], tried)}</span>
          </li>`,
      )}
    </ul>
    ${hidden > 0 ? html`<p class="quiet">${t("hidden", { count: hidden })}</p>` : nothing}`;
}

/** @param {BulkReport["results"]} some */
function namesOf(some) {
  const first = names(some.slice(0, NAMED), ", ");
  const count = some.length - NAMED;
  return count > 0 ? t("and_more_names", { names: first, count }) : first;
}

/** @param {BulkReport["results"]} some @param {string} between */
const names = (some, between) => some.map(({ name }) => name).join(between);

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
