// Readings and inputs as tiles: the name, the value, its trend, and the last hour as a line with
// the thresholds of the rules that use it. The whole tile opens the drawer.

import { html, nothing, svg } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { shortMoment } from "../../lib/format/moments.js";
import { formatValue } from "../../lib/format/numbers.js";
import { t } from "../../lib/format/words.js";
import * as api from "../../lib/live/api.js";
import { ShownMap } from "../../lib/live/drawing.js";
import { contactWord, INPUTS, READINGS } from "../../lib/things/labels.js";
import { thingAddress, thingName } from "../../lib/things/things.js";
import { isLeftOut } from "../../lib/things/unused.js";

// What the board itself measures, whatever is connected.
const OWN = ["TEMP", "VCC"];

export class Tiles {
  #context;
  #overview;
  #hour;
  // How often each value has changed while the page was open, and what it was last.
  /** @type {Map<string, number>} */
  #beats = new Map();
  /** @type {Map<string, number | null | undefined>} */
  #last = new Map();
  // What each was when it was last there.
  /** @type {Map<string, number>} */
  #known = new Map();

  /** @param {Context} context @param {LastHour} hour */
  constructor(context, hour) {
    this.#context = context;
    this.#overview = context.overview;
    this.#hour = hour;
  }

  /** @param {State} state */
  follow(state) {
    for (const label of [...READINGS, ...INPUTS]) {
      const value = state[label];
      if (this.#last.has(label) && this.#last.get(label) !== value) {
        this.#beats.set(label, (this.#beats.get(label) ?? 0) + 1);
      }
      this.#last.set(label, value);
      if (value != null) this.#known.set(label, value);
    }
  }

  get labels() {
    return this.#filterLabels([...READINGS, ...INPUTS]);
  }

  view() {
    const readings = this.#filterLabels(READINGS);
    const isSensed = readings.some((label) => !OWN.includes(label));
    return html`<div class="tiles">
        ${readings.map((label) => this.#reading(label))}
        ${this.#filterLabels(INPUTS).map((label) => this.#input(label))}
      </div>
      ${isSensed ? nothing : this.#teach()}`;
  }

  // What is there, and what is set up but was never seen.
  /** @param {string[]} labels */
  #filterLabels(labels) {
    const overview = this.#overview;
    return labels.filter(
      (label) =>
        overview.isVisible(label) &&
        (overview.isPresent(label) || this.#isAwaited(label)) &&
        !isLeftOut(this.#context, label),
    );
  }

  /** @param {string} label */
  #isAwaited(label) {
    const { findings = [] } = this.#context.live.state;
    return findings.some((one) => one.kind === "sensor_silent" && one.label === label);
  }

