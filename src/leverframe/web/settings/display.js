// The display: what its screens show, a helper for reading codes, and a picture of it as it is now.

import { html } from "../vendor/lit-html.js";
import * as api from "../lib/api.js";
import { NEVER } from "../lib/bound_field.js";
import { Form } from "../lib/form.js";
import { ReadingCodes } from "../lib/reading_codes.js";
import { t } from "../lib/words.js";

const LOOK_AGAIN_MS = 1000;
const LINES = [1, 2, 3, 4];

export class Part {
  #context;
  #codes;
  #cards;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  // A new number makes the browser fetch the picture anew.
  #look = 0;

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
    this.#codes = new ReadingCodes(context, {
      marker: "!",
      hasWidth: true,
      note: "codes_note",
    });
    const hasScreens = context.commands.find("oled_save") !== null;
    this.#cards = hasScreens ? this.#screens() : [this.#singleScreen()];
    this.#cards.push(frequencyCard(context));
  }

  async open() {
    await this.#codes.read();
    this.#timer = setInterval(() => this.#lookAgain(), LOOK_AGAIN_MS);
  }

  close() {
    clearInterval(this.#timer);
  }

  view() {
    return html`<div class="cards">
      <section class="card">
        <h2>${t("picture")}</h2>
        <p class="note">${t("picture_note")}</p>
        <img class="oled" src="${api.oledPicture}?${this.#look}" alt=${t("picture_alt")} />
      </section>
      ${this.#codes.view()} ${this.#cards.map((card) => card.view())}
    </div>`;
  }

  #lookAgain() {
    if (this.#context.live.connection === "lost") return;
    this.#look++;
    this.#context.redraw();
  }

  #screens() {
    const { screens } = this.#context.settings.oled;
    return [generalCard(this.#context), ...screens.map((_, index) => this.#screen(index))];
  }

  /** @param {number} index */
  #screen(index) {
    const number = index + 1;
    const setting = `oled.screens.${index}`;
    return new Form(this.#context, {
      title: ["screen", { number }],
      fields: [
        {
          command: "oled_save",
          letter: `screen${number}`,
          label: "active",
          hint: "active_hint",
          path: `${setting}.active`,
        },
        ...LINES.map((place) =>
          this.#line("oled_save", `line${number}${place}`, place, `${setting}.lines.${place - 1}`),
        ),
      ],
    });
  }

  // The form of versions whose display has one screen.
  #singleScreen() {
    return new Form(this.#context, {
      title: "general",
      fields: [
        { command: "oled", letter: "A", label: "enabled", path: "oled.enabled" },
        ...["B", "C", "D", "E"].map((letter, index) =>
          this.#line("oled", letter, index + 1, `oled.screens.0.lines.${index}`),
        ),
      ],
    });
  }

  /**
   * @param {string} command
   * @param {string} letter
   * @param {number} place
   * @param {string} path
   * @returns {FieldSpec}
   */
  #line(command, letter, place, path) {
    const { draw } = this.#codes;
    return { command, letter, path, draw, label: ["line", { number: place }] };
  }
}

/** @param {AdminContext} context */
function generalCard(context) {
  return new Form(context, {
    title: "general",
    fields: [
      { command: "oled_save", letter: "enabled", label: "enabled", path: "oled.enabled" },
      {
        command: "oled_save",
        letter: "displayTime",
        label: "display_time",
        unit: "s",
        none: NEVER,
        path: "oled.display_time",
      },
    ],
  });
}

/** @param {AdminContext} context */
function frequencyCard(context) {
  return new Form(context, {
    title: "bus",
    note: "bus_note",
    fields: [{ command: "i2cofreq", label: "frequency", unit: "kHz" }],
  });
}
