// Says where the times of a page are those of, if the reader's clock shows another.

import { html, nothing } from "../vendor/lit-html.js";
import { durationText } from "./durations.js";
import { address } from "./router.js";
import { clock, t } from "./words.js";
import { readerAhead, shownZone, zoneName } from "./zone.js";

/** @param {number | null | undefined} now @param {Template} [more] */
export function zoneNote(now, more = nothing) {
  const said = now ? difference(now) : null;
  return said ? html`<p class="note zone">${said} ${more}</p>` : nothing;
}

// UTC that nobody has chosen is hardly the zone of the place.
/** @param {Context} context */
export const zoneNoteOf = ({ live, settings }) =>
  zoneNote(
    live.state.time,
    settings?.timezone === "" && zoneName() === "UTC"
      ? html`<a href=${address("system", { open: "interface" })}>${t("zone_choose")}</a>`
      : nothing,
  );

/** @param {number} now */
function difference(now) {
  const zone = zoneName().replaceAll("_", " ");
  if (zone && !shownZone()) return t("zone_unknown", { zone });
  const ahead = readerAhead(now);
  if (ahead === 0) return null;
  const values = { zone, time: clock(now).slice(0, 5), amount: durationText(Math.abs(ahead)) };
  return t(ahead > 0 ? "zone_ahead" : "zone_behind", values);
}
