// Status: everything at a glance. Levers switch, readings are read, the log says why.

import { html, nothing } from "../vendor/lit-html.js";
import * as api from "../lib/api.js";
import { clock, shown } from "../lib/quantities.js";

const OUTPUTS = ["OUT0", "OUT1", "OUT2", "OUT3", "OUT4", "OUT5"];
const PWMS = ["PWM0", "PWM1", "PWM2", "PWM3"];
const VARIABLES = [1, 2, 3, 4, 5, 6, 7, 8].map((number) => `EVENT${number}`);
const INPUTS = ["INPD1", "INPD2", "INPD3", "INPD4"];
const METERS = [1, 2, 3, 4, 5, 6];
const LOG_LINES = 12;
const READ_AGAIN_MS = 400;

export class Status {
  #asked = new Map();
  #refusal = null;
  #names = {};
  #log = [];
  #timer = null;
  #changed;

  constructor(changed) {
    this.#changed = changed;
  }

  async open() {
    try {
      this.#names = await api.names();
      this.#log = (await api.log()).slice(-LOG_LINES).reverse();
    } catch {
      // An account that may not read the log still sees the rest.
    }
    this.#changed();
  }

  // Names and log are read again a moment after the state has moved on.
  follow(state) {
    for (const [label, value] of this.#asked) {
      if (state[label] === value) this.#asked.delete(label);
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.open();
    }, READ_AGAIN_MS);
  }

  view(state) {
    return html`
      ${this.#refusal ? html`<p class="refusal" role="alert">${this.#refusal}</p>` : nothing}
      <div class="columns">
        <section aria-labelledby="outputs">
          <h2 id="outputs">Outputs</h2>
          ${OUTPUTS.map((label, index) =>
            this.#lever(state, label, this.#names[`oname${index}`], (on) =>
              api.switchOutput(index, on),
            ),
          )}
          <h2>PWM</h2>
          ${PWMS.map((label, index) => this.#pwm(state, label, index))}
        </section>
        <section aria-labelledby="readings">
          <h2 id="readings">Readings</h2>
          ${this.#readings(state)}
          <h2>Inputs</h2>
          ${INPUTS.map((label, index) =>
            this.#fact(label, this.#names[`idname${index}`], state[label] ? "1 open" : "0 closed"),
          )}
        </section>
        <section aria-labelledby="meters">
          <h2 id="meters">Meters</h2>
          ${this.#meters(state)}
          <h2>Event variables</h2>
          ${VARIABLES.map((label, index) =>
            this.#lever(state, label, "", (on) => api.switchVariable(index, on)),
          )}
        </section>
        <section aria-labelledby="log">
          <h2 id="log">What happened</h2>
          <ol class="log">
            ${this.#log.map(
              (entry) =>
                html`<li>
                  <time>${clock(entry.time)}</time>
                  <span>${entry.text}</span>
                  <small>${entry.cause} ${entry.detail}</small>
                </li>`,
            )}
          </ol>
        </section>
      </div>
    `;
  }

  #lever(state, label, name, act) {
    const on = state[label] === 1;
    const asked = this.#asked.get(label);
    const returns = state.returns_in?.[label];
    return html`<button
      class="lever"
      role="switch"
      aria-checked=${on ? "true" : "false"}
      ?data-asked=${asked !== undefined}
      @click=${() => this.#ask(label, on ? 0 : 1, act)}
    >
      <span class="name">${name || label}${name ? html`<small>${label}</small>` : nothing}</span>
      ${returns === undefined ? nothing : html`<small>${Math.ceil(returns)} s</small>`}
      <span class="slot" aria-hidden="true"><span class="knob"></span></span>
      <span class="word">${asked === undefined ? (on ? "on" : "off") : "…"}</span>
    </button>`;
  }

  #pwm(state, label, index) {
    const duty = state[`${label}.duty`] ?? 0;
    return html`${this.#lever(state, label, this.#names[`pname${index}`], (on) =>
        api.switchPwm(index, on),
      )}
      <label class="duty"
        ><span>duty</span>
        <input
          type="range"
          min="0"
          max="100"
          .value=${String(Math.round(duty))}
          aria-label="duty of ${label}"
          @change=${(event) => this.#try(() => api.setDuty(index, event.target.value))}
        />
        <output>${Math.round(duty)} %</output></label
      >`;
  }

  #readings(state) {
    const temperatures = (this.#names.tname ?? "").split("*");
    const named = {};
    for (let number = 1; number <= 8; number++) named[`DS${number}`] = temperatures[number - 1];
    Object.assign(named, { T1: temperatures[8], H1: temperatures[9], P1: this.#names.pressureName });
    for (let number = 1; number <= 6; number++) {
      named[`INPA${number}`] = this.#names[`iname${number - 1}`];
      named[`DIFF${number}`] = this.#names[`diffname${number - 1}`];
    }
    const plain = ["DEWPOINT", "CO2", "PM1.0", "PM2.5", "PM4.0", "PM10.0", "DISTANCE"];
    const labels = ["VCC", "TEMP", ...Object.keys(named), ...plain];
    const present = labels.filter((label) => state[label] != null || state.absent_since?.[label]);
    if (present.length <= 2 && !present.some((label) => label in named)) {
      return html`${present.map((label) => this.#reading(state, label, ""))}
        <p class="hint">No sensor has been seen yet.</p>`;
    }
    return present.map((label) => this.#reading(state, label, named[label]));
  }

  #reading(state, label, name) {
    const { text, unit, absent } = shown(label, state[label]);
    const since = state.absent_since?.[label];
    return html`<div class="reading" ?data-absent=${absent}>
      <span class="name">${name || label}${name ? html`<small>${label}</small>` : nothing}</span>
      <span class="value">${text}<small>${unit}</small></span>
      ${absent && since ? html`<small class="since">absent since ${clock(since)}</small>` : nothing}
    </div>`;
  }

  #meters(state) {
    const counting = METERS.filter(
      (number) => state[`POWER${number}`] != null || state[`ENERGY${number}`] > 0,
    );
    if (counting.length === 0) return html`<p class="hint">No meter has a reading yet.</p>`;
    return counting.map((number) => this.#meter(state, number));
  }

  #meter(state, number) {
    const name = this.#names[`pown${number - 1}`] || `POWER${number}`;
    return html`<div class="reading" ?data-absent=${state[`POWER${number}`] == null}>
      <span class="name">${name}</span>
      <span class="value">${shown(`POWER${number}`, state[`POWER${number}`]).text}</span>
      <small class="since">${shown(`ENERGY${number}`, state[`ENERGY${number}`]).text} in all</small>
    </div>`;
  }

  #fact(label, name, text) {
    return html`<div class="reading">
      <span class="name">${name || label}</span><span class="value small">${text}</span>
    </div>`;
  }

  #ask(label, value, act) {
    this.#asked.set(label, value);
    this.#changed();
    return this.#try(() => act(value), label);
  }

  async #try(act, label) {
    try {
      await act();
      this.#refusal = null;
    } catch (error) {
      this.#refusal = error.message;
    }
    if (label) this.#asked.delete(label);
    this.#changed();
  }
}
