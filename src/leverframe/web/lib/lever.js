// A lever: one press switches. It shows what was asked for until the state agrees, or why it stays.
//
//   new Lever(context, { label: "PWM0", name: () => "Fan", act: (on) => api.switchPwm(0, on) })
//
// Also: `tag: () => "PWM0"` what stands small beside the name; `inverted: () => true` to show on as
// off; `reason: () => "locked"` why it cannot be moved now; `notes: () => ["off in 8 s"]`.

import { html, nothing } from "../vendor/lit-html.js";
import { Refused } from "./api.js";
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
    const hindrance = reason();
    const given = name();
    const small = tag ? tag() : label;
    return html`<button
        type="button"
        class="lever"
        role="switch"
        aria-checked=${on ? "true" : "false"}
        aria-disabled=${hindrance ? "true" : nothing}
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

  /** @param {number} level */
  async #switch(level) {
    if (this.#options.reason()) return;
    this.#asked = level;
    this.#refusal = null;
    clearTimeout(this.#timer);
    this.#context.redraw();
    try {
      await this.#options.act(level === 1);
      this.#timer = setTimeout(() => this.#giveUp(), PATIENCE_MS);
    } catch (error) {
      this.#refusal = error instanceof Refused ? error.message : t("not_reached");
      this.#giveUp();
    }
  }

  #settle() {
    this.#asked = null;
    clearTimeout(this.#timer);
  }

  #giveUp() {
    this.#settle();
    this.#context.redraw();
  }
}
