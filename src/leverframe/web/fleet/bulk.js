// Bulk actions on selected controllers: a dry run first where possible, results per controller.

import { html, nothing } from "../vendor/lit-html.js";
import { signal } from "../vendor/signals-core.js";
import { clock, t } from "../lib/format/words.js";
import { optionsOf } from "../lib/forms/controls.js";
import { CONNECTION, Task } from "../lib/forms/task.js";
import { observe } from "../lib/live/drawing.js";
import { OUTPUTS } from "../lib/things/labels.js";
import { kindName } from "../lib/things/things.js";
import { PlaceChoice, TemplateChoice } from "./choices.js";
import { Confirmed } from "./confirmed.js";
import * as node from "./node_api.js";
import { comparison, effectWords, results } from "./results.js";
import { addressWith } from "./view.js";

// What needs a text, and what else.
const TEXT = ["command", "rollout", "tag", "untag", "snapshot", "rename"];
const HINTED = ["compare", "place"];

export class Bulk {
  #page;
  #confirmed = new Confirmed();
  what = "switch";
  #text = signal("");
  #groups = "1,10%,rest";
  #output = signal(0);
  #on = signal(1);
  // The tenant to assign; null before one is chosen.
  /** @type {Signal<string | null>} */
  #owner = signal(null);
  #template;
  #place;
  /** @type {Signal<MemberDrift[] | null>} */
  #drift = signal(null);
  #allOrNone = signal(false);
  #sure = signal("");
  /** @type {Signal<BulkReport | null>} */
  #report = signal(null);
  #task = new Task({ lost: CONNECTION });
  #triedAt = signal(0);

  /** @param {FleetPageLike} page */
  constructor(page) {
    observe(this, "what");
    this.#page = page;
    this.#template = new TemplateChoice(page, () => this.forget());
    this.#place = new PlaceChoice(() => this.forget());
  }

  // Others are chosen: what was said of those before holds no longer.
  forChoice() {
    this.#place.forget();
    this.forget();
  }

  // What was tried holds for those that were chosen then.
  forget() {
    this.#report.value = null;
    this.#drift.value = null;
    this.#task.forget();
    this.#sure.value = "";
  }

  view() {
    const { count } = this.#page;
    if (count === 0) return nothing;
    return html`<section class="bulk" aria-label=${t("with_chosen", { count })}>
      <form class="do" @submit=${(event) => this.#submit(event)}>
        <b>${t("chosen", { count })}</b>
        ${this.#chooser()} ${this.#fields()} ${this.#isAsking ? nothing : this.#buttons()}
      </form>
      ${this.what === "give" ? this.#consequence(count) : nothing}
      ${HINTED.includes(this.what) ? html`<p class="quiet">${t(`hint_${this.what}`)}</p>` : nothing}
      ${this.what === "restore"
        ? this.#confirmed.refusal(aboutSnapshot(this.#text.value))
        : nothing}
      ${this.#task.view()} ${this.#report.value ? this.#reportView(this.#report.value) : nothing}
      ${this.#drift.value ? comparison(this.#drift.value) : nothing}
    </section>`;
  }

