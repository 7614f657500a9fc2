// Entries of both lists in one form: when, why, by whom, and what, a line each; newest first.

import { t } from "../../lib/words.js";

export function asEntries(entries) {
  return entries
    .map((entry) => ({
      time: entry.time,
      cause: entry.cause,
      who: whoOf(entry),
      lines: entry.changes ? linesOf(entry) : [entry.text],
    }))
    .reverse();
}

const whoOf = ({ account, source, detail }) =>
  account ? [account, source].filter(Boolean).join(" · ") : detail;

function linesOf({ changes, not_listed: more }) {
  const lines = changes.map(({ path, old, new: now }) =>
    old === null
      ? t("done_line", { path, now: inWords(now) })
      : t("changed_line", { path, old: inWords(old), now: inWords(now) }),
  );
  return more ? [...lines, t("not_listed", { more })] : lines;
}

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
export function causeName(cause) {
  const key = cause.replace(/\W/g, "_");
  return CAUSES.includes(key) ? t(`cause_${key}`) : cause;
}
