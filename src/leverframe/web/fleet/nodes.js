// The nodes that share the database: who lives, who has how much, and how the database is.

import { html, nothing } from "../vendor/lit-html.js";
import { moment } from "../lib/format/moments.js";
import { roughText } from "../lib/format/numbers.js";
import { decimal, t } from "../lib/format/words.js";
import { icon } from "../lib/things/signs.js";
import { Confirmed } from "./confirmed.js";
import * as node from "./node_api.js";

// A node that was not heard for so long is worth a word; it beats twice a second.
const SILENT_S = 2;

/** @param {FleetPeer} peer @param {FleetCluster} cluster */
export function stateOf(peer, cluster) {
  if (!peer.is_alive) return peer.has_resigned ? "stopped" : "dead";
  if (peer.is_this && cluster.is_in_doubt) return "doubt";
  if (peer.silent_s >= SILENT_S) return "silent";
  if (peer.capacity === 0) return peer.controllers ? "emptied" : "empty";
  return "runs";
}

const BAD = ["dead", "doubt", "silent"];

// How many things an operator should look at.
/** @param {FleetCluster} cluster */
export function troublesOf(cluster) {
  const bad = cluster.nodes.filter((one) => BAD.includes(stateOf(one, cluster)));
  const { is_reachable: reachable } = cluster.database;
  return bad.length + Number(!reachable) + Number(standbyOf(cluster.database) === "missing");
}

/** @param {FleetDatabase} database */
function standbyOf({ standby, standbys }) {
  if (!standby) return "none";
  if (standbys === null) return "hidden";
  return standbys > 0 ? "connected" : "missing";
}

export class Nodes {
  #confirmed = new Confirmed();

  /** @param {FleetCluster} cluster @param {number} time */
  view(cluster, time) {
    return html`<section class="card list" aria-label=${t("nodes")}>
        ${cluster.free
          ? html`<p class="notice">
              ${icon("attention", "s")} ${t("free_controllers", { count: cluster.free })}
            </p>`
          : nothing}
        <div class="rows">
          <table class="nodes">
            <thead>
              <tr>
                <th>${t("node_state")}</th>
                <th>${t("node")}</th>
                <th class="number">${t("controllers")}</th>
                <th class="number">${t("capacity")}</th>
                <th class="number">${t("heard")}</th>
                <th class="number">${t("last_batch")}</th>
                <th>${t("program")}</th>
                <th><span class="unseen">${t("do")}</span></th>
              </tr>
            </thead>
            <tbody>
              ${cluster.nodes.map((peer) => this.#row(peer, cluster))}
            </tbody>
          </table>
        </div>
      </section>
      ${database(cluster, time)}`;
  }

  /** @param {FleetPeer} peer @param {FleetCluster} cluster */
  #row(peer, cluster) {
    const state = stateOf(peer, cluster);
    return html`<tr data-node=${peer.name} data-state=${state}>
        <td class="h">${icon(ICONS[state], "s")} ${t(`node_${state}`)}</td>
        <td class="n">
          <b>${peer.name}</b>${peer.is_this ? html` <i>${t("this_node")}</i>` : nothing}
          <small>${peer.inner}</small>
        </td>
        <td class="number" data-word=${t("controllers")}>${peer.controllers}</td>
        <td class="number" data-word=${t("capacity")}>${peer.capacity}</td>
        <td class="number" data-word=${t("heard")}>${heartbeatText(peer)}</td>
        <td class="number" data-word=${t("last_batch")}>${peer.batch}</td>
        <td data-word=${t("program")}>${peer.version || "–"}</td>
        <td class="act">
          ${this.#drain(peer, cluster)} ${peer.is_alive ? nothing : this.#forget(peer)}
        </td>
      </tr>
      ${this.#refusal(peer)}`;
  }

  /** @param {FleetPeer} peer */
  #refusal({ name }) {
    const refusal = this.#confirmed.refusal(name);
    return refusal === nothing
      ? nothing
      : html`<tr>
          <td colspan="8">${refusal}</td>
        </tr>`;
  }

  // The last node in service cannot be drained.
  /** @param {FleetPeer} peer @param {FleetCluster} cluster */
  #drain(peer, { nodes }) {
    if (peer.is_drained) return this.#fill(peer);
    const taking = nodes.filter(({ is_alive: alive, capacity }) => alive && capacity > 0);
    if (!taking.includes(peer) || taking.length < 2) return nothing;
    const { name, controllers: count } = peer;
    const question = t("drain_sure", { name, count });
    return html`<div class="do">
      ${this.#confirmed.button(name, "drain", { word: t("drain"), question }, () =>
        node.drain(name, false),
      )}
    </div>`;
  }

  // One that is not to come back.
  /** @param {FleetPeer} peer */
  #forget({ name }) {
    const question = t("forget_node_sure", { name });
    return html`<div class="do">
      ${this.#confirmed.button(name, "forget", { word: t("forget"), question }, () =>
        node.forget(name),
      )}
    </div>`;
  }

  // A drained node stays drained until it is returned to service.
  /** @param {FleetPeer} peer */
  #fill({ name }) {
    return html`<div class="do">
      ${this.#confirmed.button(name, "fill", { word: t("fill") }, () => node.drain(name, true))}
    </div>`;
  }
}

const ICONS = /** @type {const} */ ({
  runs: "check",
  emptied: "down",
  empty: "down",
  stopped: "close",
  dead: "attention",
  doubt: "attention",
  silent: "attention",
});

/** @param {FleetPeer} peer */
function heartbeatText({ is_alive: alive, silent_s: seconds }) {
  if (!alive) return "–";
  return seconds < SILENT_S ? t("heard_now") : t("heard_ago", { time: roughText(seconds) });
}

/** @param {number | null} last @param {boolean} inDoubt @param {number} time */
function lastDoubt(last, inDoubt, time) {
  if (inDoubt) return t("heard_now");
  return last === null ? t("never") : moment(last, time);
}

/** @param {FleetCluster} cluster @param {number} time */
function database({ database: about, is_in_doubt: inDoubt }, time) {
  const { is_reachable: reachable, server, schema, standby, standbys: count } = about;
  const standbyWord = standbyOf(about);
  const isBad = !reachable || inDoubt;
  /** @type {[string, Template, boolean][]} */
  const facts = [
    ["db_reachable", t(reachable ? "db_answers" : "db_away"), !reachable],
    ["db_lease", t(inDoubt ? "lease_over" : "lease_held"), inDoubt],
    ["db_server", server ? `PostgreSQL ${server}` : "–", false],
    ["db_schema", String(schema || "–"), false],
    [
      "db_standby",
      t(`standby_${standbyWord}`, { names: standby, count: count ?? 0 }),
      standbyWord === "missing",
    ],
    ["db_batches", decimal(about.batches_s, 1), false],
    ["db_doubt", lastDoubt(about.last_doubt, inDoubt, time), false],
  ];
  return html`<section class="card database" aria-labelledby="database-title" ?data-bad=${isBad}>
    <h2 id="database-title">${t("database")}</h2>
    ${inDoubt
      ? html`<p class="problem" role="alert">${icon("attention", "s")} ${t("in_doubt")}</p>`
      : nothing}
    <dl>
      ${facts.map(
        ([key, text, bad]) =>
          html`<div ?data-bad=${bad}>
            <dt>${t(key)}</dt>
            <dd data-fact=${key}>${text}</dd>
          </div>`,
      )}
    </dl>
  </section>`;
}
