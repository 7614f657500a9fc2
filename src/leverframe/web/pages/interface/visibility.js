// What the Status page shows: one tick for each place of the list, with what stands there.

import { html } from "../../vendor/lit-html.js";
import { Form } from "../../lib/form.js";
import { SHOWN_PLACES } from "../../lib/labels.js";
import { withName } from "../../lib/names.js";
import { t } from "../../lib/words.js";

export function visibilityCard(context) {
  const draw = (field, { change }) => ticks(context, field, change);
  return new Form(context, {
    title: "shown",
    note: "shown_note",
    fields: [{ command: "echeck", label: "shown_places", draw }],
  });
}

// Places behind those that have a meaning stay as they are.
function ticks(context, { id, typed }, change) {
  const places = SHOWN_PLACES.slice(0, typed.length);
  const every = (on) => change(typed.map((one, index) => (index < places.length ? on : one)));
  return html`<div class="tools">
      <button type="button" @click=${() => every(true)}>${t("show_all")}</button>
      <button type="button" @click=${() => every(false)}>${t("show_none")}</button>
    </div>
    <div id=${id} class="ticks all" role="group" aria-label=${t("shown_places")}>
      ${places.map(
        (place, index) => html`<label>
          <input
            type="checkbox"
            .checked=${typed[index]}
            @change=${(event) => change(typed.with(index, event.target.checked))}
          />
          <span>${nameOf(context, place)}</span>
        </label>`,
      )}
    </div>`;
}

function nameOf({ settings }, place) {
  if (place === "rules") return t("place_rules");
  return place === "log" ? t("place_log") : withName(settings, place);
}
