// Who locked the outputs, and when.

import * as api from "./api.js";
import { shortMoment } from "./moments.js";
import { t } from "./words.js";

const LOCK = "output_flags.lock";

/** @param {Context} context */
export async function lockText({ live }) {
  const trail = await api.audit();
  const entry = trail.findLast(({ changes }) =>
    changes.some((change) => change.path === LOCK && change.new === true),
  );
  if (!entry) return t("lever_locked");
  const by = [entry.account, entry.source].filter(Boolean).join(", ") || entry.cause;
  return t("lever_locked_by", { by, time: shortMoment(entry.time, live.state.time) });
}
