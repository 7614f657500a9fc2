// Who changed what: when, why, by whom, and what, a line each; newest first.

import { t } from "../../lib/words.js";

/** @typedef {{ time: number, cause: string, who: string, lines: string[] }} Entry */

/** @param {AuditEntries} entries @returns {Entry[]} */
export function asEntries(entries) {
  return entries
    .map((entry) => ({
      time: entry.time,
      cause: entry.cause,
      who: whoOf(entry),
      lines: linesOf(entry),
    }))
    .reverse();
}

/** @param {AuditEntries[number]} audit */
const whoOf = ({ account, source, detail }) =>
  account ? [account, source].filter(Boolean).join(" · ") : detail;

/** @param {AuditEntries[number]} audit */
function linesOf({ changes, not_listed: more }) {
  const lines = changes.map(({ path, old, new: now }) =>
    old === null
      ? t("done_line", { path, now: inWords(now) })
      : t("changed_line", { path, old: inWords(old), now: inWords(now) }),
  );
  return more ? [...lines, t("not_listed", { more })] : lines;
}

/** @param {unknown} value */
const inWords = (value) => (typeof value === "string" ? `“${value}”` : JSON.stringify(value));

const CAUSES = [
  "command",
  "command_line",
  "firmware",
  "outbox",
  "rule",
  "rule_loop",
  "scenario",
  "schedule",
  "sign_in",
  "start",
  "timer",
  "watchdog",
];

// A cause in the reader's language; one that is not known here as the controller calls it.
/** @param {string} cause */
export function causeName(cause) {
  const key = cause.replace(/\W/g, "_");
  return CAUSES.includes(key) ? t(`cause_${key}`) : cause;
}
