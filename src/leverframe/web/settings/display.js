// The display: what its screens show, a helper for reading codes, and a picture of it as it is now.

import { html } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { t } from "../lib/format/words.js";
import { NEVER } from "../lib/forms/bound_field.js";
import { Form } from "../lib/forms/form.js";
import { ReadingCodes } from "../lib/forms/reading_codes.js";
import * as api from "../lib/live/api.js";

const LOOK_AGAIN_MS = 1000;
const LINES = [1, 2, 3, 4];

/** @type {PartOf} */
export function partOf(context) {
  const codes = new ReadingCodes(context, { marker: "!", hasWidth: true, note: "codes_note" });
  const hasScreens = context.commands.find("oled_save") !== null;
  return [
    new Picture(context),
    codes,
    ...(hasScreens ? screens(context, codes) : [singleScreen(context, codes)]),
    frequencyCard(context),
  ];
}

class Picture {
  #context;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  // A new number makes the browser fetch the picture again.
  #look = signal(0);

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
  }

  async open() {
    this.#timer = setInterval(() => this.#lookAgain(), LOOK_AGAIN_MS);
  }

  close() {
    clearInterval(this.#timer);
  }

  view() {
    return html`<section class="card">
      <h2>${t("picture")}</h2>
      <p class="note">${t("picture_note")}</p>
      <img class="oled" src="${api.oledPicture}?${this.#look.value}" alt=${t("picture_alt")} />
    </section>`;
  }

  #lookAgain() {
    if (this.#context.live.connection === "lost") return;
    this.#look.value++;
  }
}

/** @param {AdminContext} context @param {ReadingCodes} codes */
const screens = (context, codes) => [
  generalCard(context),
  ...context.settings.oled.screens.map((_, index) => screenCard(context, codes, index)),
];

/** @param {AdminContext} context @param {ReadingCodes} codes @param {number} index */
function screenCard(context, { draw }, index) {
  const number = index + 1;
  const setting = `oled.screens.${index}`;
  const command = "oled_save";
  return new Form(context, {
    title: ["screen", { number }],
    fields: [
      {
        command,
        letter: `screen${number}`,
        label: "active",
        hint: "active_hint",
        path: `${setting}.active`,
      },
      ...LINES.map((place) => ({
        command,
        letter: `line${number}${place}`,
        label: lineLabel(place),
        path: `${setting}.lines.${place - 1}`,
        draw,
      })),
    ],
  });
}

// The form of versions whose display has one screen.
/** @param {AdminContext} context @param {ReadingCodes} codes */
const singleScreen = (context, { draw }) =>
  new Form(context, {
    title: "general",
    fields: [
      { command: "oled", letter: "A", label: "enabled", path: "oled.enabled" },
      ...["B", "C", "D", "E"].map((letter, index) => ({
        command: "oled",
        letter,
        label: lineLabel(index + 1),
        path: `oled.screens.0.lines.${index}`,
        draw,
      })),
    ],
  });

/** @param {number} number @returns {Named} */
const lineLabel = (number) => ["line", { number }];

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
