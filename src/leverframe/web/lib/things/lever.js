// A lever: one press switches. It shows what was asked for until the state agrees, or why it stays.
// It has two looks: a row with a small one (`view()`), and the large one of a frame (`upright()`).
//
//   new Lever(context, { label: "PWM0", name: () => "Fan", act: (on) => api.switchPwm(0, on) })
//
// Also: `tag: () => "PWM0"` what stands small beside the name; `inverted: () => true` to show on as
// off; `reason: () => "locked"` why it cannot be moved now, and `explain: async () => "locked by
// admin"` the same at length, for who presses it; `notes: () => ["off in 8 s"]`.

import { html, nothing, svg } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { t } from "../format/words.js";
import { refusalView, Task } from "../forms/task.js";
import { stateWord } from "./labels.js";
import { outOfReach, standing } from "./lever_state.js";
import { thingName } from "./things.js";

// An unconfirmed order is forgotten after this time.
const PATIENCE_MS = 3000;

export class Lever {
  #context;
  #options;
  // The level that was asked for; null when nothing is waited for.
  /** @type {Signal<number | null>} */
  #asked = signal(null);
  #task = new Task();
  // What hindered the last press, at length; null when it hinders no more.
  /** @type {Signal<string | null>} */
  #explained = signal(null);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {Context} context @param {LeverSpec} options */
  constructor(context, options) {
    this.#context = context;
    const usual = { inverted: () => false, reason: () => null, notes: () => [] };
    this.#options = { ...usual, explain: async () => null, ...options };
  }

  view() {
    const { name, tag, inverted, reason, notes, label } = this.#options;
    const level = this.#context.live.state[label];
    this.#follow(level);
    const requested = this.#asked.value === null ? null : (this.#asked.value === 1) !== inverted();
    const { isOn, word, share, marks } = standing(this.#context, label);
    // That an account may only look stands once, in the header, as does a lost connection.
    const isToldAbove = this.#context.overview.isReadOnly || outOfReach(this.#context);
    const hindrance = isToldAbove ? "" : reason();
    const ownName = name();
    const small = tag ? tag() : label;
    return html`${leverRow({
      name: html`${ownName || label}${ownName && small ? html` <small>${small}</small>` : nothing}
      ${hindrance ? html`<small class="why">${hindrance}</small>` : nothing}
      ${notes().map((note) => html`<small class="soon">${note}</small>`)}`,
      ...{ isOn: requested ?? isOn, share, marks, asked: requested },
      word: requested === null ? word : "…",
      hindrance: reason(),
      press: () => this.#switch(level === 1 ? 0 : 1),
    })}
    ${this.#onRefused()}`;
  }

  // Upright, as in a frame. What hinders it is shown when it is pressed, not before. `place` keeps
  // ids unique where the lever is on the page twice.
  upright(place = "") {
    const { label, inverted } = this.#options;
    const level = this.#context.live.state[label];
    this.#follow(level);
    const { isOn, word, beneath, share, marks } = standing(this.#context, label);
    const requested = this.#asked.value === null ? null : (this.#asked.value === 1) !== inverted();
    const hindrance = this.#options.reason();
    return html`<button
        type="button"
        class="upright"
        role="switch"
        aria-checked=${isOn ? "true" : "false"}
        aria-label=${thingName(this.#context, label)}
        aria-describedby=${`${place}note-${label} ${place}who-${label}`}
        aria-disabled=${hindrance ? "true" : nothing}
        title=${hindrance ?? nothing}
        aria-busy=${requested === null ? nothing : "true"}
        data-marks=${marks.join(" ")}
        @click=${() => this.#switch(level === 1 ? 0 : 1)}
      >
        ${picture(share, marks, requested)}
        <span class="state"
          ><b>${word}</b
          ><small id=${`${place}note-${label}`}
            >${requested === null
                ? beneath
                : t("lever_asked", { state: stateWord(requested) })}</small
          ></span
        >
      </button>
      ${this.#onRefused()}`;
  }

  #onRefused() {
    return refusalView(this.#explained.value ?? this.#task.refusal());
  }

  /** @param {number} level */
  async #switch(level) {
    const hindrance = this.#options.reason();
    if (hindrance) {
      if (!this.#context.overview.isReadOnly) await this.#announce(hindrance);
      return;
    }
    this.#asked.value = level;
    clearTimeout(this.#timer);
    const isDone = await this.#task.run(() => this.#options.act(level === 1));
    if (isDone) this.#timer = setTimeout(() => this.#lapse(), PATIENCE_MS);
    else this.#settle();
  }

  /** @param {string} hindrance */
  async #announce(hindrance) {
    this.#explained.value = hindrance;
    this.#explained.value = (await this.#options.explain().catch(() => null)) ?? hindrance;
  }

  // What was waited for may have come, and what hindered it may have passed.
  /** @param {number | null | undefined} level */
  #follow(level) {
    if (this.#asked.value === level) this.#settle();
    if (!this.#options.reason()) this.#explained.value = null;
  }

  #settle() {
    this.#asked.value = null;
    clearTimeout(this.#timer);
  }

  // Answered, but nothing moved: something else has switched it back, or it cannot move.
  #lapse() {
    this.#task.say(t("lever_lapsed"));
    this.#settle();
  }
}

/**
 * @typedef {object} Row
 * @property {Template} name
 * @property {string} word
 * @property {boolean} isOn
 * @property {() => void} press
 * @property {number} [share]
 * @property {string[]} [marks]
 * @property {boolean | null} [asked]
 * @property {string | null} [hindrance] Why it cannot be moved now.
 */

// A small lever between a name and its word.
/** @param {Row} row */
export function leverRow({ name, word, isOn, press, hindrance, ...more }) {
  const marks = more.marks ?? [...(hindrance ? ["stale"] : []), ...(isOn ? ["on"] : [])];
  return html`<button
    type="button"
    class="lever"
    role="switch"
    aria-checked=${isOn ? "true" : "false"}
    aria-disabled=${hindrance ? "true" : nothing}
    title=${hindrance ?? nothing}
    data-marks=${marks.join(" ")}
    @click=${press}
  >
    <span class="name">${name}</span>
    ${picture(more.share ?? Number(isOn), marks, more.asked ?? null)}
    <span class="word">${word}</span>
  </button>`;
}

// Degrees from upright to either end.
const LEAN = 19;

/** @param {number} share @param {string[]} marks @param {boolean | null} requested */
function picture(share, marks, requested) {
  const lean = (2 * share - 1) * LEAN;
  const hasCollar = marks.includes("held") || marks.includes("locked");
  return html`<svg viewBox="0 0 76 88" aria-hidden="true">
    <path class="sector" d="M17 61a34 34 0 0 1 42 0L51 88H25zM26 56l-1.5-4.5M50 56l1.5-4.5" />
    ${requested === null
      ? nothing
      : svg`<path class="ghost" transform=${`rotate(${requested ? LEAN : -LEAN} 38 88)`}
          d="M35 88l1-54h4l1 54zM34 37V7h8v30z" />`}
    <g class="arm" .style=${`--lean: ${lean.toFixed(1)}deg`}>
      <path class="shaft" d="M35 88l1.2-54h3.6L41 88z" />
      <path class="catch" d="M45.5 13v16q0 5-5 9" />
      <rect class="grip" x="34" y="7" width="8" height="30" rx="4" />
      ${hasCollar
        ? svg`<rect class="collar" x="30" y="46" width="16" height="9" rx="2" />`
        : nothing}
    </g>
    <path class="foot" d="M29 88a9 9 0 0 1 18 0z" />
  </svg>`;
}
