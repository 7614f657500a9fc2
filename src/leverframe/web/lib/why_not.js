// Why something was not done, in words of the page.

import { isLoss, Refused } from "./api.js";
import { t } from "./words.js";

// A refusal, or that the connection was lost, for which browsers have words of their own.
/** @param {unknown} error */
export function whyNot(error) {
  if (error instanceof Refused) return error.message;
  if (!isLoss(error)) throw error;
  return t("connection_failed");
}
