// Fifth step: a first rule, one sentence with four blanks.

import { html } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { numberOf } from "../../lib/format/numbers.js";
import { t } from "../../lib/format/words.js";
import { address } from "../../lib/frame/router.js";
import * as api from "../../lib/live/api.js";
import { freePlace } from "../../lib/live/tree.js";
import { OUTPUTS, READINGS } from "../../lib/things/labels.js";
import { thingName } from "../../lib/things/things.js";
import { Draft } from "../rules/draft.js";
import { EMPTY_RULE } from "../rules/typed.js";
import { Step } from "./step.js";

const FIRST = ["DS1", "T1", "TEMP"];

export class RuleStep extends Step {
  title = "rule_title";
  commandsOf = { "": "event" };
  #source;
  #output;
  #on = signal("18");
  #off = signal("20");

  /** @param {AdminContext} context */
  constructor(context) {
    super(context);
    const sources = this.#sources;
    const named = OUTPUTS.find((label) => context.overview.name(label) !== "");
    this.#output = signal(named ?? "OUT0");
    this.#source = signal(FIRST.find((label) => sources.includes(label)) ?? sources[0] ?? "VCC");
  }

  get button() {
    return "save_finish";
  }

  get #sources() {
    const offered = new Set(this.#draft(EMPTY_RULE).choicesOf("B"));
    const { overview } = this.context;
    return READINGS.filter((label) => offered.has(label) && overview.isPresent(label));
  }

  /** @param {Rule} rule */
  #draft(rule) {
    const { commands, settings } = this.context;
    return new Draft(commands, freePlace(settings.rules), null, rule);
  }

  view() {
    const unit = this.context.overview.unit(this.#source.value);
    const { text } = this.context.overview.formatValue(this.#source.value);
    const [on, off] = this.#limits;
    const key = on > off ? "above" : "below";
    return html`<p class="note">${t("rule_note")}</p>
      <p class="sentence">
        ${t("when")} ${this.#choice("source", this.#sources)} <small>${text} ${unit}</small>
        ${t(key)} ${this.#number("on")} ${unit}, ${t("switch_on")}
        ${this.#choice("output", OUTPUTS)} ${t("until")} ${this.#number("off")} ${unit}
        ${t("until_end")}
      </p>
      <p class="note">${t("rule_other")} <a href=${address("rules")}>${t("rule_all")}</a></p>`;
  }

  /** @param {"source" | "output"} part @param {string[]} labels */
  #choice(part, labels) {
    const chosen = part === "source" ? this.#source.value : this.#output.value;
    return html`<select
      aria-label=${t(`rule_${part}`)}
      @change=${(event) => {
        if (part === "source") this.#source.value = event.target.value;
        else this.#output.value = event.target.value;
        this.typing("");
      }}
    >
      ${labels.map(
        (label) =>
          html`<option value=${label} .selected=${label === chosen}>
            ${thingName(this.context, label)}
          </option>`,
      )}
    </select>`;
  }

  /** @param {"on" | "off"} part */
  #number(part) {
    return html`<input
      class="number"
      inputmode="decimal"
      aria-label=${t(`rule_${part}`)}
      .value=${part === "on" ? this.#on.value : this.#off.value}
      @input=${(event) => {
        if (part === "on") this.#on.value = event.target.value;
        else this.#off.value = event.target.value;
        this.typing("");
      }}
    />`;
  }

  get #limits() {
    return [this.#on.value, this.#off.value].map(numberOf);
  }

  get #rule() {
    const [on, off] = this.#limits;
    return {
      ...EMPTY_RULE,
      source: this.#source.value,
      compare: on > off ? ">=" : "<",
      reference: on,
      hysteresis: Number(Math.abs(off - on).toFixed(6)),
      action: this.#output.value,
    };
  }

  check() {
    const draft = this.#draft(this.#rule);
    const [letter] = draft.problems;
    this.task.say(letter ? (draft.problem(letter) ?? "") : "");
    return letter === undefined;
  }

  /** @param {string} _note @param {() => Promise<unknown>} done */
  async send(_note, done) {
    await api.send(this.#draft(this.#rule).request(true).target);
    return done();
  }
}
