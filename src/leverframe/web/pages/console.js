// The console: every command and every path that can be read, each with the exact request it makes.

import { html, nothing } from "../vendor/lit-html.js";
import * as api from "../lib/api.js";
import { note } from "../lib/router.js";
import { t } from "../lib/words.js";
import { CommandCard } from "./console/command_card.js";
import { ReadingCard } from "./console/reading_card.js";

export class Page {
  #context;
  // { section, line, words, make, card }: what is listed, in the order of the list.
  #entries = [];
  #query = "";

  constructor(context) {
    this.#context = context;
  }

  async open(params) {
    this.#query = params.get("q") ?? "";
    const readings = readingsOf(await api.openApi(), this.#context.commands.all);
    this.#entries = [
      ...this.#context.commands.all.map((command, at) => this.#commandEntry(command, at)),
      ...readings.map((reading, at) => this.#readingEntry(reading, at)),
    ];
  }

  close() {}

  #commandEntry(command, at) {
    const section = t(`section_${slug(command.section)}`);
    const words = `${section} ${command.line} ${command.doc}`.toLowerCase();
    const make = () => new CommandCard(this.#context, command, `command-${at}`);
    return { section: command.section, line: command.line, words, make, card: null };
  }

  #readingEntry(reading, at) {
    const line = `${reading.method} ${reading.path}`;
    const words = `${line} ${reading.operation.summary}`.toLowerCase();
    const make = () => new ReadingCard(this.#context, reading, `reading-${at}`);
    return { section: "Reading", line, words, make, card: null };
  }

  view() {
    const wanted = this.#query.toLowerCase().split(/\s+/).filter(Boolean);
    const found = this.#entries.filter(({ words }) => wanted.every((word) => words.includes(word)));
    const sections = [...Map.groupBy(found, (entry) => entry.section)];
    return html`<p class="note">${t("intro")}</p>
      <div class="field search">
        <label for="console-search">${t("search")}</label>
        <input
          id="console-search"
          type="search"
          autocomplete="off"
          .value=${this.#query}
          @input=${(event) => this.#search(event.target.value)}
        />
        <small role="status">${t("found", { count: found.length })}</small>
      </div>
      ${sections.map(([section, entries]) => this.#section(section, entries))}`;
  }

  #section(section, entries) {
    return html`<section class="card commands">
      <h2>${t(`section_${slug(section)}`)}</h2>
      ${entries.map((entry) => this.#entry(entry))}
    </section>`;
  }

  // A form is made when somebody looks at it, and keeps what was typed.
  #entry(entry) {
    return html`<details
      .open=${entry.card !== null && entry.isOpen}
      @toggle=${(event) => this.#toggled(entry, event.target.open)}
    >
      <summary><code>${entry.line}</code></summary>
      ${entry.isOpen ? entry.card.view() : nothing}
    </details>`;
  }

  #toggled(entry, isOpen) {
    if (entry.isOpen === isOpen) return;
    entry.isOpen = isOpen;
    if (isOpen) entry.card ??= entry.make();
    this.#context.redraw();
  }

  #search(query) {
    this.#query = query;
    note("console", query ? { q: query } : {});
    this.#context.redraw();
  }
}

const slug = (section) => section.toLowerCase().replace(/[^a-z0-9]+/g, "_");

// Paths of the OpenAPI document that are no commands. The test bench has a page of its own.
function readingsOf({ paths }, commands) {
  const others = new Set([api.benchPath, ...commands.map(({ path }) => path)]);
  return Object.entries(paths)
    .filter(([path]) => !others.has(path))
    .flatMap(([path, { get, post }]) => [
      ...(get ? [{ method: "GET", path, operation: get }] : []),
      ...(post ? [{ method: "POST", path, operation: post }] : []),
    ]);
}
