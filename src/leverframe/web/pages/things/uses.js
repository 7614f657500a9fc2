// Who uses a thing: rules, entries of the schedule, the watchdog, the regulator, other things that
// are made of it, the panel and texts, each with its address.

import { html, nothing } from "../../vendor/lit-html.js";
import { shortMoment } from "../../lib/format/moments.js";
import { t } from "../../lib/format/words.js";
import { address } from "../../lib/frame/router.js";
import { numberRules } from "../../lib/live/tree.js";
import { ELEMENTS, stateWord } from "../../lib/things/labels.js";
import { CAUSES, icon } from "../../lib/things/signs.js";
import { kindOf, thingAddress, thingName, thingValue } from "../../lib/things/things.js";

/** @import { IconName } from "../../lib/things/signs.js" */

/**
 * @typedef {object} Use
 * @property {string} kind the rest of a key `use_...`
 * @property {IconName} icon
 * @property {string} [look]
 * @property {string} name
 * @property {string} href
 * @property {string} [state]
 * @property {boolean} [isOn]
 */

// `code` is the number of its reading in texts, where it has one.
/** @param {AdminContext} context @param {string} label @param {string} [code] @returns {Use[]} */
export function usesOf(context, label, code) {
  const finders = [rules, schedule, watchdogs, regulator, otherThings, ofDevice, panel];
  const found = finders.flatMap((find) => find(context, label));
  return code ? [...found, ...texts(context.settings, code)] : found;
}

/** @param {AdminContext} context @param {string} label @returns {Use[]} */
function rules({ settings, live }, label) {
  // What writes to a Modbus module is an action, no label.
  const action = label.replace(/^WRITE/, "MODBUS WRITE ");
  return numberRules(settings.rules).flatMap(({ number, rule }) => {
    const second = rule.operator === "-" ? null : rule.source2;
    const isUsed = [rule.source, second].includes(label) || rule.action === action;
    if (!isUsed) return [];
    const isMet = live.state.rules?.find((one) => one.number === number)?.met === true;
    const state = !rule.enabled ? "state_off" : isMet ? "rule_met" : "rule_not_met";
    return [
      {
        kind: "rule",
        icon: "rule",
        look: CAUSES.rule.look,
        name: rule.name || t("rule_number", { number }),
        href: address("rules", { edit: number }),
        state: t(state),
        isOn: rule.enabled && isMet,
      },
    ];
  });
}

/** @param {AdminContext} context @param {string} label @returns {Use[]} */
function schedule({ settings, live }, label) {
  return settings.schedule.flatMap((entry, index) => {
    if (entry?.action !== label) return [];
    const next = live.state.schedule?.find((one) => one.index === index)?.next_run;
    return [
      {
        kind: "schedule",
        icon: "schedule",
        look: CAUSES.schedule.look,
        name: entry.name || t("entry_number", { number: index + 1 }),
        href: address("schedule", { edit: index }),
        state: next ? t("next_at", { time: shortMoment(next, live.state.time) }) : t("state_off"),
      },
    ];
  });
}

/** @param {AdminContext} context @param {string} label @returns {Use[]} */
function watchdogs(context, label) {
  return context.settings.watchdog.flatMap(({ enabled, output, host }, index) =>
    output === label && host
      ? [
          {
            kind: "watchdog",
            icon: "watchdog",
            look: CAUSES.watchdog.look,
            name: host,
            href: thingAddress(`WDOG${index + 1}`),
            state: stateWord(enabled),
          },
        ]
      : [],
  );
}

/** @param {AdminContext} context @param {string} label @returns {Use[]} */
function regulator({ settings: { pid }, live }, label) {
  const isConcerned = pid.enabled && [pid.source, `PWM${pid.pwm}`].includes(label);
  const state = stateWord(live.state.pid?.enabled === true);
  return isConcerned
    ? [{ kind: "pid", icon: "lever", name: t("page_pid"), href: address("pid"), state }]
    : [];
}

// Meters and differences that are made of it.
/** @param {AdminContext} context @param {string} label @returns {Use[]} */
function otherThings(context, label) {
  const { settings, overview } = context;
  const meters = settings.power.flatMap(({ current, voltage }, index) =>
    [current, voltage].includes(label) ? [`POWER${index + 1}`] : [],
  );
  const differences = settings.differentials.flatMap(({ first, second }, index) =>
    first !== second && [first, second].includes(label) ? [`DIFF${index + 1}`] : [],
  );
  return [...meters, ...differences]
    .filter((one) => overview.isPresent(one))
    .map((one) => ofThing(context, one));
}

/** @param {AdminContext} context @param {string} label @returns {Use} */
const ofThing = (context, label) => ({
  kind: "thing",
  icon: "things",
  name: thingName(context, label),
  href: thingAddress(label),
  state: thingValue(context, label),
});

// The readings of a Modbus device that are shown, and what rules write to it.
/** @param {AdminContext} context @param {string} label */
function ofDevice(context, label) {
  const { kind, number } = kindOf(label);
  if (kind !== "device") return [];
  const { modbus_mapping: mapping, modbus_writes: writes } = context.settings;
  /** @param {{ slot: number }[]} all @param {string} prefix */
  const inSlot = (all, prefix) =>
    all.flatMap(({ slot }, index) => (slot === Number(number) ? [`${prefix}${index + 1}`] : []));
  const found = [...inSlot(mapping, "m"), ...inSlot(writes, "WRITE")];
  return found.map((one) => ofThing(context, one));
}

// An element still in its corner was never placed.
/** @param {AdminContext} context @param {string} label @returns {Use[]} */
function panel({ overview }, label) {
  const place = overview.positions[ELEMENTS.findIndex((labels) => labels.includes(label))];
  return place?.some((offset) => offset > 0)
    ? [{ kind: "panel", icon: "things", name: t("page_panel"), href: address("panel") }]
    : [];
}

// Texts that name its reading by its code.
/** @param {Settings} settings @param {string} code @returns {Use[]} */
function texts({ email, http, oled, gsm }, code) {
  /** @param {string[]} lines @param {string} marker */
  const hasCode = (lines, marker) => lines.some((line) => line.includes(`${marker}${code}`));
  const sms = gsm.sms.flatMap(({ on_text: on, off_text: off }) => [on, off]);
  /** @type {[string, string, boolean][]} */
  const found = [
    ["messages", "email", hasCode([...email.on_texts, ...email.off_texts], "%")],
    ["messages", "http", hasCode(http.flatMap(({ url, body }) => [url, body]), "%")],
    ["messages", "gsm", hasCode(sms, "%")],
    ["system", "display", hasCode(oled.screens.flatMap(({ lines }) => lines), "!")],
  ];
  return found
    .filter(([, , isFound]) => isFound)
    .map(([page, part]) => ({
      kind: "text",
      icon: "message",
      name: t(`page_${part}`),
      href: address(page, { open: part }),
    }));
}

/** @param {Use[]} uses */
export function usesView(uses) {
  return html`<section>
    <h2>${t("used_by")}</h2>
    ${uses.length === 0
      ? html`<p class="q">${t("used_by_none")}</p>`
      : html`<ul class="uses">
          ${uses.map(
            (use) => html`<li>
              <span class=${use.look ?? "q"}>${icon(use.icon, "s")} ${t(`use_${use.kind}`)}</span>
              <a href=${use.href}>${use.name}</a>
              <span class=${use.isOn ? "is-on" : "q"}>${use.state ?? nothing}</span>
            </li>`,
          )}
        </ul>`}
  </section>`;
}
