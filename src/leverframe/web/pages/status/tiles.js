// Readings and inputs as tiles: the name, the value, its trend, and the last hour as a line with
// the thresholds of the rules that use it. The whole tile opens the drawer.

import { html, nothing, svg } from "../../vendor/lit-html.js";
import { INPUTS, READINGS } from "../../lib/labels.js";
import { contactWord } from "../../lib/level_words.js";
import { shortMoment } from "../../lib/moments.js";
import { shown } from "../../lib/quantities.js";
import { thingAddress, thingName } from "../../lib/things.js";
import { t } from "../../lib/words.js";
import { HEIGHT, WIDTH, drawn, rise } from "./last_hour.js";

/** @import { LastHour } from "./last_hour.js" */

// What the board itself tells, whether or not something is connected.
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
    return this.#chosen([...READINGS, ...INPUTS]);
  }

  view() {
    const readings = this.#chosen(READINGS);
    const isSensed = readings.some((label) => !OWN.includes(label));
    return html`<div class="tiles">
        ${readings.map((label) => this.#reading(label))}
        ${this.#chosen(INPUTS).map((label) => this.#input(label))}
      </div>
      ${isSensed ? nothing : this.#teach()}`;
  }

  // What is there, and what is set up but was never seen.
  /** @param {string[]} labels */
  #chosen(labels) {
    const overview = this.#overview;
    return labels.filter(
      (label) =>
        overview.isVisible(label) && (overview.isPresent(label) || this.#isAwaited(label)),
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
    const { text, unit } = this.#overview.shown(label, known ?? null);
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
      trend: since ? t("finding_since", { time: this.#short(since) }) : this.#unchanged(label),
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
  #unchanged(label) {
    return this.#hour.line(label).length > 0 ? t("unchanged_hour") : nothing;
  }

  /** @param {string} label @param {(number | null)[]} line */
  #trend(label, line) {
    const risen = rise(line);
    if (risen === null) return nothing;
    const { text } = shown(label, Math.abs(risen));
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
    const { course, silence, limits } = drawn(line, this.#limits(label));
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
