// A rule being written: what is typed, what is wrong with it, and the commands that save it.
//
// The three dialects of rules differ in their codes and in which fields they have; both come from
// the command table. Older ones write the value into the action: `OUT2=1`.

import { signal } from "../../vendor/signals-core.js";
import { secondsOfDay } from "../../lib/format/moments.js";
import { numberOf, secondsOf } from "../../lib/format/numbers.js";
import { choices, isChoice, problemOf, valueFrom } from "../../lib/forms/schema.js";
import { freePlace, isSame } from "../../lib/live/tree.js";
import { isState } from "../../lib/things/labels.js";
import { WEEKDAYS } from "../schedule/entry.js";
import {
  channelOf,
  commandOf,
  freeSlot,
  isUsedElsewhere,
  messageItems,
  messageOf,
  offeredActions,
  recipients,
} from "./messages.js";
import { isPulse, isSwitched } from "./sentence.js";
import { EMPTY_RULE, FIELDS, IMMEDIATELY, ruleOnly, toTyped } from "./typed.js";
import { ENDS, endProblem, endText, hysteresisText, withDistances } from "./until.js";
import {
  freePlaces,
  freeVariable,
  goesWith,
  windowEntries,
  windowName,
  windowOfRule,
} from "./window.js";

/** @import { Message, Slots } from "./messages.js" */
/** @import { TextBlank, TypedRule } from "./typed.js" */
/** @import { Uses, Window } from "./window.js" */

const SECOND = ["source2", "compare2", "reference2", "hysteresis2"];
// Blanks of other commands, by letters that `event` does not have.
const NAME = "name";
const HOURS = "hours";
// Parts of a message -> letters of its command.
export const MESSAGE = /** @type {const} */ ({ says: "B", after: "C", to: "D" });
/** @typedef {keyof typeof MESSAGE} Part */
const PARTS = /** @type {Part[]} */ (Object.keys(MESSAGE));
const DELAYS = ["on_delay", "off_delay"];
// Letters of durations: people type "3 min".
const DURATIONS = ["L", "N"];
const USUAL_PULSE = "10 s";

/** @type {Uses & Partial<Slots>} */
const NO_USES = { rules: [], schedule: [], event_variables: [] };

export class Draft {
  #commands;
  #event;
  #saved;
  #typed;
  #uses;
  // As it was when the draft began.
  /** @type {Window | null} */
  #window;
  // Read once: another language of the page is no change of the rule.
  #stored;
  #begun;
  // As it was stored when its slot was chosen.
  /** @type {Message} */
  #message;
  /** @type {Signal<Rule | null>} */
  #lost = signal(null);

  // `uses` are the settings that a time window needs.
  // `saved`: the rule as it is stored, or null for a new one that begins as `rule`.
  /**
   * @param {Commands} commands
   * @param {number} index
   * @param {Rule | null} saved
   * @param {Rule} [rule]
   * @param {Uses & Partial<Slots>} [uses]
   */
  constructor(commands, index, saved, rule = saved ?? EMPTY_RULE, uses = NO_USES) {
    this.#commands = commands;
    this.#event = commands.get("event");
    this.index = index;
    this.#saved = signal(saved);
    this.#uses = uses;
    this.#window = windowOfRule(uses, saved ?? EMPTY_RULE);
    this.#begun = toTyped(rule, windowOfRule(uses, rule), messageOf(this.#slots, rule.action));
    this.#typed = signal(this.#begun);
    const stored = saved ?? EMPTY_RULE;
    this.#stored = toTyped(stored, this.#window, messageOf(this.#slots, stored.action));
    this.#message = this.#begun.message;
  }

