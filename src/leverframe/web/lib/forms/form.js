// A card of settings: a form for one or several commands, bound to the settings behind them.
//
//   new Form(context, {
//     heading: "OUT1",              plain text (or a function that gives it), or `title: "key"`
//     note: "key",                  a sentence under the heading
//     lead: () => template,         what is drawn above the fields, such as the live value
//     tail: () => template,         what is drawn below them, such as an action
//     fields: [                     in the order in which they are shown
//       { command: "oname", at: { A: 1 }, label: "name" },
//       { command: "atout", at: { A: 1 }, label: "on_time", unit: "s", path: "outputs.1.on_time" },
//     ],
//     opened: ["name"],             labels of fields; the others are shown when asked for
//     isUnused: () => true,         nothing of it is set: its title stands alone until asked for
//     requests: ["curl ..."],       further lines of "As request"
//     forms: set,                   whom it belongs to, where that is not the open page
//     paths: { wdog1: { A: "watchdog.0" } },   settings of fields whose command does not name them
//   })
//
// More of a field: `letter` (else the last of the command), `part` (an index of a list or of bits,
// a name of a record), `parts` (labels of all of them), `read(settings)` instead of `path`,
// `unit: "s"` (typed as people write durations), `per: 100` (the setting counts hundredths),
// `none: [0, "time_never"]` (a value and the text that stands for it; nothing typed means it, too),
// `hint: "key"`, `plainLabel: "INPD1"`, `secret: true`, `keepsSecret: true` (an empty secret keeps
// the old one), `forgottenBy(fields)` (the secret is for another server then, and must come along),
// `hidden: true`, `draw(field, drawn)` (see fields.js).
// A field whose command this version does not have is left out.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { t, text } from "../format/words.js";
import * as api from "../live/api.js";
import { BoundField, queryOf, requestsOf, rowsOf, settingReader } from "./bound_field.js";
import { copyableRequest } from "./controls.js";
import { drawField, label } from "./fields.js";
import { Task } from "./task.js";

export class Form {
  fields;
  #context;
  #spec;
  #task = new Task({ lost: "not_sent" });
  #saved = signal(false);
  #shown = signal(false);

  /** @param {AdminContext} context @param {FormSpec} spec */
  constructor(context, spec) {
    this.#context = context;
    this.#spec = spec;
    this.fields = spec.fields.flatMap((field) => {
      const command = context.commands.find(field.command);
      if (!command?.has(field.letter ?? command.lastLetter)) return [];
      const read = settingReader(context, spec.paths?.[field.command]);
      return [new BoundField(command, field, read)];
    });
    (spec.forms ?? context.forms).add(this);
  }

  get isChanged() {
    return this.fields.some((field) => field.isChanged);
  }

  /** @param {string} command @param {string} [letter] */
  field(command, letter) {
    return this.fields.find(
      (field) => field.spec.command === command && (!letter || field.letter === letter),
    );
  }

  /** @param {BoundField} field @param {Typed} typed */
  type(field, typed) {
    field.type(typed);
    this.#task.forget();
    this.#saved.value = false;
  }

  restore() {
    for (const field of this.fields) field.restore();
    this.#task.forget();
  }

