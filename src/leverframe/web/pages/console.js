// The console: every command and every path that can be read, each with the exact request it makes.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { fold, t } from "../lib/format/words.js";
import { note } from "../lib/frame/router.js";
import * as api from "../lib/live/api.js";
import { observeMembers } from "../lib/live/drawing.js";
import { describe, useDescriptions } from "../lib/live/commands.js";
import { CommandCard, ReadingCard } from "./console/cards.js";
import { fieldName } from "./console/fields.js";

/** @import { Reading } from "./console/cards.js" */

/** @typedef {{ view(): Template }} Card */
/**
 * @typedef {object} Entry
 * @property {string} section
 * @property {string} line
 * @property {string} doc
 * @property {string} words
 * @property {() => Card} make
 * @property {Card} [card]
 * @property {boolean} [isOpen]
 */
/** @typedef {{ paths: Record<string, Record<"get" | "post", Reading["operation"]>> }} OpenApi */

export class Page {
  #context;
  // What is listed, in the order of the list.
  /** @type {Signal<Entry[]>} */
  #entries = signal([]);
  #query = signal("");

  /** @param {AdminContext} context */
  constructor(context) {
    this.#context = context;
  }

  /** @param {URLSearchParams} params */
  async open(params) {
    this.#query.value = params.get("q") ?? "";
    const row = params.get("row");
    const [openApi] = await Promise.all([api.openApi(), useDescriptions()]);
    const readings = readingsOf(openApi, this.#context.commands.all);
    const commands = this.#context.commands.all.map((one, at) => this.#commandEntry(one, at));
    const entries = [...commands, ...readings.map((one, at) => this.#readingEntry(one, at))];
    this.#entries.value = entries.map((entry) => observeMembers(/** @type {Entry} */ (entry)));
    const wanted = this.#entries.value.find(({ line }) => line === row);
    if (wanted) await this.#reveal(wanted);
  }

  // The row of the address: open, and in sight.
  /** @param {Entry} entry */
  async #reveal(entry) {
    this.#onToggle(entry, true);
    await new Promise(requestAnimationFrame);
    const row = document.querySelector("details.row[open]");
    setTimeout(() => row?.scrollIntoView({ block: "start" }));
  }

  /** @param {Command} command @param {number} at */
  #commandEntry(command, at) {
    const section = t(`section_${slug(command.section)}`);
    const fields = command.letters.map((letter) => describe(fieldName(command, letter))).join(" ");
    const doc = describe(command.doc);
    const words = fold(`${section} ${command.line} ${doc} ${fields}`);
    const make = () => new CommandCard(this.#context, command, `command-${at}`);
    return { section: command.section, line: command.line, doc, words, make };
  }

  /** @param {Reading} reading @param {number} at */
  #readingEntry(reading, at) {
    const line = `${reading.method} ${reading.path}`;
    const doc = describe(reading.operation.summary);
    const words = fold(`${t("section_reading")} ${line} ${doc}`);
    const make = () => new ReadingCard(this.#context, reading, `reading-${at}`);
    return { section: "Reading", line, doc, words, make };
  }

  view() {
    const wanted = fold(this.#query.value).split(/\s+/).filter(Boolean);
    const found = this.#entries.value.filter(({ words }) =>
      wanted.every((word) => words.includes(word)),
    );
    const sections = [...Map.groupBy(found, (entry) => entry.section)];
    return html`<p class="note">${t("intro")}</p>
      <div class="field search">
        <label for="console-search">${t("search")}</label>
        <input
          id="console-search"
          type="search"
          autocomplete="off"
          .value=${this.#query.value}
          @input=${(event) => this.#search(event.target.value)}
        />
        <small role="status">${t("found", { count: found.length })}</small>
      </div>
      ${sections.map(([section, entries]) => this.#section(section, entries))}`;
  }

  /** @param {string} section @param {Entry[]} entries */
  #section(section, entries) {
    return html`<section class="card commands">
      <h2>${t(`section_${slug(section)}`)}</h2>
      ${entries.map((entry) => this.#entry(entry))}
    </section>`;
  }

  // A form is created when it is first opened, and keeps what is typed.
  /** @param {Entry} entry */
  #entry(entry) {
    return html`<details
      class="row"
      .open=${entry.isOpen === true}
      @toggle=${(event) => this.#onToggle(entry, event.target.open)}
    >
      <summary><span>${entry.doc.replaceAll("`", "")}</span><code>${entry.line}</code></summary>
      ${entry.isOpen ? entry.card?.view() : nothing}
    </details>`;
  }

  /** @param {Entry} entry @param {boolean} isOpen */
  #onToggle(entry, isOpen) {
    if (entry.isOpen === isOpen) return;
    entry.isOpen = isOpen;
    if (isOpen) entry.card ??= entry.make();
  }

  /** @param {string} query */
  #search(query) {
    this.#query.value = query;
    note("console", query ? { q: query } : {});
  }
}

/** @param {string} section */
const slug = (section) => section.toLowerCase().replace(/[^a-z0-9]+/g, "_");

// Paths of the OpenAPI document that are no commands. The test bench has a page of its own.
/** @param {OpenApi} openApi @param {Command[]} commands */
function readingsOf({ paths }, commands) {
  const others = new Set([api.benchPath, ...commands.map(({ path }) => path)]);
  return Object.entries(paths)
    .filter(([path]) => !others.has(path))
    .flatMap(([path, { get, post }]) => [
      ...(get ? [{ method: "GET", path, operation: get }] : []),
      ...(post ? [{ method: "POST", path, operation: post }] : []),
    ]);
}
