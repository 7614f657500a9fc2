// The PID regulator: its setting, what it does at this moment, and how the last minutes went.

import { html, nothing } from "../vendor/lit-html.js";
import * as api from "../lib/api.js";
import { Form } from "../lib/form.js";
import { headingOf } from "../lib/names.js";
import { shown } from "../lib/quantities.js";
import { reading } from "../lib/reading.js";
import { decimal, t } from "../lib/words.js";
import { Course, SPAN_S } from "./pid/course.js";
import { Trend } from "./pid/trend.js";

export class Page {
  #context;
  #form;
  #stop;
  #hasGap;
  #trend = new Trend();
  #course = new Course();
  // The input and output whose course is shown.
  #shown = "";

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#form = settingCard(context);
    this.#hasGap = context.live.watchGaps();
    this.#stop = context.live.listen(() => this.#follow());
  }

  async open() {
    await this.#trend.start();
    await this.#read();
  }

  close() {
    this.#stop();
    this.#trend.end();
  }

  view() {
    // A saved setting may name another input or output.
    if (this.#isOther) this.#read();
    return html`<div class="cards">
      <section class="card across">
        <h2>${t("now")}</h2>
        ${this.#present()}
        <p class="legend">
          <span class="drawn input">${this.#source}</span>
          <span class="drawn target">${t("target")}</span>
          <span class="drawn driven">${t("duty")} PWM${this.#context.settings.pid.pwm}</span>
        </p>
        <div role="img" aria-label=${t("trend", { minutes: SPAN_S / 60 })}>
          ${this.#trend.element}
        </div>
      </section>
      ${this.#form.view()}
    </div>`;
  }

  get #source() {
    return this.#context.settings.pid.source;
  }

  get #output() {
    return `PWM${this.#context.settings.pid.pwm}.duty`;
  }

  #present() {
    const { state } = this.#context.live;
    const { pid } = state;
    if (!pid) return nothing;
    const input = shown(this.#source, state[this.#source]);
    return html`<div class="columns">
        ${reading({ name: t("regulator"), value: t(pid.enabled ? "running" : "standing") })}
        ${reading({ name: t("target"), value: decimal(pid.target, 1), unit: input.unit })}
        ${reading({
          name: `${t("source")} ${this.#source}`,
          value: input.text,
          unit: input.unit,
          absent: input.absent,
        })}
        ${reading({
          name: `${t("duty")} PWM${this.#context.settings.pid.pwm}`,
          value: decimal(pid.duty, 1),
          unit: "%",
          detail: pid.enabled ? t("terms", shownTerms(pid.terms)) : "",
        })}
      </div>
      ${pid.holding ? html`<p class="attention" role="status">${t("holding")}</p>` : nothing}`;
  }

  get #isOther() {
    return `${this.#source} ${this.#output}` !== this.#shown;
  }

  #follow() {
    if (this.#isOther) return;
    if (this.#hasGap()) {
      this.#read();
      return;
    }
    const { state } = this.#context.live;
    this.#course.add(state.time, state[this.#source], state.pid.target, state[this.#output]);
    this.#trend.show(this.#course);
  }

  async #read() {
    const [source, output] = [this.#source, this.#output];
    this.#shown = `${source} ${output}`;
    const { target } = this.#context.settings.pid;
    try {
      const now = this.#context.live.state.time;
      const answer = await api.history({
        labels: `${source},${output}`,
        from: now - SPAN_S,
        to: now,
        points: SPAN_S,
      });
      this.#course = Course.of(answer, { source, output, target });
      this.#trend.show(this.#course);
    } catch {
      // Without a history the course begins now.
      this.#course = new Course();
    }
  }
}

// Next to nothing is 0, never -0.
/** @param {Api.Terms} terms */
const shownTerms = (terms) =>
  Object.fromEntries(
    Object.entries(terms).map(([name, term]) => [name, decimal(Math.round(term * 10) / 10 + 0, 1)]),
  );

/** @param {AdminContext} context */
function settingCard(context) {
  return new Form(context, {
    title: "setting",
    note: "setting_note",
    fields: [
      { command: "pidvalue", letter: "A", label: "enabled" },
      { command: "pidvalue", letter: "B", label: "source" },
      { command: "pidvalue", letter: "C", label: "target" },
      { command: "pidvalue", letter: "G", label: "output", draw: outputs(context) },
      { command: "pidvalue", letter: "D", label: "kp", per: 100 },
      { command: "pidvalue", letter: "E", label: "ki", per: 100 },
      { command: "pidvalue", letter: "F", label: "kd", per: 100 },
    ],
  });
}

// The number of an output, chosen by its label and name.
/** @param {AdminContext} context */
const outputs =
  ({ settings }) =>
  (/** @type {DrawnField} */ field, /** @type {Drawn} */ { change }) =>
    html`<select id=${field.id} @change=${(event) => change(event.target.value)}>
      ${settings.pwm.map(
        (_, index) =>
          html`<option value=${index} .selected=${field.typed === String(index)}>
            ${headingOf(settings, `PWM${index}`)}
          </option>`,
      )}
    </select>`;
