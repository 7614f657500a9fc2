// A plan for a unit, and how it differs from its file, in the language of the page.

import { html, nothing } from "../vendor/lit-html.js";
import { settingName, settingWords } from "../lib/setting_words.js";
import { fetchWords, inLanguage, serverText, t } from "../lib/words.js";
import { fileText } from "./file_words.js";

/** @type {Awaited<ReturnType<typeof fetchWords>>} */
let commands = {};

// What the settings of these paths are called, and what commands do.
/** @param {string[]} paths */
export async function wordsFor(paths) {
  [commands] = await Promise.all([fetchWords("commands"), settingWords(paths)]);
}

/** @param {UnitPlan} plan */
export const pathsOf = ({ steps, left_out: leftOut, unseen }) =>
  [...steps.flatMap(({ changes }) => changes), ...leftOut, ...unseen].map(({ path }) => path);

/** @param {Context} context @param {UnitPlan} plan */
export function planView(context, { steps, left_out: leftOut, unseen }) {
  const count = steps.length;
  return html`<p>${count ? t("plan_steps", { count }) : t("plan_nothing")}</p>
    ${unseen.map((one) => html`<p class="problem">${unseenText(context, one)}</p>`)}
    <ol class="plan">
      ${steps.map(
        ({ doc, changes, more, request }) =>
          html`<li>
            ${commandText(doc)}
            <ul>
              ${changes.map((change) => html`<li>${changeText(context, change)}</li>`)}
              ${more ? html`<li>${t("plan_more", { count: more })}</li>` : nothing}
            </ul>
            <code>${request}</code>
          </li>`,
      )}
    </ol>
    ${leftOut.map(
      ({ path, reason }) =>
        html`<p class="problem">
          ${t("not_reached_setting", {
            what: settingName(context, path),
            reason: serverText(reason),
          })}
        </p>`,
    )}`;
}

// What the unit does not show, and whether it can be had back.
/** @param {Context} context @param {UnitPlan["unseen"][number]} setting */
function unseenText(context, { path, fate, value, is_lost: isLost }) {
  const values = { what: settingName(context, path), value: fileText(context, path, value) };
  const text = t(`plan_unseen_${fate}`, values);
  return isLost ? `${text} ${t("plan_unseen_lost")}` : text;
}

// What a command does: the first part of its description, without the list of its fields and what
// single values mean.
/** @param {string} doc */
function commandText(doc) {
  const entry = Object.values(commands).find(({ en }) => en === doc);
  const [first] = (entry ? inLanguage(entry) : doc).split(". ");
  return first.replace(/\s?[:;] .*$/s, "").replace(/\.$/, "");
}

/** @param {Context} context @param {UnitPlan["steps"][number]["changes"][number]} change */
function changeText(context, { path, old, new: later }) {
  const what = settingName(context, path);
  const now = fileText(context, path, later);
  if (old === null) return t("plan_set", { what, new: now });
  return t("plan_change", { what, old: fileText(context, path, old), new: now });
}

// How a unit differs from its file, one line each.
/** @param {Context} context @param {UnitDifference} difference */
export const driftLine = (context, { path, unit, file }) =>
  t("drift_line", {
    what: settingName(context, path),
    unit: fileText(context, path, unit),
    file: fileText(context, path, file),
  });

/** @param {Context} context @param {UnitDifference[]} differences */
export function sideBySide(context, differences) {
  if (differences.length === 0) return html`<p class="quiet">${t("drift_none")}</p>`;
  return html`<table class="sides">
    <thead>
      <tr>
        <th>${t("what")}</th>
        <th>${t("on_unit")}</th>
        <th>${t("in_file")}</th>
      </tr>
    </thead>
    <tbody>
      ${differences.map(
        ({ path, unit, file }) =>
          html`<tr>
            <td>${settingName(context, path)}</td>
            <td>${fileText(context, path, unit)}</td>
            <td>${fileText(context, path, file)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}
