// A plan for a unit, and how it differs from its file, in the language of the page.

import { html, nothing } from "../vendor/lit-html.js";
import { settingName, settingValue, settingWords } from "../lib/setting_words.js";
import { fetchWords, inLanguage, serverText, t } from "../lib/words.js";
import { fileText } from "./file_words.js";

// Of a unit no names are known: its things are called what they are.
const CONTEXT = /** @type {Context} */ (
  /** @type {unknown} */ ({ overview: { name: () => "" }, settings: null })
);

/** @type {Awaited<ReturnType<typeof fetchWords>>} */
let commands = {};

// What the settings of these paths are called, and what commands do.
/** @param {string[]} paths */
export async function wordsFor(paths) {
  [commands] = await Promise.all([fetchWords("commands"), settingWords(paths)]);
}

/** @param {UnitPlan} plan */
export const pathsOf = ({ steps, left_out: leftOut }) =>
  [...steps.flatMap(({ changes }) => changes), ...leftOut].map(({ path }) => path);

/** @param {UnitPlan} plan */
export function planView({ steps, left_out: leftOut }) {
  const count = steps.length;
  return html`<p>${count ? t("plan_steps", { count }) : t("plan_nothing")}</p>
    <ol class="plan">
      ${steps.map(
        ({ doc, changes, more, request }) =>
          html`<li>
            ${commandText(doc)}
            <ul>
              ${changes.map((change) => html`<li>${changeText(change)}</li>`)}
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
            what: settingName(CONTEXT, path),
            reason: serverText(reason),
          })}
        </p>`,
    )}`;
}

// What a command does, in the first sentence of its description.
/** @param {string} doc */
function commandText(doc) {
  const entry = Object.values(commands).find(({ en }) => en === doc);
  const [first] = (entry ? inLanguage(entry) : doc).split(". ");
  return first.replace(/\.$/, "");
}

/** @param {UnitPlan["steps"][number]["changes"][number]} change */
function changeText({ path, old, new: now }) {
  const what = settingName(CONTEXT, path);
  if (old === null) return t("plan_set", { what, new: changedText(path, now) });
  return t("plan_change", { what, old: changedText(path, old), new: changedText(path, now) });
}

// Rules are told as in the file, other values as JSON.
/** @param {string} path @param {string} text */
function changedText(path, text) {
  const told = fileText(path, text);
  const isValue = told === text && path.split(".").length !== 2;
  return isValue ? settingValue(CONTEXT, path, text) : told;
}

/** @param {UnitDifference[]} differences */
export function sideBySide(differences) {
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
            <td>${settingName(CONTEXT, path)}</td>
            <td>${fileText(path, unit)}</td>
            <td>${fileText(path, file)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}
