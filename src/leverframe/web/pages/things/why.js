// Why a thing is as it is: the chain from a reading over a condition and a rule to it, and who
// switched it before.

import { html, nothing } from "../../vendor/lit-html.js";
import { shortMoment } from "../../lib/format/moments.js";
import { durationText, setText } from "../../lib/format/numbers.js";
import { PLACES, rich, t } from "../../lib/format/words.js";
import { address } from "../../lib/frame/router.js";
import * as api from "../../lib/live/api.js";
import { Followed } from "../../lib/live/live.js";
import { journalList, JournalReader } from "../../lib/things/journal.js";
import { isState, levelWord } from "../../lib/things/labels.js";
import { causeOf, icon } from "../../lib/things/signs.js";
import { kindOf, thingAddress, thingName, thingValue } from "../../lib/things/things.js";

/** @import { IconName } from "../../lib/things/signs.js" */

/** @typedef {Pick<LogEntries[number], "what" | "which" | "cause" | "by" | "time">} Seen */
/** @typedef {Seen & Pick<LogEntries[number], "number" | "after" | "figures" | "text">} Entry */
/** @typedef {{ icon: IconName, look?: string, text: Template, time: number }} Link */

const SWITCHED = ["on", "off", "pulse", "pulse_over", "pid_regulates"];
// Entries that led to one another.
const MAX_BEFORE = 4;
const MAX_LINES = 8;
const READ = 30;

// The newest entry that switched a thing; undefined where none is kept.
/** @param {LogEntries} entries @param {string} label */
export const lastSwitching = (entries, label) =>
  entries.findLast(({ what, which }) => which === label && SWITCHED.includes(what));

// The same for an account that may not read the journal: the state says what switched it last.
/** @param {Context} context @param {string} label @returns {Entry | undefined} */
export function lastSwitched({ live, overview }, label) {
  const last = live.state.switched?.[label];
  if (!last || kindOf(label).kind === "digital") return undefined;
  const { time, by } = last;
  const what = overview.isOn(label) ? "on" : "off";
  return { ...{ what, which: label, cause: by.kind, by, time }, ...NO_ENTRY };
}

const NO_ENTRY = { number: 0, after: 0, figures: {}, text: "" };

// Who it was, in a word or two: the name of a rule, an account, "return time".
/** @param {Seen} entry */
export function actorOf({ by, cause }) {
  if (by.name) return by.name;
  if (cause === "rule") return t("rule_number", { number: by.number ?? "" });
  if (cause === "timer") return timerWord(by.detail ?? "");
  return by.account || causeOf(cause).word();
}

/** @type {Record<string, string>} */
const TIMERS = {
  "return time": "by_return_time",
  pulse: "by_pulse",
  "periodic switching": "by_periodic",
  "start delay": "by_start_delay",
  "PID regulator": "by_timer_pid",
};
/** @param {string} detail */
const timerWord = (detail) => (TIMERS[detail] ? t(TIMERS[detail]) : detail);

export class Why {
  #context;
  #label;
  #journal;
  /** @type {Followed<LogEntries>} */
  #log;

  /** @param {Context} context @param {string} label */
  constructor(context, label) {
    this.#context = context;
    this.#label = label;
    this.#journal = new JournalReader({ which: label }, READ);
    this.#log = new Followed(context, async () => {
      const [entries] = await Promise.all([api.log(), this.#journal.read()]);
      return entries;
    });
  }