  // The messages of the controller; null where only the rule is known.
  get #slots() {
    return "email" in this.#uses ? /** @type {Slots} */ (this.#uses) : null;
  }

  get isNew() {
    return this.#saved.value === null;
  }

  // The rule before it was deleted elsewhere, or as it is stored.
  get known() {
    return this.#saved.value ?? this.#lost.value;
  }

  // Others may add, move and delete rules in the meantime: a new one has the first free place, one
  // that is stored is found at its new place, and one that was deleted is new.
  /** @param {Uses & Partial<Slots>} uses */
  keepPlace(uses) {
    const { rules } = uses;
    const saved = this.#saved.value;
    if (saved && !isSame(rules[this.index], saved)) {
      const places = rules.flatMap((rule, place) => (isSame(rule, saved) ? [place] : []));
      if (places.length === 1) [this.index] = places;
      else if (!rules[this.index]) [this.#saved.value, this.#lost.value] = [null, saved];
    }
    if (this.isNew) this.index = freePlace(rules);
    this.#keepSlot(uses);
  }

  // A slot that was free may be taken in the meantime: its message gets another one.
  /** @param {Uses & Partial<Slots>} uses */
  #keepSlot(uses) {
    const { action } = this.#typed.value;
    const [before, slots] = [this.#slots, /** @type {Slots} */ (uses)];
    const kind = channelOf(action)?.kind;
    if (!kind || !before || isUsedElsewhere(before, action, this.index)) return;
    if (!isUsedElsewhere(slots, action, this.index)) return;
    const other = freeSlot(slots, this.actions, kind, this.index);
    if (!other) return;
    this.#message = { ...messageOf(slots, other), to: this.#message.to };
    this.#typed.value = { ...this.#typed.value, action: other };
    this.#uses = uses;
  }

  // The same, to be saved over what is stored by now: all that is seen is sent where that differs.
  /** @param {Uses & Partial<Slots>} uses */
  over(uses) {
    const now = this.isNew ? null : (uses.rules[this.index] ?? null);
    const draft = new Draft(this.#commands, this.index, now, undefined, uses);
    draft.#typed.value = this.#typed.value;
    draft.#message = this.#message;
    if (now === null) draft.#stored = this.#stored;
    return draft;
  }

  // Whether there is anything to save. An empty rule is not worth saving; a deleted one can be
  // saved again.
  get isChanged() {
    return this.#lost.value !== null || !isSame(this.#plain, this.#stored);
  }

  get #plain() {
    return withDistances(this.#typed.value);
  }

  // Would anything be lost? What a new rule begins as is not typed.
  get isTyped() {
    return !isSame(this.#plain, this.#begun);
  }

  // What is typed: texts, and a boolean for `permanent`.
  get typed() {
    return this.#typed.value;
  }

  // How many blanks are not as they are stored.
  get changes() {
    const stored = this.#stored;
    const names = /** @type {(keyof TypedRule)[]} */ (Object.keys(stored));
    return names.filter((name) => !isSame(this.#plain[name], stored[name])).length;
  }

  /** @param {keyof TypedRule} name @param {string | boolean | string[]} typed */
  type(name, typed) {
    this.#typed.value = { ...this.#typed.value, [name]: typed };
    // The end lies on the other side now.
    if (name === "compare") this.#typed.value.until = null;
    if (name === "compare2") this.#typed.value.until2 = null;
    if (name === "action") this.#fitAction();
    if (name === "source") this.#fitLevel("source", "reference");
    if (name === "source2") this.#fitLevel("source2", "reference2");
  }

  // A state is 0 or 1, whatever number was meant for a reading.
  /** @param {"source" | "source2"} source @param {"reference" | "reference2"} reference */
  #fitLevel(source, reference) {
    const isLevel = ["0", "1"].includes(this.#typed.value[reference]);
    if (isState(this.#typed.value[source]) && !isLevel) this.#typed.value[reference] = "1";
  }

  /** @param {Part} part @param {string} text */
  typeMessage(part, text) {
    const { message } = this.#typed.value;
    this.#typed.value = { ...this.#typed.value, message: { ...message, [part]: text } };
  }

  // What a message without a text begins with; it is not typed.
  /** @param {string} says */
  suggest(says) {
    this.typeMessage("says", says);
    if (this.isNew) this.#begun = { ...this.#begun, message: { ...this.#begun.message, says } };
  }

  // The first condition as numbers.
  get condition() {
    return this.conditionOf("E");
  }

  // The condition that has this letter for its end.
  /** @param {string} letter */
  conditionOf(letter) {
    const { compare, reference } = ENDS[letter];
    return {
      compare: this.#typed.value[compare],
      reference: numberOf(this.#typed.value[reference]),
      hysteresis: numberOf(hysteresisText(this.#typed.value, letter)),
    };
  }

  // The value at which a condition ends.
  /** @param {string} letter */
  until(letter) {
    return endText(this.#typed.value, letter);
  }

  // The blank of the end of a condition.
  /** @param {string} letter */
  endOf(letter) {
    return ENDS[letter].end;
  }

  // How many seconds the pulse of its action lasts; null where the action is none.
  get pulse() {
    const { action, off_delay: lasting } = this.#typed.value;
    return isPulse(action) ? Math.max(1, secondsOf(lasting) || 0) : null;
  }

  restore() {
    if (!this.isNew) this.#typed.value = this.#stored;
  }

  /** @param {string} letter */
  has(letter) {
    return this.#event.has(letter);
  }

  // The words that a version has for a field.
  /** @param {string} letter */
  choicesOf(letter) {
    return choices(this.#event.schema(letter)).map(([word]) => word);
  }

  get actions() {
    return [...new Set(this.choicesOf("G").map((word) => word.split("=")[0]))];
  }

  // What is offered of them; `isOwn` is the message that is written in the sentence.
  get offeredActions() {
    const { action } = this.#typed.value;
    if (this.#slots) return offeredActions(this.#slots, this.actions, action, this.index);
    return this.actions.map((one) => ({ action: one, isOwn: false }));
  }

  // The values that the chosen action can have; none for what is not switched.
  get values() {
    const { action } = this.#typed.value;
    if (!isSwitched(action)) return [];
    if (!this.has("M")) {
      const words = this.choicesOf("G").filter((word) => word.startsWith(`${action}=`));
      return words.map((word) => word.split("=")[1]);
    }
    return Array.from({ length: this.#event.schema("M").maximum + 1 }, (_, value) => String(value));
  }

  #fitAction() {
    const { action, off_delay: lasting } = this.#typed.value;
    if (isPulse(action) && lasting === IMMEDIATELY) this.#typed.value.off_delay = USUAL_PULSE;
    this.#fitValue();
    this.#fitMessage();
  }

  // What its slot says; a text that was typed comes along to an empty one.
  #fitMessage() {
    const { action, message } = this.#typed.value;
    if (!channelOf(action)) return;
    this.#message = messageOf(this.#slots, action);
    const { says, after, to } = this.#message;
    const isEmpty = says === "" && after === "";
    this.#typed.value.message = isEmpty ? { ...message, to } : this.#message;
  }

  #fitValue() {
    const { values } = this;
    const last = values.at(-1);
    if (last === undefined || values.includes(this.#typed.value.value)) return;
    this.#typed.value.value = last;
  }

  // Why a field cannot be sent as it is; null if it can.
  /** @param {string} letter */
  problem(letter) {
    if (letter === NAME) return this.#nameProblem();
    if (letter === HOURS) return this.#hoursProblem();
    if (PARTS.some((part) => part === letter)) return this.#messageProblem(letter);
    const isEnd = letter in ENDS && !this.#isUnused(ENDS[letter].hysteresis);
    const wrong = isEnd ? endProblem(this.#typed.value, letter) : null;
    return wrong ?? problemOf(this.#schema(letter), this.#wire(letter));
  }

  get problems() {
    const own = this.#event.letters.filter((letter) => letter in FIELDS);
    return [...own, NAME, HOURS, ...PARTS].filter((letter) => this.problem(letter) !== null);
  }

  /** @param {string} letter */
  #messageProblem(letter) {
    const kind = channelOf(this.#typed.value.action)?.kind;
    if (!kind) return null;
    const part = /** @type {Part} */ (letter);
    const typed = this.#typed.value.message[part];
    const schema = commandOf(this.#commands, kind).schema(MESSAGE[part]);
    return problemOf(schema, part === "to" ? recipients(kind, typed) : typed);
  }

  #nameProblem() {
    const command = this.#commands.find("rulename");
    return command && problemOf(command.schema("B"), this.#typed.value.name);
  }

  // The key of the text that says what is wrong with the hours of its window.
  #hoursProblem() {
    const { window, days } = this.#typed.value;
    if (!window) return null;
    const hours = this.hours;
    if (hours === null) return "window_hours";
    if (days.length === 0) return "window_days";
    if (hours.from === hours.to && days.length === WEEKDAYS.length) return "window_always";
    return this.#place() === null ? "window_full" : null;
  }

  // The hours of its window as they are typed; null where they are none.
  get hours() {
    const { from, to, days } = this.#typed.value;
    const [begin, end] = [secondsOfDay(from), secondsOfDay(to)];
    return begin === null || end === null ? null : { from: begin, to: end, days };
  }

  // The variable and the places in the schedule that its window has, or would get.
  #place() {
    const before = this.#window;
    if (before && (goesWith(this.#uses, before, this.index) || !this.#hasOtherHours)) {
      const { label, begins, ends } = before;
      return { label, places: [begins.place, ends.place], name: this.#nameOfWindow(before) };
    }
    const [label, places] = [freeVariable(this.#uses), freePlaces(this.#uses, 2)];
    return label && places.length === 2 ? { label, places, name: undefined } : null;
  }

  get #hasOtherHours() {
    const stored = this.#stored;
    const names = /** @type {const} */ (["from", "to", "days"]);
    return !names.every((name) => isSame(this.#typed.value[name], stored[name]));
  }

  // A name given by the user stays; a name that only says the hours follows them.
  /** @param {Window} window */
  #nameOfWindow(window) {
    const { name } = window.begins.entry;
    return name === windowName(window) ? undefined : name;
  }

  get windowLabel() {
    return this.#typed.value.window ? (this.#place()?.label ?? null) : null;
  }

  // Commands that make its window, change it, or take it away with the rule.
  #windowItems() {
    const { window } = this.#typed.value;
    const place = window ? this.#place() : null;
    const hours = this.hours;
    if (place && hours) {
      const command = this.#commands.get("schedset");
      if (this.#window?.label === place.label && !this.#hasOtherHours) return [];
      return windowEntries(hours, place.label, place.places, place.name).map((one) =>
        command.query(one),
      );
    }
    return this.removalOfWindow();
  }

  // Nothing where it has none, or where another rule has the same.
  removalOfWindow() {
    if (!this.#window || !goesWith(this.#uses, this.#window, this.index)) return [];
    const command = this.#commands.get("scheddel");
    const { begins, ends } = this.#window;
    return [begins, ends].map(({ place }) => command.query({ A: place }));
  }

  /** @param {string} letter @returns {Schema} */
  #schema(letter) {
    const seen = { B: this.#typed.value.source, H: this.#effective("source2") };
    const schema = this.#event.schema(letter, seen);
    return DURATIONS.includes(letter) ? { ...schema, "x-quantity": "duration" } : schema;
  }

  // Blanks that the sentence does not have stay as they are stored, whatever was typed there.
  /** @param {TextBlank} name */
  #effective(name) {
    const { window } = this.#typed.value;
    const ofWindow = window ? this.#ofWindow(name) : undefined;
    if (ofWindow !== undefined) return ofWindow;
    return this.#isUnused(name) ? this.#stored[name] : this.#plain[name];
  }

  // The second condition of a rule with a window is its variable.
  /** @param {TextBlank} name */
  #ofWindow(name) {
    const { window } = this.#typed.value;
    /** @type {Partial<Record<TextBlank, string>>} */
    const fields = {
      operator: "AND",
      source2: this.#place()?.label ?? EMPTY_RULE.source2,
      compare2: ">=",
      reference2: window === "in" ? "1" : "0",
      hysteresis2: "0",
    };
    return fields[name];
  }

  /** @param {keyof TypedRule} name */
  #isUnused(name) {
    const { operator, action, source, source2 } = this.#typed.value;
    if (operator === "-" && SECOND.includes(name)) return true;
    if (name === "hysteresis") return isState(source);
    if (name === "hysteresis2") return isState(source2);
    if (name === "off_delay" && isPulse(action)) return false;
    return DELAYS.includes(name) && !isSwitched(action);
  }

  // What is typed in a field, as the schema of its letter wants it.
  /** @param {string} letter */
  #wire(letter) {
    const typed = this.#effective(FIELDS[letter]);
    if (typed === IMMEDIATELY) return "0";
    if (letter === "C" || letter === "I") {
      const digital = isState(this.#effective(letter === "C" ? "source" : "source2"));
      return digital ? "0" : typed;
    }
    if (letter !== "G" || this.has("M") || !isSwitched(typed)) return typed;
    return `${typed}=${this.#typed.value.value}`;
  }

  // The items of one request: the rule where it differs, and what other commands set.
  /** @param {boolean} enable */
  items(enable) {
    const { index } = this;
    const items = [];
    if (this.isNew || !isSame(ruleOnly(this.#plain), ruleOnly(this.#stored))) {
      items.push(this.eventItem());
    }
    const { action, message } = this.#typed.value;
    items.push(...this.#windowItems());
    items.push(...messageItems(this.#commands, action, message, this.#message));
    if (this.#typed.value.name !== (this.#saved.value?.name ?? "")) {
      items.push(this.#commands.get("rulename").query({ A: index, B: this.#typed.value.name }));
    }
    if (this.#typed.value.permanent !== (this.#saved.value?.permanent ?? false)) {
      items.push(this.#flag("eventper", index, this.#typed.value.permanent));
    }
    if (enable) items.push(this.#flag("eventon", index, true));
    return items;
  }

  eventItem() {
    /** @type {ByLetter} */
    const values = { A: this.index };
    for (const letter of this.#event.letters.filter((one) => one in FIELDS)) {
      const schema = this.#schema(letter);
      const typed = this.#wire(letter);
      values[letter] = isChoice(schema) ? typed : valueFrom(schema, typed);
    }
    return this.#event.query(values);
  }

  // What a trial of it is asked with: the rule, and its window where that is not stored so.
  trialItem() {
    return [this.eventItem(), ...this.#windowItems()].join("&");
  }

  /** @param {boolean} enable */
  request(enable) {
    return { target: `${this.#event.path}?${this.items(enable).join("&")}` };
  }

  /** @param {string} command @param {number} A @param {boolean} B */
  #flag(command, A, B) {
    return this.#commands.get(command).query({ A, B });
  }
}
