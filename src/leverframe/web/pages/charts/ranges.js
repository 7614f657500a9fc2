// The ranges that charts offer, and how long each is in seconds.

const HOUR_S = 3600;
export const RANGES = {
  "1h": HOUR_S,
  "24h": 24 * HOUR_S,
  "7d": 7 * 24 * HOUR_S,
  "30d": 30 * 24 * HOUR_S,
  "1y": 365 * 24 * HOUR_S,
};
export const DEFAULT_RANGE = "24h";
// Nobody needs to see less than this many seconds.
export const LEAST_S = 10;
