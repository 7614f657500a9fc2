// Positions of the elements of the panel, as stored and as arranged.
//
// A place is [left, top] in pixels of the picture in its own size. An element at [0, 0] was never
// placed and is not on the picture.

import { signal } from "../../vendor/signals-core.js";
import { Task } from "../../lib/forms/task.js";
import * as api from "../../lib/live/api.js";
import { ELEMENTS } from "../../lib/things/labels.js";

/** Left and top in pixels of the picture. @typedef {[number, number]} Place */

// Offsets stay so far from the corner that a placed element is never taken for one that is not.
const NEAREST = 1;

export class Layout {
  #context;
  #overview;
  // A copy of all places while they are being arranged; else null.
  /** @type {Signal<Place[] | null>} */
  #draft = signal(null);
  // What the draft was before each change, the oldest first.
  /** @type {Signal<Place[][]>} */
  #earlier = signal([]);
  #task = new Task({ lost: "not_sent" });

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    this.#overview = context.overview;
  }

  get refusal() {
    return this.#task.refusal();
  }

  get isArranged() {
    return this.#draft.value !== null;
  }

  get isChanged() {
    return this.isArranged && JSON.stringify(this.#draft.value) !== JSON.stringify(this.#stored);
  }

  get #stored() {
    return this.#overview.positions;
  }

  get #places() {
    return this.#draft.value ?? this.#stored;
  }

  // The elements of this version that there is something to show of: { index, labels, place }.
  get elements() {
    return this.#places
      .map((place, index) => ({ index, place, labels: ELEMENTS[index] ?? [] }))
      .filter(({ labels }) => labels.some((label) => this.#overview.isPresent(label)));
  }

  get placed() {
    return this.elements.filter(({ place: [left, top] }) => left !== 0 || top !== 0);
  }

  get unplaced() {
    return this.elements.filter(({ place: [left, top] }) => left === 0 && top === 0);
  }

  begin() {
    this.restore();
    this.#context.forms.add(this);
  }

  end() {
    this.#draft.value = null;
    this.#context.forms.delete(this);
  }

  restore() {
    this.#task.forget();
    this.#draft.value = [...this.#stored];
    this.#earlier.value = [];
  }

  // To be called before a change that can be undone: a whole drag is one.
  remember() {
    const [draft, earlier] = [this.#draft.value, this.#earlier.value];
    if (draft && draft !== earlier.at(-1)) this.#earlier.value = [...earlier, draft];
  }

  get canUndo() {
    return this.#earlier.value.some((draft) => draft !== this.#draft.value);
  }

  undo() {
    // A drag that moved nothing is no step.
    const place = this.#earlier.value.findLastIndex((draft) => draft !== this.#draft.value);
    if (place >= 0) this.#draft.value = this.#earlier.value[place];
    this.#earlier.value = this.#earlier.value.slice(0, Math.max(0, place));
  }

  // Within the picture of this size, with all of the element, of `own` size, on it.
  /**
   * @param {number} index
   * @param {number} left
   * @param {number} top
   * @param {[number, number]} size
   * @param {[number, number]} [own]
   */
  move(index, left, top, [width, height], [ownWidth, ownHeight] = [0, 0]) {
    /** @param {number} value @param {number} most */
    const within = (value, most) => Math.floor(Math.max(NEAREST, Math.min(value, most - NEAREST)));
    this.#put(index, [
      within(Math.round(left), width - ownWidth),
      within(Math.round(top), height - ownHeight),
    ]);
  }

  /** @param {number} index */
  takeOff(index) {
    this.#put(index, [0, 0]);
  }

  /** @param {number} index @param {Place} place */
  #put(index, place) {
    this.#draft.value = this.#places.with(index, place);
  }

  // True when saved. Both lists go in one request: all or nothing.
  async save() {
    const [top, left] = ["postop", "posleft"].map((name) => this.#context.commands.get(name));
    const query = [
      top.query({ A: this.#places.map((place) => place[1]) }),
      left.query({ A: this.#places.map((place) => place[0]) }),
    ];
    return this.#task.run(async () => {
      await api.send(`${top.path}?${query.join("&")}`);
      await this.#context.readSettings();
      this.end();
    });
  }
}
