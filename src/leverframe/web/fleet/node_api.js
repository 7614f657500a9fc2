// The only file that knows the addresses of a node.

import { answer, queryOf, read, send } from "../lib/live/api.js";

const BASE = "/api/fleet";

// Whom it concerns: names, or all that are looked for.
/** @param {FleetChoice} choice @returns {Params} */
const toParams = ({ names, wanted }) =>
  names ? { name: names.join(",") } : omitEmpty({ ...wanted, order: "" });

// A node removes and assigns only named controllers: "all" is not accepted.
/** @param {FleetChoice} choice @returns {Promise<FleetChoice>} */
async function resolveNames(choice) {
  if (choice.names) return choice;
  /** @type {{ name: string }[]} */
  const found = await read(`${BASE}/list?${queryOf(toParams(choice))}`);
  return { names: found.map(({ name }) => name) };
}

/** @param {Record<string, string | number | boolean | undefined>} params @returns {Params} */
const omitEmpty = (params) =>
  Object.fromEntries(
    Object.entries(params)
      .filter(([, value]) => value !== undefined && value !== "" && value !== false)
      .map(([name, value]) => [name, value === true ? 1 : /** @type {string | number} */ (value)]),
  );

// Parameters go as a form: the names of thousands have no room in a query.
/**
 * @template T
 * @param {string} what
 * @param {Params} params
 * @returns {Promise<T>}
 */
const post = async (what, params) => (await send(`${BASE}/${what}`, queryOf(params))).json();

/** @param {FleetWanted} wanted @param {number} first @param {number} count */
export const stream = (wanted, first, count) =>
  new EventSource(`${BASE}/stream?${queryOf(omitEmpty({ ...wanted, first, count }))}`);

/**
 * @param {FleetChoice} choice
 * @param {string} command
 * @param {{ dryRun: boolean, allOrNone: boolean }} how
 * @returns {Promise<BulkReport>}
 */
export function sendCommand(choice, command, { dryRun, allOrNone }) {
  const how = omitEmpty({ dry_run: dryRun, all_or_none: allOrNone });
  return post("send", { command: command.trim(), ...toParams(choice), ...how });
}

/** @param {FleetChoice} choice @param {"add" | "remove"} how @param {string} tags */
export const tag = (choice, how, tags) =>
  /** @type {Promise<BulkReport>} */ (post("tag", { ...toParams(choice), [how]: tags }));
/** @param {FleetChoice} choice @param {string} label @returns {Promise<BulkReport>} */
export const takeSnapshot = (choice, label) => post("snapshot", { ...toParams(choice), label });
/** @param {FleetChoice} choice @param {string} label @returns {Promise<BulkReport>} */
export const restore = (choice, label) => post("restore", { ...toParams(choice), label });
/** @param {string} label @returns {Promise<unknown>} */
export const removeSnapshot = (label) => post("snapshot/remove", { label });
/** @param {FleetChoice} choice @returns {Promise<BulkReport>} */
export const remove = async (choice) => post("remove", toParams(await resolveNames(choice)));
// Whose they are from then on; "" for the operator alone.
/** @param {FleetChoice} choice @param {string} tenant @returns {Promise<BulkReport>} */
export const give = async (choice, tenant) =>
  post("tenant/give", { ...toParams(await resolveNames(choice)), ...omitEmpty({ tenant }) });
/** @param {string} name @param {string} to @returns {Promise<unknown>} */
export const rename = (name, to) => post("rename", { name, to });
/** @param {string} name @param {Params} at @returns {Promise<unknown>} */
export const place = (name, at) => post("place", { name, ...at });
// All controllers that failed to start with the node.
/** @returns {Promise<BulkReport>} */
export const startAgain = () => post("start", {});
/** @param {Params} params @returns {Promise<FleetMoved>} */
export const advance = (params) => post("advance", params);
/**
 * @param {"add" | "fork"} what
 * @param {Record<string, string | number | boolean>} params
 * @param {File | null} [template]
 * @returns {Promise<MadeReport>}
 */
export const make = async (what, params, template) =>
  template
    ? (await send(`${BASE}/${what}?${queryOf(omitEmpty(params))}`, template, "text/plain")).json()
    : post(what, omitEmpty(params));
// In what controllers differ from a file, or from what another one has set.
/**
 * @param {FleetChoice} choice
 * @param {string} like
 * @param {File | null} file
 * @returns {Promise<MemberDrift[]>}
 */
export async function drift(choice, like, file) {
  const template = file ?? JSON.stringify(await settingsOf(like));
  return (await send(`${BASE}/drift?${queryOf(toParams(choice))}`, template, "text/plain")).json();
}

/** @param {string} name */
async function settingsOf(name) {
  /** @type {{ settings: unknown }[]} */
  const [{ settings }] = await read(`${BASE}/export?${queryOf({ name })}`);
  return settings;
}
// Newest first, those of several controllers alike as one; and which nodes did not answer: their
// part is missing.
/**
 * @param {FleetChangesOf} about
 * @param {number} count
 * @returns {Promise<{ changes: FleetChange[], silent: string }>}
 */
export async function changes(about, count) {
  const query = queryOf(omitEmpty({ ...about, count, grouped: true }));
  const reply = await answer(`${BASE}/changes?${query}`);
  const silent = reply.headers.get("leverframe-silent-nodes") ?? "";
  return { changes: await reply.json(), silent };
}
/** @param {string} name @returns {Promise<FleetCluster>} */
export const forget = (name) => post("forget", { node: name });
/** @param {string} name @param {boolean} undo @returns {Promise<FleetCluster>} */
export const drain = (name, undo) => post("drain", omitEmpty({ node: name, undo }));
/** @param {string[]} names @param {string} to @returns {Promise<FleetCluster>} */
export const move = (names, to) => post("move", omitEmpty({ name: names.join(","), node: to }));
/** @returns {Promise<FleetTenant[]>} */
export const tenants = () => read(`${BASE}/tenants`);
/** @returns {Promise<FleetAccount[]>} */
export const accounts = () => read(`${BASE}/accounts`);
/** @param {string} tenant @returns {Promise<FleetTenant & OpenControllers>} */
export const addTenant = (tenant) => post("tenant/add", { tenant });
/** @param {string} tenant @returns {Promise<FleetTenant>} */
export const removeTenant = (tenant) => post("tenant/remove", { tenant });
/**
 * @param {string} name
 * @param {string} tenant
 * @param {string} role
 * @returns {Promise<AccountMade>}
 */
export const addAccount = (name, tenant, role) =>
  post("account/add", omitEmpty({ name, tenant, role }));
/** @param {string} name @returns {Promise<FleetAccount>} */
export const removeAccount = (name) => post("account/remove", { name });
/** @param {string} id @returns {Promise<FleetRollout>} */
export const rollout = (id) => read(`${BASE}/rollout?${queryOf({ id })}`);
/** @param {string} id @param {string} what @returns {Promise<FleetRollout>} */
export const operate = (id, what) => post(`rollout/${what}`, { id });
/**
 * @param {FleetChoice} choice
 * @param {string} command
 * @param {string} groups
 * @returns {Promise<{ job: FleetRollout, tried: BulkReport }>}
 */
export const planRollout = (choice, command, groups) =>
  post("rollout/plan", { command: command.trim(), ...toParams(choice), ...omitEmpty({ groups }) });
