// What an entry or a sentence is about, by its name, as a link to where it is shown.

import { html } from "../../../vendor/lit-html.js";
import { t } from "../../format/words.js";
import { address } from "../../frame/router.js";
import { codeName, kindOf, thingAddress, thingName } from "../things.js";

/** @typedef {{ name: string, address: string }} Link */

/** @param {Context} context @param {number} number @param {string} [name] */
export function ruleName({ settings }, number, name = "") {
  return name || settings?.rules[number - 1]?.name || String(number);
}

/** @param {Context} context @param {string} label @returns {Link} */
export function linkOf(context, label) {
  const [, rule] = /^rules\.(\d+)$/.exec(label) ?? [];
  if (rule) {
    const number = Number(rule) + 1;
    const name = t("why_rule", { rule: ruleName(context, number) });
    return { name, address: address("rules", { edit: number }) };
  }
  if (!kindOf(label).kind) return { name: codeName(context, label), address: "" };
  return { name: thingName(context, label), address: thingAddress(label) };
}

/** @param {Link} link */
export const linkTo = ({ name, address: to }) =>
  to ? html`<a class="name" href=${to}>${name}</a>` : html`<b>${name}</b>`;
