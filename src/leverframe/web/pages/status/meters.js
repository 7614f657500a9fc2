// What stands beside the levers: meters with their amounts, and what happened.

import { html, nothing, svg } from "../../vendor/lit-html.js";
import { t } from "../../lib/format/words.js";
import { dayStart } from "../../lib/format/zone.js";
import { address } from "../../lib/frame/router.js";
import * as api from "../../lib/live/api.js";
import { ShownMap } from "../../lib/live/drawing.js";
import { emptyJournal, journalList, JournalReader } from "../../lib/things/journal.js";
import { energyOf, METERS } from "../../lib/things/labels.js";
import { thingAddress, thingName } from "../../lib/things/things.js";

// Meters as a table: power now, energy of today and yesterday, and the hours of the last day.

const HOUR_S = 3600;
const HOURS = 48;
const BAR_PX = 22;

export class Meters {
  #context;
  /** @type {ShownMap<string, Amounts>} */
  #amounts = new ShownMap();

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
    const power = overview.formatValue(label);
    const known = this.#amounts.get(energy);
    /** @param {number | null | undefined} value */
    const amount = (value) => {
      const { text, unit, absent } = overview.formatValue(energy, value ?? null);
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

// What a counter has counted: today, yesterday, and in each hour of the last day.

const DAY_HOURS = 24;

/** @typedef {{ today: number | null, yesterday: number | null, hours: number[] }} Amounts */

// A counter only grows; one that falls was set back, and counts from there.
/**
 * @param {HistoryReply} history
 * @param {RawSeries & ReducedSeries} series
 * @param {number} yesterday When it began; a day need not have 24 hours.
 * @param {number} today
 * @returns {Amounts}
 */
export function amounts({ now, step, times }, series, yesterday, today) {
  const at = step === 0 ? series.times : times;
  const counts = step === 0 ? series.values : series.max;
  const lastHour = Math.floor(now / HOUR_S);
  const hours = new Array(DAY_HOURS).fill(0);
  const sums = { today: 0, yesterday: 0 };
  /** @type {number | null} */
  let before = null;
  let knownFrom = Infinity;
  counts.forEach((count, index) => {
    if (count === null) return;
    const time = at[index];
    const grown = before === null ? 0 : Math.max(0, count - before);
    before = count;
    knownFrom = Math.min(knownFrom, time);
    if (time >= today) sums.today += grown;
    else if (time >= yesterday) sums.yesterday += grown;
    const place = DAY_HOURS - 1 - (lastHour - Math.floor(time / HOUR_S));
    if (place >= 0 && place < DAY_HOURS) hours[place] += grown;
  });
  return {
    today: before === null ? null : sums.today,
    yesterday: knownFrom < today ? sums.yesterday : null,
    hours,
  };
}

// What happened and why, newest first: the journal, for those who may read it.

const LINES = 14;
const READ = 60;
const READ_AGAIN_MS = 400;

export class Happened {
  #context;
  #overview;
  #journal = new JournalReader({}, READ);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #heard;
  /** @type {Promise<void> | null} */
  #reading = null;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    this.#heard = context.live.heard;
    this.#overview = context.overview;
  }

  // One after the other: the next one asks only for what has come since.
  async read() {
    if (!this.#context.isAdmin) return;
    this.#reading = (this.#reading ?? Promise.resolve())
      .catch(() => {})
      .then(async () => {
        await this.#journal.read();
      });
    await this.#reading;
  }

  // The journal is read again a moment after the state has moved on.
  follow() {
    const { heard } = this.#context.live;
    if (!this.#context.isAdmin || heard === this.#heard) return;
    this.#heard = heard;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.read().catch(() => {});
    }, READ_AGAIN_MS);
  }

  close() {
    clearTimeout(this.#timer);
  }

  view() {
    if (!this.#context.isAdmin || !this.#overview.isVisible("log")) return nothing;
    const { entries } = this.#journal;
    return html`<section class="card sheet" aria-labelledby="happened">
      <header class="sect">
        <h2 id="happened">${t("page_log")}</h2>
        <a href=${address("log")}>${t("whole_journal")}</a>
      </header>
      ${entries.length === 0
        ? emptyJournal(this.#journal, t("nothing_yet"))
        : journalList(this.#context, entries, LINES)}
    </section>`;
  }
}
