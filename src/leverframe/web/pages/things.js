// Things: what is connected or set up, one list for each kind. A row opens the drawer of its thing.

import { html, nothing } from "../vendor/lit-html.js";
import { shortMoment } from "../lib/format/moments.js";
import { t } from "../lib/format/words.js";
import * as api from "../lib/live/api.js";
import { Followed } from "../lib/live/live.js";
import { isState } from "../lib/things/labels.js";
import { mover } from "../lib/things/lever_state.js";
import { causeOf, icon } from "../lib/things/signs.js";
import {
  kindOf,
  plateOf,
  currentValueText,
  thingAddress,
  thingName,
  things,
} from "../lib/things/things.js";
import { commonOf, LISTS } from "./things/lists.js";
import { lastSwitching, actorOf } from "./things/why.js";

/** @import { List } from "./things/lists.js" */

export class Page {
  #context;
  /** @type {Followed<LogEntries>} */
  #log;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    this.#log = new Followed(context, api.log);
  }

  // Only the administrator may read who did it.
  async open() {
    if (this.#context.isAdmin) await this.#log.open();
  }

  close() {
    this.#log.close();
  }

  view() {
    const all = things(this.#context);
    return html`<div class="things" ?data-lost=${this.#context.live.connection === "lost"}>
      ${LISTS.map((list) => {
        const own = all.filter(({ kind }) => list.kinds.includes(kind ?? ""));
        return own.length > 0 || this.#hasWays(list) ? this.#list(list, own) : nothing;
      })}
    </div>`;
  }

  /** @param {List} list @param {Thing[]} own */
  #list(list, own) {
    return html`<section class="card" aria-labelledby="list-${list.name}">
      <header>
        <h2 id="list-${list.name}">${t(`list_${list.name}`)}</h2>
        ${this.#hasWays(list) ? this.#ways(list) : nothing}
      </header>
      ${own.length === 0
        ? html`<p class="empty">${t("list_empty")}</p>`
        : html`<ul class="rows">
            ${own.map((thing) => this.#row(thing))}
          </ul>`}
    </section>`;
  }

  // Only the administrator adds and sets; a version may lack what a list is for.
  /** @param {List} list */
  #hasWays({ needs }) {
    const { isAdmin, commands } = this.#context;
    return isAdmin && (!needs || commands.find(needs) !== null);
  }

  /** @param {List} list */
  #ways(list) {
    const { settings } = this.#context;
    const common = commonOf(list);
    const free = settings && list.free ? list.free(settings) : null;
    const added = list.isFound ? common : free;
    const title = t(`list_${list.name}`);
    return html`<span class="ways">
      ${added
        ? html`<a href=${thingAddress(added)} aria-label=${`${title}: ${t("add")}`}
            >${icon("plus", "s")}<span>${t("add")}</span></a
          >`
        : nothing}
      ${common && common !== added
        ? html`<a href=${thingAddress(common)}>${thingName(this.#context, common)}</a>`
        : nothing}
    </span>`;
  }

  /** @param {Thing} thing */
  #row({ label, name, kind, value, address: href }) {
    const on = isState(label) && this.#context.overview.isOn(label) === true;
    const plate = plateOf(label);
    const note = this.#stateNote(label, value);
    return html`<li>
      <span class="plate-place"
        >${plate ? html`<span class="plate" aria-hidden="true">${plate}</span>` : nothing}</span
      >
      <a class="name" href=${href}>${name}</a>
      <span class="value" ?data-on=${on && kind !== "digital"}
        >${currentValueText(this.#context, label) || "—"}</span
      >
      ${note === nothing ? nothing : html`<span class="who">${note}</span>`}
    </li>`;
  }

  // Who did it last and when, since when there is no value, or of which device it is.
  /** @param {string} label @param {string} value */
  #stateNote(label, value) {
    const { overview } = this.#context;
    const absent = overview.absentSince(label);
    const { time: now } = this.#context.live.state;
    if (absent) {
      const time = shortMoment(absent, now);
      return html`<span class="attention">${t("silent_since", { time })}</span>`;
    }
    if (!value || this.#origin(label)) {
      const notes = [this.#origin(label), value ? "" : t("no_value")].filter(Boolean);
      return html`<small>${notes.join(" · ")}</small>`;
    }
    // No one switches an input: what is connected to it does.
    if (kindOf(label).kind === "digital") return nothing;
    const last = mover(this.#context, label) ?? this.#beforeTheStart(label);
    if (!last) return nothing;
    const { cause, name, time } = last;
    return html`<span class=${cause.look}>${icon(cause.icon, "s")} ${name}</span>
      <small>${time}</small>`;
  }

  // Devices and readings of the same kind have the same name: the slot distinguishes them.
  /** @param {string} label */
  #origin(label) {
    const { settings } = this.#context;
    const { kind, number } = kindOf(label);
    if (kind === "device") return t("row_slot", { slot: number });
    const { slot = 0 } = (kind === "mapped" && settings?.modbus_mapping[Number(number) - 1]) || {};
    if (!settings?.modbus_slots[slot - 1]) return "";
    return t("row_mapped", { slot, module: thingName(this.#context, `SLOT${slot}`) });
  }

  // The journal remembers longer than the levers.
  /** @param {string} label */
  #beforeTheStart(label) {
    const last = lastSwitching(this.#log.value ?? [], label);
    if (!last) return null;
    const time = shortMoment(last.time, this.#context.live.state.time);
    return { cause: causeOf(last.cause, last.detail), name: actorOf(last), time };
  }
}
