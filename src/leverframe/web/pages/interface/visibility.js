// What the Status page shows: one tick for each place of the list, with what stands there.

import { html } from "../../vendor/lit-html.js";
import { Form } from "../../lib/form.js";
import { SHOWN_PLACES } from "../../lib/labels.js";
import { withName } from "../../lib/names.js";
import { t } from "../../lib/words.js";

/** @param {AdminContext} context */
export function visibilityCard(context) {
  /** @param {DrawnField} field @param {Drawn} drawn */
  const draw = (field, { change }) => ticks(context, field, change);
  return new Form(context, {
    title: "shown",
    note: "shown_note",
    fields: [{ command: "echeck", label: "shown_places", draw }],
  });
}

// Places behind those that have a meaning stay as they are.
/**
 * @param {AdminContext} context
 * @param {DrawnField} field
 * @param {(typed: Typed) => void} change
 */
function ticks(context, { id, typed: all }, change) {
  const typed = /** @type {boolean[]} */ (all);
  const places = SHOWN_PLACES.slice(0, typed.length);
  /** @param {boolean} on */
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

/** @param {AdminContext} context @param {string} place */
function nameOf({ settings }, place) {
  if (place === "rules") return t("place_rules");
  return place === "log" ? t("place_log") : withName(settings, place);
}
