// Roll-outs: how far each group is, what holds them up, and what can be done with them now.

import { html, nothing, svg } from "../vendor/lit-html.js";
import { moment } from "../lib/format/moments.js";
import { durationText } from "../lib/format/numbers.js";
import { serverText, t } from "../lib/format/words.js";
import * as api from "../lib/live/api.js";
import { ShownMap } from "../lib/live/drawing.js";
import { icon } from "../lib/things/signs.js";
import { Confirmed } from "./confirmed.js";
import * as node from "./node_api.js";
import { resultList } from "./results.js";

const DONE = 200;
// What people read first when something is to be decided.
const OPERATIONS = /** @type {const} */ (["start", "resume", "retry", "stop", "undo"]);
const UNDER_WAY = ["running", "waiting", "undoing"];

/** @param {FleetRollout[]} rollouts */
export const underWay = (rollouts) =>
  rollouts.filter(({ status }) => UNDER_WAY.includes(status)).length;

export class Rollouts {
  #confirmed = new Confirmed();
  // Failures of the roll-outs that are open.
  /** @type {ShownMap<string, BulkReport["results"]>} */
  #failed = new ShownMap();

  /** @param {FleetRollout[]} rollouts @param {number} time */
  view(rollouts, time) {
    return html`<section class="card list" aria-label=${t("rollouts")}>
      ${rollouts.length
        ? rollouts.map((one) => this.#rollout(one, time))
        : html`<p class="empty">${t("no_rollouts")}</p>`}
    </section>`;
  }

  /** @param {FleetRollout} rollout @param {number} time */
  #rollout(rollout, time) {
    const { id, title, status, by, at } = rollout;
    return html`<article class="rollout" data-rollout=${id} data-status=${status}>
      <h2>${title}</h2>
      <p class="state">
        ${icon(status === "stopped" ? "attention" : status === "finished" ? "check" : "rule", "s")}
        <b>${t(`rollout_${status}`)}</b>
        <span>${progress(rollout)}</span>
        <small>${[by, moment(at, time), id].filter(Boolean).join(" · ")}</small>
      </p>
      ${rollout.why ? html`<p class="why">${serverText(rollout.why)}</p>` : nothing}
      ${rollout.go_on_at === null ? nothing : pause(rollout.go_on_at)}
      <ol class="groups-of">
        ${rollout.groups.map((group, place) => groupBar(group, place, rollout))}
      </ol>
      <p class="quiet">${thresholds(rollout)}</p>
      ${this.#buttons(rollout)} ${this.#confirmed.refusal(id)} ${this.#details(rollout)}
    </article>`;
  }

  /** @param {FleetRollout} rollout */
  #buttons(rollout) {
    const { id, can, done, undone, status } = rollout;
    const isAsking = this.#confirmed.isAsking(id);
    /** @type {Record<string, string>} */
    const questions = { undo: t("undo_sure", { count: done - undone }) };
    const button = (/** @type {string} */ what, /** @type {boolean} */ primary) =>
      this.#confirmed.button(
        id,
        what,
        { word: t(`rollout_${what}`), question: questions[what], primary },
        () => this.#operate(id, what),
      );
    const offered = OPERATIONS.filter((one) => can.includes(one));
    return html`<div class="do">
      ${offered.map((one, at) => button(one, at === 0 && one !== "undo" && !isAsking))}
      ${UNDER_WAY.includes(status)
        ? nothing
        : html`<span class="gap"></span>${this.#confirmed.button(
              id,
              "remove",
              { word: t("forget"), question: t("forget_sure") },
              () => this.#operate(id, "remove"),
            )}`}
    </div>`;
  }

  /** @param {string} id @param {string} what */
  #operate(id, what) {
    this.#failed.delete(id);
    return node.operate(id, what);
  }

  /** @param {FleetRollout} rollout */
  #details({ id, failed }) {
    if (failed === 0) return nothing;
    const known = this.#failed.get(id);
    return html`<details @toggle=${(event) => event.target.open && this.#fetch(id)}>
      <summary>${t("failed_ones", { count: failed })}</summary>
      ${known ? resultList(known, "done") : nothing}
    </details>`;
  }

  /** @param {string} id */
  async #fetch(id) {
    try {
      const { results: all } = await node.rollout(id);
      this.#failed.set(
        id,
        all.filter(({ status }) => status !== DONE),
      );
    } catch (error) {
      if (!api.mayPass(error)) throw error;
    }
  }
}

/** @param {Pick<FleetRollout, "done" | "failed" | "undone" | "controllers">} sums */
function progress({ done, failed, undone, controllers }) {
  return [
    t("rollout_done", { done, all: controllers }),
    failed ? t("rollout_failed", { count: failed }) : "",
    undone ? t("rollout_back", { count: undone }) : "",
  ]
    .filter(Boolean)
    .join(", ");
}

// By the time of the world, also where that of the controllers is virtual.
/** @param {number} until */
function pause(until) {
  const left = Math.max(0, Math.ceil(until - Date.now() / 1000));
  return html`<p class="why">${t("resumes_in", { time: durationText(left) })}</p>`;
}

/**
 * @param {FleetRollout["groups"][number]} group
 * @param {number} at
 * @param {FleetRollout} rollout
 */
function groupBar({ size, done, failed, undone }, at, { group: behind, status }) {
  const now = at === behind && UNDER_WAY.includes(status);
  const remaining = done - undone;
  /** @param {string} kind @param {number} begin @param {number} count */
  const part = (kind, begin, count) =>
    count > 0 ? svg`<rect class=${kind} x=${begin} width=${count} height="1" />` : nothing;
  return html`<li ?data-now=${now}>
    <svg viewBox=${`0 0 ${size} 1`} preserveAspectRatio="none" aria-hidden="true">
      ${part("done", 0, remaining)}${part("back", remaining, undone)}${part("failed", done, failed)}
    </svg>
    <span>${t("group", { number: at + 1 })}</span>
    <small>${progress({ done, failed, undone, controllers: size })}</small>
  </li>`;
}

/** @param {FleetRollout} rollout */
function thresholds({ success, max_errors: errors, pause_s: seconds }) {
  return [
    t("needs_success", { percent: success }),
    errors === null ? "" : t("errors_stop", { count: errors }),
    seconds ? t("pause_between", { time: durationText(seconds) }) : "",
  ]
    .filter(Boolean)
    .join(" · ");
}
