// What the controller answered: status, kind of content, and the body made readable.

import { html, nothing } from "../../vendor/lit-html.js";
import * as api from "../../lib/api.js";
import { t } from "../../lib/words.js";

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {string} type
 * @property {number} size
 * @property {string} text
 * @property {boolean} isText
 */

// More than this nobody reads on a page.
const MAX_LETTERS = 20_000;
const IS_TEXT = /json|xml|text|csv/;

// Sends a request and gives its answer; a refusal is an answer, too.
/** @param {Asked} request */
export async function answerTo(request) {
  const { status, type, content } = await api.ask(request);
  const isText = IS_TEXT.test(type);
  const text = isText ? await content.text() : "";
  return { status, type, size: content.size, text: pretty(type, text), isText };
}

/** @param {string} type */
const isJson = (type) => type.includes("json");

/** @param {string} type @param {string} text */
const pretty = (type, text) =>
  isJson(type) && text ? JSON.stringify(JSON.parse(text), null, 2) : text;

// The problem that a refusal tells; null for other answers.
/** @param {Answer} answer */
export function problemOf({ status, type, text }) {
  if (status < 400) return null;
  return isJson(type) ? JSON.parse(text) : { status, detail: `${status}` };
}

/** @param {Answer | null} answer */
export function answerView(answer) {
  if (!answer) return nothing;
  const { status, type, size, text, isText } = answer;
  return html`<section class="reply" aria-live="polite">
    <p>
      <strong class=${status < 400 ? "" : "refusal"}>${status}</strong>
      <span>${type}</span> <small>${t("bytes", { size })}</small>
    </p>
    ${isText && text ? html`<pre tabindex="0">${text.slice(0, MAX_LETTERS)}</pre>` : nothing}
    ${text.length > MAX_LETTERS ? html`<p class="note">${t("cut")}</p>` : nothing}
  </section>`;
}
