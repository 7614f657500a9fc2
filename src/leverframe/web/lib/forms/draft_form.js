// What forms with a look of their own have in common with cards: they are saved, refused, restored
// and left in the same way, and what is typed outlasts refusals and lost connections.
//
// A form gives `hasProblem` (then it cannot be sent), `send(how)` and `letters` (of the fields that
// a refusal can stand beside). Its draft has `isNew`, `isChanged` and `restore()`.

import { html } from "../../vendor/lit-html.js";
import { settingName, valueText } from "../format/setting_words.js";
import { t } from "../format/words.js";
import * as api from "../live/api.js";
import { focusWrong, observe } from "../live/drawing.js";
import { isSame } from "../live/tree.js";
import { icon } from "../things/signs.js";
import { copyableRequest } from "./controls.js";
import { Task } from "./task.js";

/** @typedef {{ isNew: boolean, isChanged: boolean, restore(): void }} AnyDraft */

/** @template {AnyDraft} T */
export class DraftForm {
  draft;
  context;
  /** @type {string[]} */
  letters = [];
  // Has it been tried to save? Before, what is not complete is not wrong.
  tried = false;
  #left;
  #task = new Task({
    lost: "not_sent",
    fieldOf: ({ problem: { field } }) => (field && this.letters.includes(field) ? field : ""),
  });

  // `left()` is called when nothing is left to edit.
  /** @param {AdminContext} context @param {T} draft @param {() => void} left */
  constructor(context, draft, left) {
    observe(this, "tried");
    this.context = context;
    this.draft = draft;
    this.#left = left;
    context.forms.add(this);
  }

  get isChanged() {
    return this.draft.isChanged;
  }

  get hasProblem() {
    return false;
  }

  /** @param {boolean} [_how] @returns {Promise<void>} */
  async send(_how) {}

  /** @param {string} letter */
  refusal(letter) {
    return this.#task.refusal(letter);
  }

  get refusalView() {
    return this.#task.view();
  }

  get saving() {
    return this.#task.isBusy;
  }

  // To be called with everything that is typed.
  onEdit() {
    this.#task.forget();
  }

  restore() {
    this.draft.restore();
    this.tried = false;
    this.onEdit();
  }

  leave() {
    this.drop();
    this.#left();
  }

  // Another one takes its place.
  drop() {
    this.context.forms.delete(this);
  }

  // True when it is saved.
  /** @param {boolean} [how] */
  async save(how) {
    this.tried = true;
    if (this.saving || this.hasProblem) return false;
    // It is left before it is seen as saved: until then nothing takes its place.
    const done = await this.#task.run(async () => {
      await this.send(how);
      this.leave();
    });
    if (done) this.reportSaved();
    return done;
  }

  // The form is gone by then: the line at the foot of the page says it.
  reportSaved() {
    toast(t("saved"));
  }

  /** @param {Event} event @returns {void} */
  onSubmit(event) {
    saveOnSubmit(event, () => this.save());
  }

  // What was begun from nothing has nothing to go back to; it is cancelled by its button.
  /** @param {KeyboardEvent} event */
  onKeydown(event) {
    if (event.key !== "Escape" || this.draft.isNew) return;
    event.preventDefault();
    if (this.draft.isChanged) this.restore();
    else this.leave();
  }

  // What saving would send, to be read and copied.
  /** @param {CommandRequest | null} request */
  requestView(request) {
    return html`<details class="request">
      <summary>${t("as_request")}</summary>
      ${copyableRequest(request ? api.curl(request) : "")}
    </details>`;
  }
}

// A change made elsewhere to what is edited here: with the value before and now.

/**
 * @param {string} sentence
 * @param {[was: string, now: string]} values
 */
export const foreignNote = (sentence, [was, now]) =>
  html`<div class="foreign" role="status">
    <p>${icon("attention", "s")} ${sentence}</p>
    <dl>
      <dt>${t("foreign_was")}</dt>
      <dd>${was}</dd>
      <dt>${t("foreign_now")}</dt>
      <dd>${now}</dd>
    </dl>
  </div>`;

// Both in words; where these are the same, the settings that differ, such as a name or a delay.
/**
 * @template {object} T
 * @param {Context} context
 * @param {string} path of the setting that holds them
 * @param {T} was
 * @param {T | null | undefined} now
 * @param {(one: T) => string} textOf
 * @returns {[was: string, now: string]}
 */
export function bothTexts(context, path, was, now, textOf) {
  if (!now) return [textOf(was), t("foreign_deleted")];
  const sentences = /** @type {[string, string]} */ ([was, now].map(textOf));
  if (sentences[0] !== sentences[1]) return sentences;
  const [before, after] = [was, now].map((one) => new Map(Object.entries(one)));
  const differing = [...after.keys()].filter((key) => !isSame(before.get(key), after.get(key)));
  const listValues = (/** @type {Map<string, unknown>} */ values) =>
    differing
      .map((key) => {
        const at = `${path}.${key}`;
        return `${settingName(context, at)}: ${valueText(context, at, values.get(key))}`;
      })
      .join("; ");
  return [listValues(before), listValues(after)];
}

// What was done, in one line at the bottom, for some seconds, with the way back where there is one.
//
//   toast(t("rule_deleted", { name }), { label: t("undo"), act: () => restore() })

const SHOWN_MS = 6000;

/** @type {HTMLElement | null} */
let shown = null;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** @param {string} text @param {{ label: string, act: () => unknown }} [way] */
export function toast(text, way) {
  hideToast();
  const line = document.createElement("div");
  line.className = "toast";
  line.setAttribute("role", "status");
  line.append(Object.assign(document.createElement("span"), { textContent: text }));
  if (way) line.append(button(way));
  line.addEventListener("pointerenter", () => clearTimeout(timer));
  line.addEventListener("pointerleave", () => wait());
  document.body.append(line);
  shown = line;
  wait();
}

function hideToast() {
  clearTimeout(timer);
  shown?.remove();
  shown = null;
}

function wait() {
  clearTimeout(timer);
  timer = setTimeout(hideToast, SHOWN_MS);
}

/** @param {{ label: string, act: () => unknown }} way */
function button({ label, act }) {
  const made = Object.assign(document.createElement("button"), {
    type: "button",
    textContent: label,
  });
  made.addEventListener("click", () => {
    hideToast();
    act();
  });
  return made;
}

// Saves the form of an event; if that fails, its first wrong field gets the focus.
/** @param {Event} event @param {() => Promise<boolean>} save */
export async function saveOnSubmit(event, save) {
  event.preventDefault();
  const form = /** @type {HTMLElement} */ (event.currentTarget);
  if (!(await save())) focusWrong(form);
}
