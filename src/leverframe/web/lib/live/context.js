// What every page is given: the live state, the settings, the commands, the role.

import { signal } from "../../vendor/signals-core.js";
import { moment } from "../format/moments.js";
import { formatValue } from "../format/numbers.js";
import { readingWord } from "../format/words.js";
import { INPUTS, isState, OUTPUTS, SHOWN_PLACES } from "../things/labels.js";
import * as api from "./api.js";
import { observe } from "./drawing.js";
import { isSame } from "./tree.js";

const ADMIN = "admin";
const CONTROL = "control";
export const SIMULATED = "simulated";

export class Context {
  // The tree of /api/settings; null for accounts that may not read it.
  /** @type {Settings | null} */
  settings = null;
  // None for accounts that may not read them, and until they have come: see `knowCommands`.
  /** @type {Commands} */
  commands = {
    all: [],
    find: () => null,
    get() {
      throw new Error("The commands are not known yet.");
    },
  };
  role = CONTROL;
  // The language setting of the controller: "EN", "PL".
  language = "";
  // How the board calls itself: "simulated", "linux".
  board = "";
  // The cards of the open page; each form adds itself.
  /** @type {Set<Unsaved>} */
  forms = new Set();
  /** @type {Promise<void> | null} */
  #knowing = null;
  #needsCommands = false;
  /** @type {State["profile"] | null} */
  #profile = null;
  // Answers can overtake each other: the number of the newest question, and of the one whose
  // answer is known.
  #asked = 0;
  #known = 0;

  /** @param {Live} live */
  constructor(live) {
    observe(this, "settings", "commands", "role", "language", "board");
    this.live = live;
    this.overview = new Overview(this);
  }

  get isAdmin() {
    return this.role === ADMIN;
  }

  // The step at which the first run continues; null where it is finished or was never needed.
  get firstRunStep() {
    if (!this.settings) return null;
    const { ui, name, rules } = this.settings;
    const isUntouched = name === "" && rules.length === 0;
    return ui.first_run === "done" || !(isUntouched || ui.first_run !== "place")
      ? null
      : ui.first_run;
  }

  get hasUnsaved() {
    return [...this.forms].some((form) => form.isChanged);
  }

  // What is needed to show anything; `knowCommands` brings what is needed to change a setting.
  async load() {
    const request = ++this.#asked;
    const start = await api.start();
    this.live.know(start.state);
    this.#take(start, request);
  }

  // As much as all that the first view needs, and no part of it. They come once; if they could not
  // be fetched, they are asked for again the next time.
  knowCommands() {
    this.#needsCommands = true;
    this.#knowing ??= this.#fetchCommands().catch((error) => {
      this.#knowing = null;
      throw error;
    });
    return this.#knowing;
  }

  async #fetchCommands() {
    if (!this.isAdmin) return;
    const [{ Commands }, rows] = await Promise.all([import("./commands.js"), api.commands()]);
    this.commands = new Commands(rows);
  }

  // After any change of the settings.
  async readSettings() {
    const request = ++this.#asked;
    const start = await this.#readOrSignIn();
    if (start === null) return;
    if (this.#known > 0 && this.#isForOthers(start)) {
      location.reload();
      return;
    }
    this.#take(start, request);
    if (this.#needsCommands) await this.knowCommands();
  }

  // Another version has other commands, and so other pages and cards; another account, too.
  /** @param {Start} start */
  #isForOthers({ state, account }) {
    return !isSame(state.profile, this.#profile) || account.role !== this.role;
  }

  // A change of the accounts may have ended the session: only signing in again helps.
  async #readOrSignIn() {
    try {
      return await api.start();
    } catch (error) {
      if (!(error instanceof api.Refused && error.problem.status === 401)) throw error;
      api.goToSignIn();
      return null;
    }
  }

  /** @param {Start} start @param {number} request */
  #take({ state, board, account, status, labels, settings }, request) {
    if (request < this.#known) return;
    this.#known = request;
    this.#profile = state.profile;
    this.board = board;
    this.role = account.role;
    this.overview.take({ account, status, labels });
    this.settings = settings;
    this.language = account.language;
    this.live.refresh = account.refresh;
  }
}

