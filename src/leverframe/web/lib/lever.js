// A lever: one press switches. It shows what was asked for until the state agrees, or why it stays.
// It has two looks: a row (`view()`), and the drawn lever of a frame (`upright()`).
//
//   new Lever(context, { label: "PWM0", name: () => "Fan", act: (on) => api.switchPwm(0, on) })
//
// Also: `tag: () => "PWM0"` what stands small beside the name; `inverted: () => true` to show on as
// off; `reason: () => "locked"` why it cannot be moved now; `notes: () => ["off in 8 s"]`.

import { html, nothing, svg } from "../vendor/lit-html.js";
import { Refused } from "./api.js";
import { stateWord, standing } from "./lever_state.js";
import { thingName } from "./things.js";
import { t } from "./words.js";

// An order that nobody confirms is forgotten after this time.
const PATIENCE_MS = 3000;

export class Lever {
  #context;
  #options;
  // The level that was asked for; null when nothing is waited for.
  /** @type {number | null} */
  #asked = null;
  /** @type {string | null} */
  #refusal = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {Context} context @param {LeverSpec} options */
  constructor(context, options) {
    this.#context = context;
    this.#options = { inverted: () => false, reason: () => null, notes: () => [], ...options };
  }

  view() {
    const { name, tag, inverted, reason, notes, label } = this.#options;
    const level = this.#context.live.state[label];
    if (this.#asked === level) this.#settle();
    const waiting = this.#asked !== null;
    const on = ((waiting ? this.#asked : level) === 1) !== inverted();
    // That an account may only look stands once, in the header.
    const hindrance = this.#context.overview.isReadOnly ? "" : reason();
    const given = name();
    const small = tag ? tag() : label;
    return html`<button
        type="button"
        class="lever"
        role="switch"
        aria-checked=${on ? "true" : "false"}
        aria-disabled=${reason() ? "true" : nothing}
        ?data-asked=${waiting}
        @click=${() => this.#switch(level === 1 ? 0 : 1)}
      >
        <span class="name">
          ${given || label}${given && small ? html` <small>${small}</small>` : nothing}
          ${hindrance ? html`<small class="why">${hindrance}</small>` : nothing}
          ${notes().map((note) => html`<small class="soon">${note}</small>`)}
        </span>
        <span class="slot" aria-hidden="true"><span class="knob"></span></span>
        <span class="word">${waiting ? "…" : t(on ? "state_on" : "state_off")}</span>
      </button>
      ${this.#refusal ? html`<p class="refusal" role="alert">${this.#refusal}</p>` : nothing}`;
  }

  // As it stands in a frame. What hinders it is told when it is pressed, not before.
  upright() {
    const { label, inverted } = this.#options;
    const level = this.#context.live.state[label];
    if (this.#asked === level) this.#settle();
    const { isOn, word, beneath, share, marks } = standing(this.#context, label);
    const asked = this.#asked === null ? null : (this.#asked === 1) !== inverted();
    const isIdle = marks.includes("stale") || marks.includes("look");
    return html`<button
        type="button"
        class="upright"
        role="switch"
        aria-checked=${isOn ? "true" : "false"}
        aria-label=${thingName(this.#context, label)}
        aria-describedby=${`note-${label} who-${label}`}
        aria-disabled=${isIdle || this.#options.reason() ? "true" : nothing}
        aria-busy=${asked === null ? nothing : "true"}
        data-marks=${marks.join(" ")}
        @click=${() => this.#switch(level === 1 ? 0 : 1)}
      >
        ${picture(share, marks, asked)}
        <span class="state"
          ><b>${word}</b
          ><small id=${`note-${label}`}
            >${asked === null ? beneath : t("lever_asked", { state: stateWord(asked) })}</small
          ></span
        >
      </button>
      ${this.#refusal ? html`<p class="refusal" role="alert">${this.#refusal}</p>` : nothing}`;
  }

  /** @param {number} level */
  async #switch(level) {
    const hindrance = this.#options.reason();
    if (hindrance) {
      this.#refusal = this.#context.overview.isReadOnly ? null : hindrance;
      this.#context.redraw();
      return;
    }
    this.#asked = level;
    this.#refusal = null;
    clearTimeout(this.#timer);
    this.#context.redraw();
    try {
      await this.#options.act(level === 1);
      this.#timer = setTimeout(() => this.#lapse(), PATIENCE_MS);
    } catch (error) {
      this.#refusal = error instanceof Refused ? error.message : t("not_reached");
      this.#giveUp();
    }
  }

  #settle() {
    this.#asked = null;
    clearTimeout(this.#timer);
  }

  // Answered, but nothing moved: something else has switched it back, or it cannot move.
  #lapse() {
    this.#refusal = t("lever_lapsed");
    this.#giveUp();
  }

  #giveUp() {
    this.#settle();
    this.#context.redraw();
  }
}

// Degrees from upright to either end.
const LEAN = 19;

/** @param {number} share @param {string[]} marks @param {boolean | null} asked */
function picture(share, marks, asked) {
  const lean = (2 * share - 1) * LEAN;
  const hasCollar = marks.includes("held") || marks.includes("locked");
  return html`<svg viewBox="0 0 76 88" aria-hidden="true">
    <path class="sector" d="M17 61a34 34 0 0 1 42 0L51 88H25zM26 56l-1.5-4.5M50 56l1.5-4.5" />
    ${asked === null
      ? nothing
      : svg`<path class="ghost" transform=${`rotate(${asked ? LEAN : -LEAN} 38 88)`}
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
