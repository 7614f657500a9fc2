// What changes of settings come to, as sentences: "Rule Heating added", "Pump renamed to Well",
// "3 settings of Bed changed"; one for each thing, or page, that they belong to.
//
// All words are those of the journal.

import { html } from "../../../vendor/lit-html.js";
import {
  contextOf,
  pageOfSetting,
  settingName,
  thingOfSetting,
  valueText,
} from "../../format/setting_words.js";
import { PLACES, rich, t } from "../../format/words.js";
import { address } from "../../frame/router.js";
import { codeName, kindOf, thingAddress, thingName } from "../things.js";

/** @import { SettingChange } from "../../format/setting_words.js" */

/** @typedef {{ name: string, address: string }} Link */
/** @typedef {{ key: string, values: Params, which: Link | null }} Statement */

// The lists in which places come and go, and how that is said.
/** @typedef {Record<"added" | "removed" | "on" | "off" | "changed", string>} KeysOfPlace */
/** @type {Record<string, KeysOfPlace>} */
const LISTS = {
  rules: {
    ...{ added: "rule_added", removed: "rule_removed", changed: "settings_of_rule" },
    ...{ on: "rule_on", off: "rule_off" },
  },
  schedule: {
    ...{ added: "entry_added", removed: "entry_removed", changed: "settings_of_entry" },
    ...{ on: "entry_on", off: "entry_off" },
  },
};
const NAME = /^\w+\.\d+\.name$/;
const IN_LIST = /^(rules|schedule)\.(\d+)\./;

// A place of a list, a thing, or the page that sets it; "" where it is newer than these pages.
/** @param {string} path */
function ownerOf(path) {
  const [, list, place] = IN_LIST.exec(path) ?? [];
  if (list) return `${list}.${place}`;
  return thingOfSetting(path) || (pageOfSetting(path) ?? "");
}

/** @param {SettingChange} change */
const isNew = (change) => "new" in change && !("old" in change);
/** @param {SettingChange} change */
const isGone = (change) => "old" in change && !("new" in change);

// `leftOut` is the number of changes that are known only by their number.
/** @param {Context} context @param {SettingChange[]} changes @param {number} [leftOut] */
export function statementsOf(context, changes, leftOut = 0) {
  const owners = [...Map.groupBy(changes, ({ path }) => ownerOf(path))];
  const [[first] = [""]] = owners;
  const count = changes.length + leftOut;
  if (!first) return [{ key: "what_settings", values: { count }, which: null }];
  const removed = removedNames(changes);
  const more = owners.length === 1 ? leftOut : 0;
  return owners
    .filter(([owner, own]) => !isMoved(owner, own, removed))
    .map(([owner, own]) => statementOf(context, owner, own, more, removed))
    .sort((one, other) => weight(one) - weight(other));
}

// What came or went says more than how many settings differ.
/** @param {Statement} statement */
const weight = ({ key }) => Number(/settings/.test(key));

// Whether rules or entries came, went, or were switched.
/** @param {SettingChange[]} changes */
export const isOfPlaces = (changes) =>
  changes.some((one) => IN_LIST.test(one.path) && (isNew(one) || isGone(one) || isSwitch(one)));

const SWITCH = /^(rules\.\d+\.enabled|schedule\.\d+\.active)$/;
/** @param {SettingChange} change */
const isSwitch = ({ path, old, new: now }) =>
  SWITCH.test(path) && old !== undefined && now !== undefined;

/**
 * @param {Context} context
 * @param {string} owner
 * @param {SettingChange[]} changes
 * @param {number} more
 * @param {Record<string, string[]>} removed
 * @returns {Statement}
 */
function statementOf(context, owner, changes, more, removed) {
  const count = changes.length + more;
  const [list, place] = owner.split(".");
  if (LISTS[list]) return statementOfPlace(context, list, place, changes, count, removed[list]);
  const label = thingOfSetting(changes[0].path);
  if (!label) {
    const which = { name: t(`page_${owner}`), address: address(owner) };
    return { key: "settings_of", values: { count }, which };
  }
  const [only] = changes;
  const which = linkOf(context, label);
  if (count === 1 && only.path.endsWith(".name") && only.new && "old" in only) {
    const old = String(only.old || thingName(contextOf(), label));
    return { key: "thing_renamed", values: { old }, which: { ...which, name: String(only.new) } };
  }
  const key = count > 1 && changes.every(isNew) ? "settings_added" : "settings_of";
  return { key, values: { count }, which };
}

/**
 * @param {Context} context
 * @param {string} list
 * @param {string} place
 * @param {SettingChange[]} changes
 * @param {number} count
 * @param {string[]} removed
 * @returns {Statement}
 */
