// The commands that delete a rule with its time window, and those that bring it back.

import { wireOf } from "../schedule/entry.js";
import { Draft } from "./draft.js";
import { dependence } from "./sentence.js";
import { goesWith, windowOfRule } from "./window.js";

/** @param {AdminContext} context @param {Settings} settings @param {number} index */
export function deletion({ commands }, settings, index) {
  const saved = settings.rules[index];
  const window = new Draft(commands, index, saved, undefined, settings).removalOfWindow();
  return [commands.get("eventdel").query({ A: index }), ...window];
}

// To be made before the deletion, from what is stored.
/** @param {AdminContext} context @param {Api.RuleReport[]} reports @param {number} index */
export function restoration({ commands, settings }, reports, index) {
  const [rule, last] = [settings.rules[index], settings.rules.length - 1];
  const command = reports.find(({ number }) => number === index + 1)?.command;
  if (!rule) return [];
  const items = [(command ?? "").replace(/^event=\d+/, `event=${last}`)];
  /** @param {string} name @param {ByLetter} values */
  const add = (name, values) => items.push(commands.get(name).query(values));
  if (rule.name) add("rulename", { A: last, B: rule.name });
  if (rule.permanent) add("eventper", { A: last, B: true });
  if (index !== last) add("rulemove", { A: last, B: index });
  // What depended on it has forgotten that.
  items.push(
    ...reports
      .filter(({ settings: other }) => dependence(other)[0] === index + 1)
      .map((report) => report.command ?? ""),
  );
  const window = windowOfRule(settings, rule);
  if (window && goesWith(settings, window, index)) {
    for (const { place, entry } of [window.begins, window.ends]) {
      add("schedset", wireOf(place, entry));
    }
  }
  if (rule.enabled) add("eventon", { A: index, B: true });
  return items.filter(Boolean);
}
