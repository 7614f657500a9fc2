// Status: everything at a glance. Levers switch, readings are read, the log says why.

import { html, nothing } from "../vendor/lit-html.js";
import { INPUTS, OUTPUTS, PWMS, VARIABLES } from "../lib/labels.js";
import { Switches } from "../lib/switches.js";
import { t } from "../lib/words.js";
import { Choice } from "./status/choice.js";
import { Duty } from "../lib/duty.js";
import { Glance } from "./status/glance.js";
import { Happened } from "./status/happened.js";
import { LastHour } from "./status/last_hour.js";
import { Tiles } from "./status/tiles.js";

export class Page {
  #context;
  #overview;
  #switches;
  #hour = new LastHour();
  #tiles;
  #glance;
  #happened;
  // Fetched when it is first opened: charts are no part of the first view.
  #drawer = null;
  #choice;
  #duties;
  #stop;

  constructor(context) {
    this.#context = context;
    this.#overview = context.overview;
    this.#switches = new Switches(context, this.#overview);
    this.#tiles = new Tiles(context, this.#overview, this.#hour, (label) => this.#tell(label));
    this.#glance = new Glance(context, this.#overview);
    this.#happened = new Happened(context, this.#overview);
    this.#choice = new Choice(context, this.#overview);
    this.#duties = PWMS.map(
      (label) => new Duty(context, label, () => this.#switches.hindrance(label)),
    );
    this.#stop = context.live.listen(() => this.#follow(context.live.state));
  }

  // The lines of the last hour and the log come when they come: nobody waits for them.
  async open() {
    this.#hour.read().then(
      () => this.#context.redraw(),
      () => {},
    );
    this.#happened.read().catch(() => {});
    this.#follow(this.#context.live.state);
  }

  close() {
    this.#stop();
    this.#switches.close();
    this.#happened.close();
    this.#drawer?.close();
  }

  async #tell(label) {
    if (this.#drawer === null) {
      const { Drawer } = await import("./status/drawer.js");
      this.#drawer = new Drawer(this.#context, this.#overview);
    }
    await this.#drawer.open(label);
  }

  #follow(state) {
    this.#hour.follow(state);
    this.#tiles.follow(state);
    this.#happened.follow();
  }

  view() {
    return html`<div class="status">
        <div class="operated">
          ${this.#levers("outputs", OUTPUTS)} ${this.#pwms()} ${this.#variables()}
        </div>
        <div class="measured">
          ${this.#section("readings", this.#tiles.readings())}
          ${this.#tiles.hasAny(INPUTS) ? this.#section("inputs", this.#tiles.inputs()) : nothing}
          ${this.#section("meters", this.#tiles.meters())}
        </div>
        <div class="told">
          ${this.#glance.view()} ${this.#happened.view()} ${this.#choice.button()}
        </div>
      </div>
      ${this.#drawer?.view() ?? nothing} ${this.#choice.view()}`;
  }

  #section(name, content) {
    return html`<section class="card" aria-labelledby=${name}>
      <h2 id=${name}>${t(`part_${name}`)}</h2>
      ${content}
    </section>`;
  }

  #chosen(labels) {
    return labels.filter(
      (label) => this.#overview.isVisible(label) && this.#overview.isPresent(label),
    );
  }

  #levers(name, labels) {
    const chosen = this.#chosen(labels);
    if (chosen.length === 0) return nothing;
    return this.#section(name, chosen.map((label) => this.#switches.lever(label)));
  }

  #pwms() {
    const chosen = this.#chosen(PWMS);
    if (chosen.length === 0) return nothing;
    return this.#section(
      "pwm",
      chosen.map(
        (label) =>
          html`${this.#switches.lever(label)} ${this.#duties[PWMS.indexOf(label)].view()}`,
      ),
    );
  }

  #variables() {
    const chosen = this.#chosen(VARIABLES);
    if (chosen.length === 0) return nothing;
    const used = chosen.filter((label) => this.#isUsed(label));
    const rest = chosen.filter((label) => !used.includes(label));
    const levers = (labels) => labels.map((label) => this.#switches.lever(label));
    return this.#section(
      "variables",
      html`${levers(used)}
      ${rest.length === 0
        ? nothing
        : html`<details class="rest">
            <summary>${t("unused_variables", { count: rest.length })}</summary>
            ${levers(rest)}
          </details>`}`,
    );
  }

  // A variable that has a name, is on or stands in a rule; the others would only fill the page.
  #isUsed(label) {
    const rules = this.#context.settings?.rules ?? [];
    return (
      this.#overview.name(label) !== "" ||
      this.#context.live.state[label] === 1 ||
      rules.some(({ source, source2, action }) => [source, source2, action].includes(label))
    );
  }
}
