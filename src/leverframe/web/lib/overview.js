// What every account may know of the labels: names, units, what is shown, and what may be switched.
//
// It comes with the first answer, and again whenever somebody changes a setting.

import { INPUTS, OUTPUTS, SHOWN_PLACES, isState } from "./labels.js";
import { moment } from "./moments.js";
import { shown } from "./quantities.js";
import { readingWord } from "./words.js";

export class Overview {
  #context;
  /** @type {Partial<Status>} */
  #status = {};
  /** @type {Labels} */
  #labels = {};
  /** @type {Partial<Start["account"]>} */
  #account = {};

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
  }

  /** @param {Pick<Start, "account" | "status" | "labels">} start */
  take({ account, status, labels }) {
    this.#account = account;
    this.#status = status;
    this.#labels = labels;
  }

  // Who is signed in; "" where nobody is asked.
  get accountName() {
    return this.#account.name ?? "";
  }

  get deviceName() {
    return this.#status.sname ?? "";
  }

  /** @param {string} label */
  name(label) {
    const name = this.#labels[label]?.name ?? "";
    if (!label.startsWith("m") || this.#isOfOwnDevice(label)) return name;
    const word = readingWord(name);
    return word.charAt(0).toLocaleUpperCase() + word.slice(1);
  }

  // Whether somebody here gave its name: that stands as it is in every language.
  /** @param {string} label */
  #isOfOwnDevice(label) {
    const { settings } = this.#context;
    const slot = Number(settings?.modbus_mapping[Number(label.slice(1)) - 1]?.slot);
    const module = settings?.modbus_slots[slot - 1]?.module ?? "custom";
    return settings !== null && module.startsWith("custom");
  }

  // The label beside a name, unless only names are wanted.
  /** @param {string} label */
  label(label) {
    return this.name(label) && this.#account.names_only ? "" : label;
  }

  /** @param {string} label */
  unit(label) {
    return this.#labels[label]?.unit ?? "";
  }

  /** @param {string} label */
  isKnown(label) {
    return label in this.#labels;
  }

  /** @param {string} place */
  isVisible(place) {
    return this.#status.echeck?.[SHOWN_PLACES.indexOf(place)] !== "0";
  }

  get visibility() {
    return this.#status.echeck ?? "";
  }

  // Offsets of the panel's elements: [left, top] each, in pixels of the picture.
  /** @returns {[number, number][]} */
  get positions() {
    /** @param {string | undefined} joined */
    const numbers = (joined) => (joined ? joined.split("*").map(Number) : []);
    const left = numbers(this.#status.posleft);
    return numbers(this.#status.postop).map((top, index) => [left[index], top]);
  }

  /** @param {string} label */
  isInverted(label) {
    if (OUTPUTS.includes(label)) return this.#status.outnn === "1";
    const input = INPUTS.indexOf(label);
    return input >= 0 && Boolean(Number(this.#status.inpdnn) & (1 << input));
  }

  // A state as it is to be shown; null where it is absent.
  /** @param {string} label */
  isOn(label) {
    const level = this.#context.live.state[label];
    return level === null || level === undefined ? null : (level === 1) !== this.isInverted(label);
  }

  get isLocked() {
    return this.#status.outblock === "1";
  }

  get isReadOnly() {
    return this.#account.read_only === true;
  }

  // The value of a reading as text with its unit.
  /** @param {string} label @param {number | null} [value] */
  shown(label, value = this.#context.live.state[label]) {
    return { ...shown(label, value), unit: this.unit(label) };
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