// What every account may know of the labels: names, units, visibility, levers.
//
// It comes with the first answer, and again after every change of settings.

export class Overview {
  #context;
  /** @type {Signal<Partial<Status>>} */
  #status = signal({});
  /** @type {Signal<Labels>} */
  #labels = signal({});
  /** @type {Signal<Partial<Start["account"]>>} */
  #account = signal({});

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
  }

  /** @param {Pick<Start, "account" | "status" | "labels">} start */
  take({ account, status, labels }) {
    this.#account.value = account;
    this.#status.value = status;
    this.#labels.value = labels;
  }

  // The account signed in; "" without sign-in.
  get accountName() {
    return this.#account.value.name ?? "";
  }

  get deviceName() {
    return this.#status.value.sname ?? "";
  }

  /** @param {string} label */
  name(label) {
    const name = this.#labels.value[label]?.name ?? "";
    if (!label.startsWith("m") || this.#isNamedByUser(label)) return name;
    const word = readingWord(name);
    return word.charAt(0).toLocaleUpperCase() + word.slice(1);
  }

  // Whether the user gave its name: that is the same in every language.
  /** @param {string} label */
  #isNamedByUser(label) {
    const { settings } = this.#context;
    const place = Number(label.slice(1)) - 1;
    if (settings?.modbus_names[place]) return true;
    const slot = Number(settings?.modbus_mapping[place]?.slot);
    const module = settings?.modbus_slots[slot - 1]?.module ?? "custom";
    return settings !== null && module.startsWith("custom");
  }

  // The label beside a name, unless only names are wanted.
  /** @param {string} label */
  label(label) {
    return this.name(label) && this.#account.value.names_only ? "" : label;
  }

  /** @param {string} label */
  unit(label) {
    return this.#labels.value[label]?.unit ?? "";
  }

  /** @param {string} label */
  isKnown(label) {
    return label in this.#labels.value;
  }

  /** @param {string} place */
  isVisible(place) {
    return this.#status.value.echeck?.[SHOWN_PLACES.indexOf(place)] !== "0";
  }

  get visibility() {
    return this.#status.value.echeck ?? "";
  }

  // Offsets of the panel's elements: [left, top] each, in pixels of the picture.
  /** @returns {[number, number][]} */
  get positions() {
    /** @param {string | undefined} joined */
    const numbers = (joined) => (joined ? joined.split("*").map(Number) : []);
    const left = numbers(this.#status.value.posleft);
    return numbers(this.#status.value.postop).map((top, index) => [left[index], top]);
  }

  /** @param {string} label */
  isInverted(label) {
    if (OUTPUTS.includes(label)) return this.#status.value.outnn === "1";
    const input = INPUTS.indexOf(label);
    return input >= 0 && Boolean(Number(this.#status.value.inpdnn) & (1 << input));
  }

  // A state as it is to be shown; null where it is absent.
  /** @param {string} label */
  isOn(label) {
    const level = this.#context.live.state[label];
    return level === null || level === undefined ? null : (level === 1) !== this.isInverted(label);
  }

  get isLocked() {
    return this.#status.value.outblock === "1";
  }

  get isReadOnly() {
    return this.#account.value.read_only === true;
  }

  // The value of a reading as text with its unit.
  /** @param {string} label @param {number | null} [value] */
  formatValue(label, value = this.#context.live.state[label]) {
    return { ...formatValue(label, value), unit: this.unit(label) };
  }

  // Does the controller have a value of it, or has it had one?
  /** @param {string} label */
  isPresent(label) {
    const { state } = this.#context.live;
    if (!this.isKnown(label)) return false;
    // Counters stand at 0 where nothing is counted.
    if (label.startsWith("ENERGY")) return Number(state[label]) > 0;
    return isState(label) || state[label] != null || label in (state.absent_since ?? {});
  }

  /** @param {string} label */
  absentSince(label) {
    return this.#context.live.state.absent_since?.[label] ?? null;
  }

  // A moment in words: today's by its time alone.
  /** @param {number} seconds */
  moment(seconds) {
    return moment(seconds, this.#context.live.state.time);
  }
}
