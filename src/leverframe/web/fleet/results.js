// What became, or would become, of something for each controller: refusals first.

import { html, nothing } from "../vendor/lit-html.js";
import { contextOf, settingName, settingWords, valueText } from "../lib/format/setting_words.js";
import { serverText, t } from "../lib/format/words.js";
import { stateWord } from "../lib/things/labels.js";
import { icon } from "../lib/things/signs.js";
import { kindName } from "../lib/things/things.js";

const DONE = 200;
// Number of lines, and of names in each line.
const SHOWN = 30;
const NAMED = 12;
// Number of differing settings listed per controller.
const SETTINGS = 8;
const CONTEXT = contextOf();

// What the settings are called that would change.
/** @param {CommandEffect[]} effects */
export const effectWords = (effects) =>
  settingWords(effects.filter(({ is_state: isState }) => !isState).map(({ what }) => what));

/** @param {BulkReport} report */
export function results({ dry_run: tried, done, refused, results: all }) {
  return html`<p class="outcome" role="status">
      ${t(tried ? "would_sum" : "done_sum", { done, refused })}
    </p>
    ${resultList(all, tried ? "tried" : "done")}`;
}

// In what controllers differ from a template.
/** @param {MemberDrift[]} all */
export function comparison(all) {
  const refused = all.filter(({ status }) => status !== DONE).length;
  const other = all.filter(({ differs = 0 }) => differs > 0).length;
  const same = all.length - refused - other;
  const rows = all.map(({ name, status, detail, differs = 0, settings: effects = [] }) => {
    const named = effects.slice(0, SETTINGS);
    return { name, status, detail, effects: named, more: differs - named.length };
  });
  return html`<p class="outcome" role="status">${t("compared_sum", { same, other, refused })}</p>
    ${resultList(rows, "compared")}`;
}

/** @typedef {"tried" | "done" | "compared"} How the results were found */

// What is the same for several is said once.
/** @param {BulkReport["results"]} all @param {How} how */
export function resultList(all, how) {
  /** @type {Map<string, BulkReport["results"]>} */
  const alike = new Map();
  for (const one of all) {
    const key = `${one.status} ${one.detail ?? ""} ${JSON.stringify(one.effects ?? [])}`;
    const some = alike.get(key);
    if (some) some.push(one);
    else alike.set(key, [one]);
  }
  /** @param {BulkReport["results"][number]} one */
  const isOther = ({ effects = [] }) => how === "compared" && effects.length > 0;
  /** @param {BulkReport["results"]} some */
  const rank = ([one]) => (one.status === DONE ? 2 - Number(isOther(one)) : 0);
  const worstFirst = [...alike.values()].sort((a, b) => rank(a) - rank(b));
  const hidden = worstFirst.slice(SHOWN).flat().length;
  return html`<ul class="results">
      ${worstFirst.slice(0, SHOWN).map(
        (some) =>
          html`<li
            data-names=${names(some, " ")}
            data-status=${some[0].status}
            ?data-other=${isOther(some[0])}
          >
            ${icon(signOf(some[0].status, isOther(some[0])), "s")}<b>${namesOf(some)}</b>
            <span>${sentence(some[0], how)}</span>
          </li>`,
      )}
    </ul>
    ${hidden > 0 ? html`<p class="quiet">${t("hidden", { count: hidden })}</p>` : nothing}`;
}

/** @param {number} status @param {boolean} isOther */
function signOf(status, isOther) {
  if (status !== DONE) return "close";
  return isOther ? "attention" : "check";
}

/** @param {BulkReport["results"]} some */
function namesOf(some) {
  const first = names(some.slice(0, NAMED), ", ");
  const count = some.length - NAMED;
  return count > 0 ? t("and_more_names", { names: first, count }) : first;
}

/** @param {BulkReport["results"]} some @param {string} between */
const names = (some, between) => some.map(({ name }) => name).join(between);

/** @param {BulkReport["results"][number]} result @param {How} how */
function sentence({ status, detail, effects = [], more = 0 }, how) {
  if (status !== DONE) return t("refuses", { why: detail ? serverText(detail) : status });
  if (effects.length === 0) return t(RESULTS[how]);
  const texts = effects.map((one) => effect(one, how === "compared" ? "differs_in" : "becomes"));
  return [...texts, ...(more > 0 ? [t("more", { count: more })] : [])].join("; ");
}

const RESULTS = { tried: "would_be_done", done: "is_done", compared: "as_template" };

/** @param {CommandEffect} effect @param {string} differing */
function effect({ what, old, new: later, is_state: isState }, differing) {
  const name = isState ? kindName(what) : settingName(CONTEXT, what);
  if (old === null && later === null) return name;
  const [from, to] = [old, later].map((value) =>
    isState ? stateWord(value === 1) : valueText(CONTEXT, what, value),
  );
  return from === to
    ? t("stays", { what: name, now: to })
    : t(differing, { what: name, from, to });
}
