// Meters as a table: power now, energy of today and yesterday, and the hours of the last day.

import { html, nothing, svg } from "../../vendor/lit-html.js";
import * as api from "../../lib/api.js";
import { METERS, energyOf } from "../../lib/labels.js";
import { thingAddress, thingName } from "../../lib/things.js";
import { t } from "../../lib/words.js";
import { dayStart } from "../../lib/zone.js";
import { amounts } from "./amounts.js";

const HOUR_S = 3600;
const HOURS = 48;
const BAR_PX = 22;

/** @import { Amounts } from "./amounts.js" */

export class Meters {
  #context;
  /** @type {Map<string, Amounts>} */
  #amounts = new Map();

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
  }

  // The counters at the end of every hour of yesterday and today.
  async read() {
    const labels = this.#counting().map(energyOf);
    if (labels.length === 0) return;
    const now = this.#context.live.state.time;
    const [yesterday, today] = [dayStart(now, -1), dayStart(now)];
    const query = { labels: labels.join(","), from: today - HOURS * HOUR_S, to: now };
    const history = await api.history({ ...query, points: 3 * HOURS });
    for (const label of labels) {
      const series = history.series[label];
      if (series) this.#amounts.set(label, amounts(history, series, yesterday, today));
    }
    this.#context.redraw();
  }

  #counting() {
    const { overview, live } = this.#context;
    return METERS.filter(
      (label) =>
        overview.isVisible(label) &&
        overview.isPresent(label) &&
        (live.state[label] != null || Number(live.state[energyOf(label)]) > 0),
    );
  }

  view() {
    const counting = this.#counting();
    if (counting.length === 0) {
      return html`<p class="empty">
        ${t("no_meter")}
        ${this.#context.isAdmin
          ? html`<a href=${thingAddress("POWER1")}>${t("set_up_meter")}</a>`
          : nothing}
      </p>`;
    }
    return html`<table class="meters">
      <thead>
        <tr>
          ${["meter", "meter_now", "meter_today", "meter_yesterday"].map(
            (key) => html`<th scope="col">${t(key)}</th>`,
          )}
          <th scope="col" class="hours">${t("meter_hours")}</th>
        </tr>
      </thead>
      <tbody>
        ${counting.map((label) => this.#row(label))}
      </tbody>
    </table>`;
  }

  /** @param {string} label */
  #row(label) {
    const { overview, live } = this.#context;
    const energy = energyOf(label);
    const power = overview.shown(label);
    const known = this.#amounts.get(energy);
    /** @param {number | null | undefined} value */
    const amount = (value) => {
      const { text, unit, absent } = overview.shown(energy, value ?? null);
      return absent ? "—" : `${text} ${unit}`;
    };
    return html`<tr data-label=${label} ?data-stale=${power.absent || live.connection === "lost"}>
      <td><a class="name" href=${thingAddress(label)}>${thingName(this.#context, label)}</a></td>
      <td><b>${power.absent ? "—" : power.text}</b> ${power.absent ? "" : power.unit}</td>
      <td>${amount(known?.today)}</td>
      <td>${amount(known?.yesterday)}</td>
      <td class="hours">${known ? bars(known.hours) : nothing}</td>
    </tr>`;
  }
}

/** @param {number[]} hours */
function bars(hours) {
  const most = Math.max(...hours, 1e-9);
  return html`<svg
    viewBox="0 0 ${hours.length * 10} ${BAR_PX}"
    preserveAspectRatio="none"
    aria-hidden="true"
  >
    ${hours.map((value, index) => {
      const height = Math.max(1, (value / most) * BAR_PX);
      return svg`<rect x=${index * 10 + 1} y=${BAR_PX - height} width="8" height=${height} />`;
    })}
  </svg>`;
}