  // Empty places teach: what is missing, and for those who may, where to see to it.
  #teach() {
    return html`<p class="empty">
      ${t("no_sensor")}
      ${this.#context.isAdmin
        ? html`<a href=${thingAddress("all-sensors")}>${t("scan_bus")}</a>`
        : nothing}
    </p>`;
  }

  /** @param {string} label */
  #reading(label) {
    const line = this.#hour.line(label);
    const known = this.#known.get(label) ?? line.findLast((value) => value !== null);
    const { text, unit } = this.#overview.formatValue(label, known ?? null);
    return this.#tile(label, {
      value: known == null ? html`—` : html`${text}<i>${unit}</i>`,
      trend: this.#trend(label, line),
      picture: this.#line(label, line),
    });
  }

  /** @param {string} label */
  #input(label) {
    const on = this.#overview.isOn(label);
    const since = this.#hour.since(label);
    return this.#tile(label, {
      isWord: true,
      value: on === null ? html`—` : contactWord(on),
      trend: since ? t("finding_since", { time: this.#short(since) }) : this.#steadyText(label),
      picture: this.#strip(label),
    });
  }

  /**
   * @param {string} label
   * @param {{ value: Template, trend: Template, picture: Template, isWord?: boolean }} parts
   */
  #tile(label, { value, trend, picture, isWord = false }) {
    const beats = this.#beats.get(label);
    const silent = this.#silent(label);
    return html`<a
      class="tile"
      href=${thingAddress(label)}
      data-label=${label}
      data-beat=${beats === undefined ? nothing : beats % 2}
      ?data-absent=${silent !== null}
      ?data-stale=${silent !== null || this.#context.live.connection === "lost"}
    >
      <span class="label"
        ><span class="tendency">${silent ?? trend}</span>${thingName(this.#context, label)}</span
      >
      <span class=${isWord ? "value word" : "value"}>${value}</span>
      ${picture}
    </a>`;
  }

  // Since when nothing is heard of it; null while something is.
  /** @param {string} label */
  #silent(label) {
    if (this.#context.live.state[label] != null) return null;
    const since = this.#overview.absentSince(label);
    return since === null ? t("not_seen") : `▲ ${t("silent_since", { time: this.#short(since) })}`;
  }

  // Nothing is said before the hour is known.
  /** @param {string} label */
  #steadyText(label) {
    return this.#hour.line(label).length > 0 ? t("unchanged_hour") : nothing;
  }

  /** @param {string} label @param {(number | null)[]} line */
  #trend(label, line) {
    const risen = rise(line);
    if (risen === null) return nothing;
    const { text } = formatValue(label, Math.abs(risen));
    if (!/[1-9]/.test(text)) return `→ ${t("steady")}`;
    return `${risen > 0 ? "↗" : "↘"} ${t("in_an_hour", { change: text })}`;
  }

  /** @param {number} seconds */
  #short(seconds) {
    return shortMoment(seconds, this.#context.live.state.time);
  }

  /** @param {string} label */
  #limits(label) {
    const { rules = [] } = this.#context.live.state;
    const used = rules
      .filter(({ obstacle }) => obstacle?.kind !== "disabled")
      .flatMap(({ conditions }) => conditions.filter((one) => one.label === label));
    return [...new Set(used.map(({ threshold }) => threshold))];
  }

  /** @param {string} label @param {(number | null)[]} line */
  #line(label, line) {
    const { course, silence, limits } = linePath(line, this.#limits(label));
    return html`<svg
      class="spark"
      viewBox="0 0 ${WIDTH} ${HEIGHT}"
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      ${limits.map((path) => svg`<path class="limit" d=${path} />`)}
      <path class="course" d=${course} />
      ${silence ? svg`<path class="limit" d=${silence} />` : nothing}
    </svg>`;
  }

  /** @param {string} label */
  #strip(label) {
    const line = this.#hour.line(label);
    const inverted = this.#overview.isInverted(label);
    return html`<svg
      class="spark"
      viewBox="0 0 ${WIDTH} ${HEIGHT}"
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      ${stretches(line.map((level) => level !== null && (level === 1) !== inverted)).map(
        ([x, width]) => svg`<rect x=${x} y="18" width=${width} height="6" />`,
      )}
      <path d="M0 24.5H${WIDTH}" />
    </svg>`;
  }
}

// Where something holds: [first, how long] of each stretch.
/** @param {boolean[]} line */
function stretches(line) {
  /** @type {[number, number][]} */
  const found = [];
  line.forEach((holds, x) => {
    if (holds && line[x - 1]) found[found.length - 1][1] += 1;
    else if (holds) found.push([x, 1]);
  });
  return found;
}

// The last hour of every value as a small line: read once, then extended by what is heard.
//
// Each label has one value per minute; null where it was absent.

const MINUTE_S = 60;
const MINUTES = 60;
// Changes smaller than this share of the value are drawn flat.
const MIN_SPAN = 0.005;
// A threshold further away than this number of spans would flatten the line: it is left out.
const NEAR_SPANS = 3;
export const WIDTH = 59;
export const HEIGHT = 34;

/** @typedef {(number | null)[]} Minutes */

export class LastHour {
  // The minute that all lines end with, counted from 1970.
  #end = signal(0);
  /** @type {ShownMap<string, Minutes>} */
  #lines = new ShownMap();
  /** @type {Set<string>} */
  #asked = new Set();

