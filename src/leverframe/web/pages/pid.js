// The PID regulator: its setting, what it does at this moment, and how the last minutes went.

import { html, nothing } from "../vendor/lit-html.js";
import { numberOf, numberText } from "../lib/format/numbers.js";
import { decimal, t } from "../lib/format/words.js";
import { optionsOf, reading } from "../lib/forms/controls.js";
import { Form } from "../lib/forms/form.js";
import { choices } from "../lib/forms/schema.js";
import { Task } from "../lib/forms/task.js";
import * as api from "../lib/live/api.js";
import { stateWord } from "../lib/things/labels.js";
import { leverRow } from "../lib/things/lever.js";
import { outOfReach } from "../lib/things/lever_state.js";
import { Switches } from "../lib/things/switches.js";
import { thingName } from "../lib/things/things.js";
import { StepCard } from "./pid/step_card.js";
import { Course, SPAN_S, Trend } from "./pid/trend.js";

export class Page {
  #context;
  #form;
  #stop;
  #hasGap;
  #trend = new Trend();
  #course = new Course();
  #step;
  #switches;
  #task = new Task();
  // The input and output whose course is shown.
  #shown = "";

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#form = settingCard(context);
    this.#step = new StepCard(
      () => this.#gains(),
      () => this.#typedUnit,
    );
    this.#switches = new Switches(context);
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
    return html`<div class="regulator">
      <div class="drawn-side">
        <section class="card">
          <h2>${t("now")}</h2>
          <div class="levers">
            ${this.#lever()} ${this.#switches.lever(`PWM${this.#context.settings.pid.pwm}`)}
          </div>
          ${this.#task.view()} ${this.#present()}
          <p class="legend">
            <span class="drawn input">${thingName(this.#context, this.#source)}</span>
            <span class="drawn target">${t("target")}</span>
            <span class="drawn driven">${this.#dutyName}</span>
          </p>
          <div role="img" aria-label=${t("trend", { minutes: SPAN_S / 60 })}>
            ${this.#trend.element}
          </div>
        </section>
        ${this.#step.view()}
      </div>
      ${this.#form.view()}
    </div>`;
  }

  // The regulator itself, beside the lever of the output that it drives.
  #lever() {
    const on = this.#context.live.state.pid?.enabled === true;
    return leverRow({
      name: t("regulator"),
      word: stateWord(on),
      isOn: on,
      hindrance: outOfReach(this.#context),
      press: () => this.#regulate(!on),
    });
  }

  /** @param {boolean} on */
  async #regulate(on) {
    const hindrance = outOfReach(this.#context);
    if (hindrance) return this.#task.say(hindrance);
    const { source, target, kp, ki, kd, pwm } = this.#context.settings.pid;
    const values = { A: on, B: source, C: target, D: kp, E: ki, F: kd, G: pwm };
    await this.#task.run(async () => {
      await api.send(this.#context.commands.get("pidvalue").request(values).target);
      await this.#context.readSettings();
    });
  }

  // The gains as they are typed, so that they can be tried before they are saved.
  #gains() {
    const [kp, ki, kd] = ["D", "E", "F"].map((letter) => {
      return numberOf(String(this.#form.field("pidvalue", letter)?.typed ?? ""));
    });
    return { kp, ki, kd };
  }

  // Of the input as it is chosen, which may not be saved yet.
  get #typedUnit() {
    const chosen = this.#form.field("pidvalue", "B")?.typed ?? this.#source;
    return this.#context.overview.unit(String(chosen));
  }

  get #source() {
    return this.#context.settings.pid.source;
  }

  get #output() {
    return `PWM${this.#context.settings.pid.pwm}.duty`;
  }

  get #dutyName() {
    return t("duty_of", { name: thingName(this.#context, `PWM${this.#context.settings.pid.pwm}`) });
  }

  #present() {
    const { state } = this.#context.live;
    const { pid } = state;
    if (!pid) return nothing;
    const input = this.#context.overview.formatValue(this.#source);
    return html`<div class="columns">
        ${reading({ name: t("target"), value: numberText(pid.target), unit: input.unit })}
        ${reading({
          name: thingName(this.#context, this.#source),
          value: input.text,
          unit: input.unit,
          absent: input.absent,
        })}
        ${reading({
          name: this.#dutyName,
          value: decimal(pid.duty, 1),
          unit: "%",
          detail: pid.enabled ? t("terms", termsText(pid.terms)) : "",
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
    this.#trend.show(this.#course, this.#context.overview.unit(this.#source));
  }

  async #read() {
    const { live } = this.#context;
    const { heard } = live;
    const [source, output] = [this.#source, this.#output];
    const shown = `${source} ${output}`;
    this.#shown = shown;
    // Without a history the course begins now.
    const course = await this.#readRecorded(source, output).catch(() => new Course());
    // Another input or output may have been saved since then.
    if (shown !== this.#shown) return;
    this.#course = course;
    if (course.times.length > 0) this.#trend.show(course, this.#context.overview.unit(source));
    // The answer may be older than the last message.
    if (live.heard !== heard) this.#follow();
  }

  /** @param {string} source @param {string} output */
  async #readRecorded(source, output) {
    const { live, settings } = this.#context;
    const { target } = settings.pid;
    const [from, to] = [live.state.time - SPAN_S, live.state.time];
    const labels = `${source},${output}`;
    return Course.of(await api.history({ labels, from, to, points: SPAN_S }), {
      source,
      output,
      target,
    });
  }
}

// Next to nothing is 0, never -0.
/** @param {Api.Terms} terms */
const termsText = (terms) =>
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
      { command: "pidvalue", letter: "B", label: "source", draw: inputs(context) },
      { command: "pidvalue", letter: "C", label: "target" },
      { command: "pidvalue", letter: "G", label: "output", draw: outputs(context) },
      { command: "pidvalue", letter: "D", label: "kp", per: 100 },
      { command: "pidvalue", letter: "E", label: "ki", per: 100 },
      { command: "pidvalue", letter: "F", label: "kd", per: 100 },
    ],
  });
}

// An input, chosen by its name.
/** @param {AdminContext} context */
const inputs =
  (context) =>
  (/** @type {DrawnField} */ field, /** @type {Drawn} */ { schema, change }) =>
    html`<select id=${field.id} @change=${(event) => change(event.target.value)}>
      ${optionsOf(
        choices(schema).map(([label]) => [label, thingName(context, label)]),
        String(field.typed),
      )}
    </select>`;

// The number of an output, chosen by its name.
/** @param {AdminContext} context */
const outputs =
  (context) =>
  (/** @type {DrawnField} */ field, /** @type {Drawn} */ { change }) =>
    html`<select id=${field.id} @change=${(event) => change(event.target.value)}>
      ${optionsOf(
        context.settings.pwm.map((_, index) => [`${index}`, thingName(context, `PWM${index}`)]),
        String(field.typed),
      )}
    </select>`;