  /** @param {BulkReport} report */
  #reportView(report) {
    return html`${results(report)}
    ${report.dry_run
      ? html`<p class="quiet">${t("tried_at", { time: clock(this.#triedAt.value) })}</p>`
      : nothing}`;
  }

  #chooser() {
    const { count, choice, cluster, node: about } = this.#page;
    const whats = ["switch", "command", "rollout", "compare", "tag", "untag", "snapshot"];
    if (about?.snapshots.length) whats.push("restore");
    if (cluster && choice.names) whats.push("move");
    // Whose controllers are is the operator's affair.
    if (about?.tenant === null && Object.keys(about.tenants).length) whats.push("give");
    if (count === 1) whats.push("rename", "fork");
    // So are the addresses and ports of the machine.
    if (count === 1 && about?.tenant === null) whats.push("place");
    whats.push("remove");
    // A user sees and switches.
    if (about?.role === "user") whats.splice(2);
    if (!whats.includes(this.what)) this.what = "switch";
    return html`<select
      aria-label=${t("do")}
      @change=${(event) => {
        this.what = event.target.value;
        this.#text.value = "";
        this.forChoice();
      }}
    >
      ${optionsOf(
        whats.map((what) => [what, t(`do_${what}`)]),
        this.what,
      )}
    </select>`;
  }

  #fields() {
    if (this.what === "switch") {
      return html`${this.#select("output", numbers(), String(this.#output.value), (value) => {
        this.#output.value = Number(value);
      })}
      ${this.#select(
        "state",
        [
          ["1", t("state_on")],
          ["0", t("state_off")],
        ],
        String(this.#on.value),
        (value) => (this.#on.value = Number(value)),
      )}`;
    }
    if (this.what === "restore") {
      const labels = this.#page.node?.snapshots ?? [];
      // Also where another user has removed it.
      if (!labels.includes(this.#text.value)) this.#text.value = labels[0] ?? "";
      const options = labels.map((label) => [label, label]);
      return html`${this.#select("snapshot", options, this.#text.value, (value) => {
        this.#text.value = value;
      })}
      ${this.#removeSnapshot(this.#text.value)}`;
    }
    if (this.what === "move") {
      const living = (this.#page.cluster?.nodes ?? []).filter(({ is_alive: alive }) => alive);
      const options = [["", t("any_node")], ...living.map(({ name }) => [name, name])];
      return this.#select("move", options, this.#text.value, (value) => (this.#text.value = value));
    }
    if (this.what === "compare") {
      return this.#template.view(t("make_file"), t("choose_template"), true);
    }
    if (this.what === "place") {
      return this.#place.view(this.#page.rows.find(({ name }) => name === this.#name));
    }
    if (this.what === "give") {
      const options = [...this.#tenants.map((name) => [name, name]), ["", t("operator_alone")]];
      return this.#select("give", options, this.#toWhom, (value) => (this.#owner.value = value));
    }
    if (this.what === "remove") {
      const { count } = this.#page;
      return html`<label class="sure"
        >${t("sure", { count })}
        <input
          size="6"
          inputmode="numeric"
          .value=${this.#sure.value}
          @input=${(event) => (this.#sure.value = event.target.value)}
      /></label>`;
    }
    if (!TEXT.includes(this.what)) return nothing;
    return html`<input
        class="words"
        aria-label=${t(`text_${this.what}`)}
        placeholder=${["command", "rollout"].includes(this.what) ? "outs.cgi?out0=1" : nothing}
        autocomplete="off"
        required
        .value=${this.#text.value}
        @input=${(event) => {
          this.#text.value = event.target.value;
          this.forget();
        }}
      />${this.what === "rollout" ? this.#groupSizes() : nothing}`;
  }

  /** @param {string} label */
  #removeSnapshot(label) {
    const how = { word: t("remove"), question: t("snapshot_sure", { label }) };
    return this.#confirmed.button(aboutSnapshot(label), "remove-snapshot", how, () =>
      node.removeSnapshot(label),
    );
  }

  #groupSizes() {
    return html`<label class="sure"
      >${t("text_groups")}
      <input
        size="14"
        autocomplete="off"
        .value=${this.#groups}
        @input=${(event) => (this.#groups = event.target.value)}
    /></label>`;
  }

  /**
   * @param {string} key
   * @param {string[][]} options
   * @param {string} current
   * @param {(value: string) => void} choose
   */
  #select(key, options, current, choose) {
    return html`<select
      aria-label=${t(`text_${key}`)}
      @change=${(event) => {
        choose(event.target.value);
        this.forget();
      }}
    >
      ${optionsOf(options, current)}
    </select>`;
  }

  // Of the one that is chosen.
  get #name() {
    return this.#page.choice.names?.[0] ?? "";
  }

  get #tenants() {
    return Object.keys(this.#page.node?.tenants ?? {});
  }

  get #toWhom() {
    return this.#owner.value ?? this.#tenants[0] ?? "";
  }

  get #isCommand() {
    return this.what === "switch" || this.what === "command";
  }

  /** @param {number} count */
  #consequence(count) {
    const name = this.#toWhom;
    return html`<p class="quiet">
      ${name ? t("give_hint", { name, count }) : t("take_back_hint", { count })}
    </p>`;
  }

  /** @param {number} count */
  #now(count) {
    const isBack = this.what === "give" && this.#toWhom === "";
    return isBack ? t("now_take_back", { count }) : t(`now_${this.what}`, { count });
  }

  // A question has buttons of its own.
  get #isAsking() {
    return this.what === "restore" && this.#confirmed.isAsking(aboutSnapshot(this.#text.value));
  }

  #buttons() {
    return html`${this.#doing()}
      <button type="button" class="bare" @click=${() => this.#page.chooseNone()}>
        ${t("choose_none")}
      </button>`;
  }

  get #isReady() {
    if (this.what === "remove") return this.#sure.value.trim() === String(this.#page.count);
    return this.what !== "place" || this.#place.isMade;
  }

  #doing() {
    const { count } = this.#page;
    if (!this.#isCommand) {
      return html`<span class="gap"></span
        ><button
          class="primary"
          data-do=${this.what}
          ?disabled=${this.#task.isBusy || !this.#isReady}
        >
          ${this.#now(count)}
        </button>`;
    }
    const tried = this.#report.value?.dry_run ? this.#report.value : null;
    const would = !tried || (this.#allOrNone.value && tried.refused > 0) ? 0 : tried.done;
    return html`<label class="toggle"
        ><input
          type="checkbox"
          .checked=${this.#allOrNone.value}
          @change=${(event) => (this.#allOrNone.value = event.target.checked)}
        />${t("all_or_none")}</label
      >
      <button data-do="try" ?disabled=${this.#task.isBusy}>
        ${t(tried ? "try_again" : "try")}
      </button>
      <span class="gap"></span>
      ${tried
        ? html`<button
            type="button"
            class="primary"
            data-do="send"
            ?disabled=${this.#task.isBusy || would === 0}
            @click=${() => this.#act(() => this.#send(tried))}
          >
            ${t("now_send", { count: would })}
          </button>`
        : nothing}`;
  }

  /** @param {SubmitEvent} event */
  #submit(event) {
    event.preventDefault();
    const { choice } = this.#page;
    const text = this.#text.value.trim();
    /** @type {Record<string, () => Promise<BulkReport | null>>} */
    const work = {
      switch: () => this.#try(),
      command: () => this.#try(),
      tag: () => node.tag(choice, "add", text),
      untag: () => node.tag(choice, "remove", text),
      snapshot: () => node.takeSnapshot(choice, text),
      restore: () => node.restore(choice, this.#text.value),
      rollout: () => this.#plan(text),
      compare: () => this.#compare(),
      move: () => this.#move(),
      give: () => node.give(choice, this.#toWhom),
      rename: () => this.#rename(text),
      place: () => this.#putAt(this.#place.params),
      fork: async () => this.#page.fork(),
      remove: () => this.#remove(),
    };
    this.#act(work[this.what]);
  }

  /** @param {() => Promise<BulkReport | null>} work */
  async #act(work) {
    const isDone = await this.#task.run(async () => (this.#report.value = await work()));
    if (!isDone) this.#report.value = null;
  }

  get #command() {
    return this.what === "switch"
      ? `outs.cgi?out${this.#output.value}=${this.#on.value}`
      : this.#text.value;
  }

  async #try() {
    this.#triedAt.value = this.#page.time;
    const how = { dryRun: true, allOrNone: false };
    const report = await node.sendCommand(this.#page.choice, this.#command, how);
    await effectWords(report.results.flatMap(({ effects = [] }) => effects));
    return report;
  }

  async #compare() {
    const { like, file } = this.#template;
    const drift = await node.drift(this.#page.choice, like, file);
    await effectWords(drift.flatMap(({ settings = [] }) => settings));
    this.#drift.value = drift;
    return null;
  }

  // Those that would refuse it are left out where they were chosen one by one.
  /** @param {BulkReport} tried */
  #send(tried) {
    const { choice } = this.#page;
    const would = tried.results.filter(({ status }) => status === 200).map(({ name }) => name);
    const meant = choice.names ? { ...choice, names: would } : choice;
    return node.sendCommand(meant, this.#command, {
      dryRun: false,
      allOrNone: this.#allOrNone.value,
    });
  }

  // What was planned is started where its groups are shown.
  /** @param {string} command */
  async #plan(command) {
    await node.planRollout(this.#page.choice, command, this.#groups);
    this.#page.chooseNone();
    location.assign(addressWith({ view: "rollouts" }));
    return null;
  }

  async #move() {
    await node.move(this.#page.choice.names ?? [], this.#text.value);
    this.#page.chooseNone();
    return null;
  }

  /** @param {string} to */
  async #rename(to) {
    await node.rename(this.#name, to);
    this.#page.chooseNone();
    return null;
  }

  /** @param {Params} place */
  async #putAt(place) {
    await node.place(this.#name, place);
    this.#page.chooseNone();
    return null;
  }

  async #remove() {
    const report = await node.remove(this.#page.choice);
    this.#page.chooseNone();
    return report;
  }
}

// A space ends what a question is about, and labels may have some.
/** @param {string} label */
const aboutSnapshot = (label) => `snapshot:${encodeURIComponent(label)}`;

const numbers = () => OUTPUTS.map((label, at) => [String(at), kindName(label)]);
