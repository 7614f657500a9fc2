// What is edited here was changed by somebody else: said with what it was and what it is now.

import { html } from "../vendor/lit-html.js";
import { icon } from "./icon.js";
import { settingName, valueText } from "./setting_words.js";
import { isSame } from "./tree.js";
import { t } from "./words.js";

/**
 * @param {string} sentence
 * @param {[was: string, now: string]} values
 */
export const foreignNote = (sentence, [was, now]) =>
  html`<div class="foreign" role="status">
    <p>${icon("attention", "s")} ${sentence}</p>
    <dl>
      <dt>${t("foreign_was")}</dt>
      <dd>${was}</dd>
      <dt>${t("foreign_now")}</dt>
      <dd>${now}</dd>
    </dl>
  </div>`;

// Both in words; where these are the same, the settings that differ, such as a name or a delay.
/**
 * @template {object} T
 * @param {Context} context
 * @param {string} path of the setting that holds them
 * @param {T} was
 * @param {T | null | undefined} now
 * @param {(one: T) => string} told
 * @returns {[was: string, now: string]}
 */
export function bothTold(context, path, was, now, told) {
  if (!now) return [told(was), t("foreign_deleted")];
  const sentences = /** @type {[string, string]} */ ([was, now].map(told));
  if (sentences[0] !== sentences[1]) return sentences;
  const [before, after] = [was, now].map((one) => new Map(Object.entries(one)));
  const differing = [...after.keys()].filter((key) => !isSame(before.get(key), after.get(key)));
  const said = (/** @type {Map<string, unknown>} */ values) =>
    differing
      .map((key) => {
        const at = `${path}.${key}`;
        return `${settingName(context, at)}: ${valueText(context, at, values.get(key))}`;
      })
      .join("; ");
  return [said(before), said(after)];
}