  // True when everything that was changed is saved.
  async save() {
    const rows = rowsOf(this.fields, this.#context, this.#spec.paths);
    const changed = rows.filter((row) => row.isChanged);
    const wrong = changed.find((row) => row.hasProblem);
    if (this.#task.isBusy || wrong) {
      wrong?.wrongField?.focus();
      return false;
    }
    let isSent = false;
    await this.#task.run(async () => {
      isSent = await this.#send(requestsOf(changed));
    });
    this.#saved.value = isSent && changed.length > 0;
    return this.#saved.value || changed.length === 0;
  }

  /** @param {JoinedRequest[]} requests */
  async #send(requests) {
    for (const request of requests) {
      try {
        await api.send(request.target, request.body);
      } catch (error) {
        if (!this.#isForField(error, request)) throw error;
        return false;
      }
      try {
        await this.#context.readSettings();
      } catch (error) {
        // It is saved, and stands as it was typed until the settings come with the connection.
        if (!api.isLoss(error)) throw error;
        continue;
      }
      for (const row of request.rows) row.fields.forEach((field) => field.restore());
    }
    return true;
  }

  // Whether it is said beside a field.
  /** @param {unknown} error @param {JoinedRequest} request */
  #isForField(error, request) {
    const field = error instanceof api.Refused && findRefusedField(error.problem, request.rows);
    if (!field) return false;
    field.refusal = error.message;
    field.focus();
    return true;
  }

  view() {
    if (this.fields.length === 0) return nothing;
    return html`<form
      class="card"
      novalidate
      ?data-changed=${this.isChanged}
      @submit=${(event) => this.#onSubmit(event)}
      @keydown=${(event) => this.#onKeydown(event)}
    >
      ${this.#spec.isUnused?.()
        ? html`<details class="unused">
            <summary>${this.#heading()}</summary>
            ${this.#content()}
          </details>`
        : html`${this.#heading()} ${this.#content()}`}
    </form>`;
  }

  #heading() {
    const { heading, title } = this.#spec;
    return html`<h2>
      ${title ? text(title) : typeof heading === "function" ? heading() : heading}
    </h2>`;
  }

  #content() {
    const { note, lead, tail } = this.#spec;
    return html`${note ? html`<p class="note">${text(note)}</p>` : nothing} ${lead?.() ?? nothing}
    ${this.#fieldViews()} ${tail?.() ?? nothing} ${this.#task.view()} ${this.#footer()}`;
  }

  #fieldViews() {
    const { opened } = this.#spec;
    const isOpen = (/** @type {BoundField} */ { spec }) => opened?.includes(String(spec.label));
    const shown = this.fields.filter(({ spec }) => !spec.hidden);
    const open = opened ? shown.filter(isOpen) : shown;
    const folded = shown.filter((field) => !open.includes(field));
    return html`<div class="fields">${this.#fieldListView(open)}</div>
      ${folded.length > 0
        ? html`<details class="advanced">
            <summary>${t("advanced", { what: folded.map(label).join(", ") })}</summary>
            <div class="fields">${this.#fieldListView(folded)}</div>
          </details>`
        : nothing}`;
  }

  /** @param {BoundField[]} fields */
  #fieldListView(fields) {
    const rows = rowsOf(this.fields, this.#context, this.#spec.paths);
    return fields.map((field) =>
      this.#drawField(field, /** @type {Row} */ (rows.find((row) => row.fields.includes(field)))),
    );
  }

  /** @param {BoundField} field @param {Row} row */
  #drawField(field, row) {
    const problem = row.isChanged ? field.problem(row.values, true) : null;
    return drawField(field, {
      schema: field.schema(row.values),
      problem: field.refusal ?? problem,
      change: (typed) => this.type(field, typed),
      form: this,
    });
  }

  #footer() {
    const changed = this.isChanged;
    return html`<footer>
      <button class="primary" ?disabled=${!changed || this.#task.isBusy}>
        ${this.#task.isBusy ? t("saving") : t("save")}
      </button>
      <button type="button" ?disabled=${!changed} @click=${() => this.restore()}>
        ${t("discard")}
      </button>
      <span class="saved" role="status">${this.#saved.value && !changed ? t("saved") : ""}</span>
      <details class="request" @toggle=${(event) => (this.#shown.value = event.target.open)}>
        <summary>${t("as_request")}</summary>
        ${this.#shown.value ? this.#requests() : nothing}
      </details>
    </footer>`;
  }

  // What saving would send; for an untouched card, what would set it as it is.
  #requests() {
    const rows = rowsOf(this.fields, this.#context, this.#spec.paths);
    const changed = rows.filter((row) => row.isChanged);
    const meant = (changed.length ? changed : rows).filter((row) => !row.hasProblem);
    const own = requestsOf(meant).map(api.curl);
    const lines = [...own, ...(this.#spec.requests ?? [])];
    return copyableRequest(lines.join("\n"), own.length === 0);
  }

  /** @param {Event} event */
  #onSubmit(event) {
    event.preventDefault();
    this.save();
  }

  /** @param {KeyboardEvent} event */
  #onKeydown(event) {
    if (event.key !== "Escape" || !this.isChanged) return;
    event.preventDefault();
    this.restore();
  }
}

// A refusal names the command as it was sent, cut where it is long or secret, and the letter.
/** @param {Problem} problem @param {Row[]} rows */
function findRefusedField({ command, field: letter }, rows) {
  if (!command) return null;
  const begin = command.replace(/\.\.\.$/, "");
  const row = rows.find((one) => queryOf(one).includes(begin) || one.command.line === command);
  return row?.fields.find((field) => field.letter === letter) ?? row?.fields[0] ?? null;
}
