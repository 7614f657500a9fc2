// A moment in words: today's by its time alone.

import { clock, currentLanguage } from "./words.js";

const DAY_S = 86_400;

export function moment(seconds, now = seconds) {
  if (now - seconds < DAY_S) return clock(seconds);
  const options = { dateStyle: "medium", timeStyle: "short" };
  return new Date(seconds * 1000).toLocaleString(currentLanguage(), options);
}