  // Only the administrator may read the journal.
  async open() {
    if (this.#context.isAdmin) await this.#log.open();
  }

  close() {
    this.#log.close();
  }

  view() {
    if (!this.#context.isAdmin) {
      const found = lastSwitched(this.#context, this.#label);
      return found ? this.#chain([], found) : nothing;
    }
    const entries = this.#log.value;
    if (entries === null) return nothing;
    const last = lastSwitching(entries, this.#label);
    return last ? this.#chain(entries, last) : nothing;
  }

  /** @param {LogEntries} entries @param {Entry} last */
  #chain(entries, last) {
    const links = this.#links(entries, last, MAX_BEFORE);
    const isOn = last.what !== "off";
    return html`<section>
      <h2>${t(isOn ? "why_on" : "why_off")}</h2>
      <ol class="chain">
        ${links.map((link) => this.#link(link))}
      </ol>
    </section>`;
  }

  /** @param {Link} link */
  #link({ icon: name, look = "", text, time }) {
    return html`<li>
      <span class=${look}>${icon(name)}</span><span>${text}</span>
      <time>${shortMoment(time, this.#context.live.state.time)}</time>
    </li>`;
  }

  // What led to an entry, and the entry itself.
  /** @param {LogEntries} entries @param {Entry} entry @param {number} left @returns {Link[]} */
  #links(entries, entry, left) {
    const before = entries.find(({ number }) => number === entry.after);
    const earlier =
      before && left > 0 && before.which !== entry.which
        ? this.#links(entries, before, left - 1)
        : [];
    return [...earlier, ...this.#decision(entry), this.#cause(entry), this.#change(entry)];
  }

  /** @param {Entry} entry @returns {Link[]} */
  #decision({ by, time }) {
    return (by.conditions ?? []).flatMap(({ label, value, compare, threshold, is_met: isMet }) => [
      {
        icon: /** @type {IconName} */ ("reading"),
        text: rich(t("reading_was", PLACES), {
          name: this.#nameOf(label),
          value: this.#formatValue(label, value),
        }),
        time,
      },
      {
        icon: /** @type {IconName} */ (isMet ? "check" : "close"),
        look: isMet ? "is-on" : "q",
        text: t(isMet ? "condition_met" : "condition_not_met", {
          condition: t(COMPARED[compare] ?? "compared_is", {
            value: isState(label)
              ? this.#formatValue(label, threshold)
              : setText(this.#context, label, threshold),
          }),
        }),
        time,
      },
    ]);
  }

  /** @param {Entry} entry @returns {Link} */
  #cause(entry) {
    const { by, cause, time } = entry;
    const { icon: name, look } = causeOf(cause, by.detail);
    const actor = actorOf(entry);
    const number = by.number ?? 1;
    /** @param {string} page @param {number} edit */
    const link = (page, edit) =>
      this.#context.isAdmin ? html`<a href=${address(page, { edit })}>${actor}</a>` : actor;
    /** @type {[string, Template]} */
    const [key, part] =
      cause === "rule"
        ? ["by_rule", link("rules", number)]
        : cause === "schedule"
          ? ["by_schedule", link("schedule", number - 1)]
          : cause === "timer"
            ? ["by_timer", by.seconds ? `${actor}, ${durationText(Math.round(by.seconds))}` : actor]
            : ["by_user", actor];
    // Without an account, who it was is the word of the cause: "by hand".
    const isWord = key === "by_user" && !by.account;
    return { icon: name, look, text: isWord ? actor : rich(t(key, PLACES), { who: part }), time };
  }

  /** @param {Entry} entry @returns {Link} */
  #change({ what, which, figures, time, text }) {
    if (!which || !SWITCHED.includes(what)) return { icon: "lever", text, time };
    const isNow = which === this.#label && what !== "off";
    const state = t(what === "off" ? "state_off" : "state_on");
    const word = isNow ? thingValue(this.#context, which) : state;
    const seconds = Number(figures.seconds ?? 0);
    const lasting = seconds > 0 ? ` ${t("for_time", { time: durationText(seconds) })}` : "";
    return {
      icon: "lever",
      look: what === "off" ? "q" : "is-on",
      text: html`<b>${thingName(this.#context, which)} ${word}</b>${lasting}`,
      time,
    };
  }

  // What happened to it, newest first, also before the last start.
  before() {
    const { entries } = this.#journal;
    if (entries.length < 2) return nothing;
    const isInput = kindOf(this.#label).kind === "digital";
    return html`<section>
      <h2>${t(isInput ? "what_happened" : "who_and_why")}</h2>
      ${journalList(this.#context, entries, MAX_LINES)}
    </section>`;
  }

  /** @param {string} label */
  #nameOf(label) {
    const name = thingName(this.#context, label);
    return html`<a class="name" href=${thingAddress(label)}>${name}</a>`;
  }

  /** @param {string} label @param {number | null} value */
  #formatValue(label, value) {
    if (value === null) return t("silent_word");
    if (isState(label)) return levelWord(this.#context, label, value === 1);
    const { text, unit } = this.#context.overview.formatValue(label, value);
    return `${text} ${unit}`.trim();
  }
}

/** @type {Record<string, string>} */
const COMPARED = { "<": "compared_below", ">=": "compared_least" };