  // Whether one of them has not been requested.
  /** @param {string[]} labels */
  lacks(labels) {
    return labels.some((label) => !this.#asked.has(label));
  }

  /** @param {string[]} labels */
  async read(labels) {
    if (labels.length === 0) return;
    this.#asked = new Set(labels);
    const history = await api.history({ labels: labels.join(","), points: MINUTES });
    this.#end.value = Math.floor(history.now / MINUTE_S);
    for (const [label, series] of Object.entries(history.series)) {
      this.#lines.set(
        label,
        history.step === 0 ? this.#fromRaw(series) : this.#fromReduced(history, series),
      );
    }
  }

  /** @param {State} state */
  follow(state) {
    if (this.#end.value === 0 || state.time === undefined) return;
    const now = Math.floor(state.time / MINUTE_S);
    const passed = Math.min(MINUTES, Math.max(0, now - this.#end.value));
    for (const [label, line] of this.#lines) {
      for (let minute = 0; minute < passed; minute++) line.push(line.at(-1) ?? null);
      line.splice(0, line.length - MINUTES);
      line[line.length - 1] = state[label] ?? null;
    }
    this.#end.value = Math.max(now, this.#end.value);
  }

  /** @param {string} label @returns {Minutes} */
  line(label) {
    return this.#lines.get(label) ?? [];
  }

  // When a label got the value that it has now, as far as it is known: at a start nothing was
  // before. Null where that was before the hour.
  /** @param {string} label */
  since(label) {
    const line = this.line(label);
    const now = line.at(-1) ?? null;
    const before = line.findLastIndex((value) => value !== null && value !== now);
    const first = line.indexOf(now, Math.max(before, 0));
    return first > 0 ? (this.#end.value - (line.length - 1 - first)) * MINUTE_S : null;
  }

  // Each value holds until the next one.
  /** @param {RawSeries} series */
  #fromRaw({ times, values }) {
    const line = [];
    let next = 0;
    let held = null;
    for (let minute = this.#end.value - MINUTES + 1; minute <= this.#end.value; minute++) {
      while (next < times.length && times[next] < (minute + 1) * MINUTE_S) held = values[next++];
      line.push(held);
    }
    return line;
  }

  /** @param {HistoryReply} history @param {ReducedSeries} series */
  #fromReduced({ times }, { mean }) {
    const line = new Array(MINUTES).fill(null);
    times.forEach((time, index) => {
      const place = Math.floor(time / MINUTE_S) - this.#end.value + MINUTES - 1;
      if (place >= 0 && place < MINUTES) line[place] = mean[index];
    });
    return line;
  }
}

// The paths of a picture of WIDTH by HEIGHT: the line, its end while it is silent, and the
// thresholds that are near enough.
/** @param {Minutes} line @param {number[]} limits */
export function linePath(line, limits) {
  const known = line.filter((value) => value !== null);
  if (known.length === 0) return { course: "", silence: "", limits: [] };
  const own = spanOf(known);
  const near = limits.filter(
    (limit) => Math.abs(limit - own.middle) <= own.span * (0.5 + NEAR_SPANS),
  );
  const { middle, span } = spanOf([...known, ...near]);
  /** @param {number} value */
  const y = (value) => (HEIGHT / 2 - ((value - middle) / span) * (HEIGHT - 8)).toFixed(1);
  const last = line.findLastIndex((value) => value !== null);
  return {
    course: line.map((value, x) => step(value, x, line, y)).join(""),
    silence: last < line.length - 1 ? `M${last} ${y(Number(line[last]))}H${WIDTH}` : "",
    limits: near.map((limit) => `M0 ${y(limit)}H${WIDTH}`),
  };
}

/** @param {number[]} values */
function spanOf(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const span = Math.max(high - low, Math.abs(high) * MIN_SPAN, 1e-9);
  return { middle: (low + high) / 2, span };
}

/**
 * @param {number | null} value
 * @param {number} x
 * @param {Minutes} line
 * @param {(value: number) => string} y
 */
function step(value, x, line, y) {
  if (value === null) return "";
  const isJoined = x > 0 && line[x - 1] !== null;
  return isJoined ? `L${x} ${y(value)}` : `M${x} ${y(value)}h0.01`;
}

// How much a line has risen in its hour; null where it has no beginning.
/** @param {Minutes} line */
export function rise(line) {
  const first = line.find((value) => value !== null);
  const last = line.findLast((value) => value !== null);
  return first == null || last == null ? null : last - first;
}