function statementOfPlace(context, list, place, changes, count, removed) {
  const keys = LISTS[list];
  const number = String(Number(place) + 1);
  const at = address(list, list === "rules" ? { edit: number } : {});
  if (changes.every(isNew)) {
    const [name = number] = textsOf(changes, "new");
    return { key: keys.added, values: {}, which: { name, address: at } };
  }
  if (changes.every(isGone)) {
    const name = removed.shift() ?? number;
    return { key: keys.removed, values: {}, which: { name, address: "" } };
  }
  const which = { name: placeName(context, list, Number(place)), address: at };
  const [only] = changes;
  if (count === 1 && isSwitch(only)) {
    return { key: only.new ? keys.on : keys.off, values: {}, which };
  }
  return { key: keys.changed, values: { count }, which };
}

/** @param {Context} context @param {string} list @param {number} place */
function placeName({ settings }, list, place) {
  const entries = list === "rules" ? settings?.rules : settings?.schedule;
  return entries?.[place]?.name || String(place + 1);
}

// Entries move up where one before them is removed: that is no change of theirs.
/**
 * @param {string} owner
 * @param {SettingChange[]} changes
 * @param {Record<string, string[]>} removed
 */
function isMoved(owner, changes, removed) {
  const [list] = owner.split(".");
  const isRenamed = textsOf(changes, "old").length > 0 && textsOf(changes, "new").length > 0;
  return isRenamed && removed[list]?.length > 0;
}

/** @param {SettingChange[]} changes @param {"old" | "new"} which */
const textsOf = (changes, which) =>
  changes
    .filter((change) => NAME.test(change.path) && change[which])
    .map((change) => String(change[which]));

// By list that became shorter: the names that are no longer there. Entries move up where one before
// them is removed, so that the place that is gone had the name of another one.
/** @param {SettingChange[]} changes @returns {Record<string, string[]>} */
function removedNames(changes) {
  return Object.fromEntries(
    Object.keys(LISTS).map((list) => {
      const own = changes.filter(({ path }) => path.startsWith(`${list}.`));
      const left = textsOf(own, "new");
      if (!own.some(isGone)) return [list, []];
      const gone = textsOf(own, "old").filter((name) => {
        const at = left.indexOf(name);
        if (at >= 0) left.splice(at, 1);
        return at < 0;
      });
      return [list, gone];
    }),
  );
}

// The audit trail says null for no value, and a field of an entry may have none: what its place
// switches is always there.
const OF_PLACE = /^((?:rules|schedule)\.\d+\.)action$/;

/**
 * The places that came or went, and the changes that this sums up.
 * @template {{ path: string, old: unknown, new: unknown }} T
 * @param {Context} context
 * @param {T[]} changes
 */
export function placesThatCameOrWent(context, changes) {
  const places = changes.flatMap(({ path, old, new: now }) => {
    const [, place] = OF_PLACE.exec(path) ?? [];
    return place && (old === null || now === null) ? [place] : [];
  });
  // What moved up is none of its own.
  const gone = changes.flatMap(({ path, new: now }) =>
    OF_PLACE.test(path) && now === null ? [path.split(".")[0]] : [],
  );
  for (const { path } of changes) {
    const [list, place] = path.split(".");
    if (NAME.test(path) && gone.includes(list)) places.push(`${list}.${place}.`);
  }
  const isOwn = (/** @type {T} */ { path }) => places.some((place) => path.startsWith(place));
  const known = changes.filter((one) => isOwn(one) || NAME.test(one.path)).map(withoutNull);
  const statements = places.length === 0 ? [] : statementsOf(context, known);
  return {
    statements: statements.filter(({ key }) => CAME_OR_WENT.includes(key)),
    own: changes.filter(isOwn),
  };
}

const CAME_OR_WENT = Object.values(LISTS).flatMap(({ added, removed }) => [added, removed]);

/** @param {{ path: string, old: unknown, new: unknown }} change @returns {SettingChange} */
const withoutNull = ({ path, old, new: now }) => ({
  path,
  ...(old === null ? {} : { old }),
  ...(now === null ? {} : { new: now }),
});

const { which: WHICH } = /** @type {Record<string, string>} */ (PLACES);

/** @param {Statement} statement @returns {Template} */
export const statementView = ({ key, values, which }) =>
  which ? rich(t(key, { ...values, which: WHICH }), { which: linkTo(which) }) : t(key, values);

/** @param {Statement} statement */
export const statementText = ({ key, values, which }) =>
  t(key, { ...values, which: which?.name ?? "" });

/** @param {Context} context @param {SettingChange} change */
export function changeLine(context, change) {
  const { path } = change;
  const [old, now] = [change.old, change.new].map((one) => valueText(context, path, one));
  const values = { path: settingName(context, path), old, new: now };
  if (!("old" in change) && !("new" in change)) return t("setting_secret", values);
  if (!("new" in change)) return t("setting_gone", values);
  return t("old" in change ? "setting_changed" : "setting_set", values);
}

// What a sentence is about, by its name, as a link to where it is shown.

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
