// What a form or a button asks of the controller: whether it is under way, and why it was refused.
//
//   #task = new Task();
//   const isDone = await this.#task.run(() => api.send(target));
//   html`<button ?disabled=${this.#task.isBusy}>…</button> ${this.#task.view()}`
//
// `lost` is the text for no answer at all. Where one task has several places for what is refused,
// `about` names the place, or `fieldOf(refused)` finds it.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { t } from "../format/words.js";
import { isLoss, isTooLate, Refused } from "../live/api.js";

/** @typedef {{ lost?: string, fieldOf?: (refused: Refused) => string }} TaskSpec */

export class Task {
  #lost;
  #fieldOf;
  #isBusy = signal(false);
  /** @type {Signal<Record<string, string>>} */
  #refusals = signal({});

  /** @param {TaskSpec} [spec] */
  constructor({ lost = "not_reached", fieldOf = () => "" } = {}) {
    this.#lost = lost;
    this.#fieldOf = fieldOf;
  }

  get isBusy() {
    return this.#isBusy.value;
  }

  // Null where nothing was refused.
  refusal(about = "") {
    return this.#refusals.value[about] || null;
  }

  view(about = "") {
    return refusalView(this.refusal(about));
  }

  // True when it is done.
  /** @param {() => unknown} work */
  async run(work, about = "") {
    this.#isBusy.value = true;
    this.forget();
    try {
      await work();
      return true;
    } catch (error) {
      this.refuse(error, about);
      return false;
    } finally {
      this.#isBusy.value = false;
    }
  }

  /** @param {unknown} error */
  refuse(error, about = "") {
    const field = error instanceof Refused ? this.#fieldOf(error) : "";
    this.say(whyNot(error, this.#lost), field || about);
  }

  // What the page itself refuses.
  /** @param {string} why */
  say(why, about = "") {
    this.sayAll({ [about]: why });
  }

  // The same by place, "" where nothing is wrong; true if that is so everywhere.
  /** @param {Record<string, string>} refusals */
  sayAll(refusals) {
    this.#refusals.value = refusals;
    return Object.values(refusals).every((why) => why === "");
  }

  // All of it, or what is said at one place.
  /** @param {string} [about] */
  forget(about) {
    this.#refusals.value = about === undefined ? {} : { ...this.#refusals.value, [about]: "" };
  }
}

/** @param {string | null} why */
export const refusalView = (why) =>
  why ? html`<p class="refusal" role="alert">${why}</p>` : nothing;

export const CONNECTION = "connection_failed";

// Why something was not done: a refusal, or that nothing answered, for which browsers have words of
// their own. Where only a lost connection is expected, anything else is a mistake of the page.
/** @param {unknown} error */
export function whyNot(error, lost = CONNECTION) {
  if (error instanceof Refused) return error.message;
  if (isTooLate(error)) return t("order_expired");
  if (lost === CONNECTION && !isLoss(error)) throw error;
  return t(lost);
}
