// What happened and why, newest first: the journal, for those who may read it.

import { html, nothing } from "../../vendor/lit-html.js";
import { JournalReader, journalList } from "../../lib/journal.js";
import { address } from "../../lib/router.js";
import { t } from "../../lib/words.js";

const LINES = 14;
const READ = 60;
const READ_AGAIN_MS = 400;

export class Happened {
  #context;
  #overview;
  #journal = new JournalReader({}, READ);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #heard;
  /** @type {Promise<void> | null} */
  #reading = null;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    this.#heard = context.live.heard;
    this.#overview = context.overview;
  }

  // One after the other: the next one asks only for what has come since.
  async read() {
    if (!this.#context.isAdmin) return;
    this.#reading = (this.#reading ?? Promise.resolve())
      .catch(() => {})
      .then(async () => {
        await this.#journal.read();
        this.#context.redraw();
      });
    await this.#reading;
  }

  // The journal is read again a moment after the state has moved on.
  follow() {
    const { heard } = this.#context.live;
    if (!this.#context.isAdmin || heard === this.#heard) return;
    this.#heard = heard;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.read().catch(() => {});
    }, READ_AGAIN_MS);
  }

  close() {
    clearTimeout(this.#timer);
  }

  view() {
    if (!this.#context.isAdmin || !this.#overview.isVisible("log")) return nothing;
    const { entries } = this.#journal;
    return html`<section class="card sheet" aria-labelledby="happened">
      <header class="sect">
        <h2 id="happened">${t("page_log")}</h2>
        <a href=${address("log")}>${t("whole_journal")}</a>
      </header>
      ${entries.length === 0
        ? html`<p class="empty">${t("nothing_yet")}</p>`
        : journalList(this.#context, entries, LINES)}
    </section>`;
  }
}
