// Times of day as people write them, by 24 hours in every language: `06:30`, `22:00`. Reading is
// the inverse of writing, and takes more ways than are written.
//
//   timeText(23400)         "06:30"; with seconds only where there are any
//   secondsOfDay("6:30")    23400; null where it is no time of day

/** @param {number} seconds */
export function timeText(seconds) {
  const parts = [seconds / 3600, (seconds / 60) % 60, seconds % 60].map(Math.floor);
  const shown = parts[2] ? parts : parts.slice(0, 2);
  return shown.map((part) => String(part).padStart(2, "0")).join(":");
}

// 6:30, 06:30:15, 6.30, 6h30, 18, 6:30 pm
const TIME = /^(\d{1,2})(?:\s*[:.h]\s*(\d{2})(?:[:.](\d{2}))?)?\s*(?:h|([ap])\.?m\.?)?$/;
const NOON = 12;

/** @param {string} text @returns {number | null} */
export function secondsOfDay(text) {
  const [, said, minutes = "0", seconds = "0", half] = TIME.exec(text.trim().toLowerCase()) ?? [];
  if (said === undefined) return null;
  const isHalf = half !== undefined;
  const hours = isHalf ? (Number(said) % NOON) + (half === "p" ? NOON : 0) : Number(said);
  const isTime = isHalf ? Number(said) >= 1 && Number(said) <= NOON : hours < 24;
  if (!isTime || Number(minutes) > 59 || Number(seconds) > 59) return null;
  return hours * 3600 + Number(minutes) * 60 + Number(seconds);
}
