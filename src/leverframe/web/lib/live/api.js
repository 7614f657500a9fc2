// The only file that knows the controller's addresses.

import { signal } from "../../vendor/signals-core.js";

/** @import { OpenApi } from "../../pages/console.js" */
/** @import { Words } from "../format/words.js" */

// Where this page's own files stand: below their version.
const OWN = new URL("../..", import.meta.url);
const FILES = OWN.protocol === "file:" ? "/web/" : OWN.pathname;

export class Refused extends Error {
  /** @param {Problem} problem */
  constructor(problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

// Whether nothing answered at all, in the words of the browsers; each has its own for modules.
/** @param {unknown} error */
export const isLoss = (error) =>
  error instanceof TypeError &&
  /fetch|network|load failed|imported module|module script/i.test(error.message);

// Whether the same may well succeed a moment later.
/** @param {unknown} error */
export const mayPass = (error) => isLoss(error) || error instanceof Refused;

const WORDS = `${FILES}words/`;
/** @type {(sentence: string) => string | Promise<string>} */
let reword = (sentence) => sentence;

// How a refusal is said in the language of the pages.
/** @param {typeof reword} inWords */
export function translateRefusals(inWords) {
  reword = inWords;
}

/** @param {string} target @param {RequestInit} [options] */
export async function answer(target, options) {
  const reply = await fetch(target, { credentials: "same-origin", ...options });
  if (reply.ok) {
    if (target.startsWith("/api/")) isOver.value = false;
    return reply;
  }
  let problem = { status: reply.status, detail: `The controller answered ${reply.status}.` };
  if ((reply.headers.get("content-type") || "").includes("json")) problem = await reply.json();
  // The words of refusals are a file themselves.
  const isOfWords = target.startsWith(WORDS);
  throw new Refused(isOfWords ? problem : { ...problem, detail: await reword(problem.detail) });
}

/**
 * An answer, taken for what its caller says it is.
 * @template T
 * @param {string} path
 * @param {RequestInit} [options]
 * @returns {Promise<T>}
 */
export const read = async (path, options) => (await answer(path, options)).json();
/** @param {string} path */
const readXml = async (path) =>
  new DOMParser().parseFromString(await (await answer(path)).text(), "text/xml");
// The text of a query.
/** @param {Params} params */
export const queryOf = (params) =>
  new URLSearchParams(/** @type {Record<string, string>} */ (params)).toString();
const FORM = "application/x-www-form-urlencoded";
// A change is sent with POST: a page never changes anything by GET.
/** @param {string} target @param {BodyInit} [body] @param {string} [type] */
export const send = (target, body, type = FORM) =>
  answer(target, {
    method: "POST",
    ...(body === undefined ? {} : { body, headers: { "Content-Type": type } }),
  });

// How long an order to switch something is valid: a controller that wakes up later ignores it.
const ORDER_S = 3;
// The controller's clock, less the time of this page, in seconds; null before the first heartbeat.
/** @type {number | null} */
let clockAhead = null;

/** @param {number} clock */
export function setClock(clock) {
  clockAhead = clock - performance.now() / 1000;
}

/** @param {string} target */
async function order(target) {
  const withdrawal = AbortSignal.timeout(ORDER_S * 1000);
  // Without a heartbeat no moment can be named: only a controller that is awake gets the order.
  if (clockAhead === null) await health({ signal: withdrawal });
  /** @type {Record<string, string>} */
  const headers =
    clockAhead === null
      ? {}
      : { "X-Valid-Until": String(clockAhead + performance.now() / 1000 + ORDER_S) };
  return answer(target, { method: "POST", signal: withdrawal, headers });
}

// Whether an order was not answered in time.
/** @param {unknown} error */
export const isTooLate = (error) =>
  error instanceof DOMException && error.name === "TimeoutError";

/** @param {RequestInit} [options] @returns {Promise<State>} */
export const state = (options) => read("/api/state", options);
// What a page needs before it can show anything.
/** @returns {Promise<Start>} */
export const start = () => read("/api/start");
/** @returns {Promise<CommandRow[]>} */
export const commands = () => read("/api/commands");
/** @returns {Promise<Start["account"]>} */
export const account = () => read("/api/account");
/** @returns {Promise<Status>} */
export const names = () => read("/json/status.json");
/** @returns {Promise<LogEntries>} */
export const log = () => read("/api/log");
// Also of before the last start: `which`, `cause`, `from`, `to`, `after`, `limit`.
/** @param {Params} query @returns {Promise<Api.EntryReport[]>} */
export const journal = (query) => read(`/api/journal?${queryOf(query)}`);
/** @returns {Promise<AuditEntries>} */
export const audit = () => read("/api/audit");
/** @returns {Promise<Outbox>} */
export const outbox = () => read("/api/outbox");
/** @returns {Promise<Firmware>} */
export const firmware = () => read("/api/firmware");
/** @returns {Promise<Certificate>} */
export const certificate = () => read("/api/certificate");
export const storage = () => read("/api/storage");
/** @returns {Promise<NotRestored>} */
export const restoreReport = () => read("/api/restore-report");
/** @returns {Promise<Api.RuleReport[]>} */
export const rules = () => read("/api/rules");
/** @param {string} item @param {number} hours @returns {Promise<Api.RuleTrial>} */
export const tryRule = async (item, hours) =>
  (await send(`/api/rules/try?for=${hours}h`, item, "text/plain")).json();
/** @param {string} lines @param {number} hours @returns {Promise<Api.WhatIf>} */
export const whatIf = async (lines, hours) =>
  (await send(`/api/what-if?for=${hours}h`, lines, "text/plain")).json();
/** @param {Params} query @returns {Promise<Api.LeverTimeline>} */
export const timeline = (query) => read(`/api/timeline?${queryOf(query)}`);
/** @param {Params} query @returns {Promise<HistoryReply>} */
export const history = (query) => read(`/api/history?${queryOf(query)}`);
// Readings as they are at the pins: `inp1` to `inp6` in millivolts.
export const rawReadings = () => readXml("/xml/ix.xml");
// What is known of the 1-Wire bus: `dsid` is the ID that was read last.
/** @returns {Promise<{ dsid: string }>} */
export const sensors = () => read("/json/dsi2c.json");
// All sensors on the 1-Wire bus with their temperatures, assigned or not.
/** @returns {Promise<Api.OneWireReport[]>} */
export const onewireSensors = () => read("/api/onewire");
// With the last command that was typed, and its answer.
/** @returns {Promise<Modem>} */
export const modem = () => read("/api/modem");
// Name and unit of what Modbus modules measure, by module.
/** @returns {Promise<Modules>} */
export const modules = () => read("/api/modules");
// What a Modbus module answers now, as commands would set its slot up; one command in a line.
/** @param {number} slot @param {string} lines @returns {Promise<Api.ModuleTrial>} */
export const tryModule = async (slot, lines) =>
  (await send(`/api/modbus/try?slot=${slot}`, lines, "text/plain")).json();
/** @returns {Promise<LabelsByCode>} */
export const readingCodes = () => read("/api/reading-codes");
/** @param {Params} query */
export const historyTable = (query) => `/api/history.csv?${queryOf(query)}`;
/** @returns {Promise<Api.Panel>} */
export const panel = () => read("/api/panel");
/** @param {File} file */
export const uploadPicture = (file) =>
  send("/post.cgi?pictureupload", file, file.type || "application/octet-stream");
/** @param {File} file */
export const uploadSite = (file) =>
  send("/post.cgi?wwwfileupload", file, "application/octet-stream");
// A passphrase goes in a header: unlike a query it is in no log.
/** @param {string} passphrase @returns {Record<string, string>} */
const passphraseHeader = (passphrase) =>
  passphrase ? { "Backup-Passphrase": encodeURIComponent(passphrase) } : {};
/** @param {string} passphrase */
export const backup = async (passphrase) =>
  (await answer("/dev_settings.bin", { headers: passphraseHeader(passphrase) })).blob();
/** @param {File} file @param {string} passphrase */
export const restoreBackup = (file, passphrase) =>
  answer("/post.cgi?settingsupload", {
    method: "POST",
    body: file,
    headers: { "Content-Type": "application/octet-stream", ...passphraseHeader(passphrase) },
  });
// What that would change.
/** @param {File} file @param {string} passphrase @returns {Promise<RestoreTrial>} */
export const tryRestore = (file, passphrase) =>
  read("/api/restore/try", {
    method: "POST",
    body: file,
    headers: { "Content-Type": "application/octet-stream", ...passphraseHeader(passphrase) },
  });
/** @param {Record<string, string>} fields */
export const changePassword = (fields) =>
  send("/post.cgi?passwd", new URLSearchParams(fields).toString());
// Seconds that the bootloader still waits for firmware; null when the controller runs.
export async function bootloaderWait() {
  const reply = await fetch("/health");
  return reply.status === 503 ? Number(reply.headers.get("retry-after") ?? 0) : null;
}
export const builtInPages = "/?safe";
export const oledPicture = "/api/oled.png";
// What the simulated board is made to be; items are those of the test bench.
/** @returns {Promise<BenchReport>} */
export const bench = () => read("/api/sim");
export const benchPath = "/sim.cgi";
/** @param {BenchItem[]} items */
export const benchTarget = (items) => `${benchPath}?${items.map(benchItem).join("&")}`;
/** @param {BenchItem} item */
const benchItem = ([name, value]) => `${name}=${encodeURIComponent(value).replaceAll("%3A", ":")}`;
/** @returns {Promise<BenchSnapshot[]>} */
export const snapshots = () => read("/api/sim/snapshots");
// To take a snapshot, to restore or to delete it.
/** @param {string} what @param {string} name */
export const snapshotTarget = (what, name) =>
  `/api/sim/snapshots?${what}=${encodeURIComponent(name)}`;
/** @returns {Promise<OpenApi>} */
export const openApi = () => read("/api/openapi.json");
/** @param {RequestInit} [options] @returns {Promise<Api.Health>} */
export const health = (options) => read("/health", options);
/** @param {string} name @returns {Promise<Words>} */
export const words = (name) => read(`${WORDS}${name}.json`);
/** @param {string} name */
export const styleSheet = (name) => `${FILES}styles/${name}.css`;
export const stream = () => new EventSource("/api/stream");
// Several parts of a page learn at the same time that a session is over; a browser that is sent on
// twice breaks off the first way.
const LEAVING_MS = 5000;
let isLeaving = false;
// Whether something is typed here that leaving would lose.
let holdsInput = () => false;
const isOver = signal(false);

/** @param {typeof holdsInput} holds */
export function keepInput(holds) {
  holdsInput = holds;
}

// Whether the session ended while something was typed: the page waits for another one.
export const isSessionOver = () => isOver.value;

export function goToSignIn() {
  isOver.value = holdsInput();
  if (isLeaving || isOver.value) return;
  isLeaving = true;
  setTimeout(() => (isLeaving = false), LEAVING_MS);
  // The address goes along behind `#`: the way leads on to it.
  location.assign(`/signin${location.hash}`);
}
export const signOut = () => send("/post.cgi?signout");

// What `unit watch` reports about its units, and its actions.
/** @returns {Promise<WatchedUnits>} */
export const units = () => read("/api/units");
/** @param {string} name */
export const lookAtUnit = (name) => send(`/api/units/look?unit=${encodeURIComponent(name)}`);
// What differs from its file, side by side; what would be sent; and to send just that.
/** @param {string} name @returns {Promise<UnitDifference[]>} */
export const compareUnit = async (name) =>
  (await send(`/api/units/diff?unit=${encodeURIComponent(name)}`)).json();
/** @param {string} name @returns {Promise<UnitPlan>} */
export const planUnit = async (name) =>
  (await send(`/api/units/plan?unit=${encodeURIComponent(name)}`)).json();
/** @param {string} name @param {string} plan */
export const applyPlan = (name, plan) =>
  send(`/api/units/apply?unit=${encodeURIComponent(name)}&plan=${encodeURIComponent(plan)}`);
/** @param {string} name */
export const pullUnit = (name) => send(`/api/units/pull?unit=${encodeURIComponent(name)}`);

/** @param {number} index @param {boolean} on */
export const outputTarget = (index, on) => `/outs.cgi?out${index}=${on ? 1 : 0}`;
/** @param {number} index @param {number} seconds */
export const pulseTarget = (index, seconds) => `/outs.cgi?pulse${index}=${seconds}`;
/** @param {number} index @param {boolean} on */
export const pwmTarget = (index, on) => `/outs.cgi?pwm${index}=${on ? 1 : 0}`;
/** @param {number} index @param {boolean} on */
export const variableTarget = (index, on) => `/outs.cgi?vout${index}=${on ? 1 : 0}`;
/** @param {number} index @param {boolean} on */
export const switchOutput = (index, on) => order(outputTarget(index, on));
/** @param {number} index @param {number} seconds */
export const pulseOutput = (index, seconds) => order(pulseTarget(index, seconds));
/** @param {number} index @param {boolean} on */
export const switchPwm = (index, on) => order(pwmTarget(index, on));
/** @param {number} index @param {number} percent */
export const setDuty = (index, percent) => order(`/stm.cgi?pwmd=${index}${percent}`);
/** @param {number} index @param {boolean} on */
export const switchVariable = (index, on) => order(variableTarget(index, on));

// Any request just as it stands, and whatever came back: for a look at the interface itself.
/** @param {Asked} asked */
export async function ask({ method, target, body, type }) {
  /** @type {Record<string, string>} */
  const headers = body === undefined ? {} : { "Content-Type": type ?? FORM };
  const reply = await fetch(target, { method, body, headers, credentials: "same-origin" });
  const kind = reply.headers.get("content-type") ?? "";
  const content = kind.includes("event-stream") ? await beginning(reply) : await reply.blob();
  return { status: reply.status, type: kind, content };
}

// A stream has no end to wait for.
/** @param {Response} reply */
async function beginning(reply) {
  const reader = reply.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return new Blob(value ? [value] : []);
}

// The same request for a terminal. Single quotes hold everything but themselves.
/** @param {Omit<Asked, "method"> & { method?: string }} asked */
export function curl({ target, body, method = "POST", type = FORM }) {
  /** @param {string} text */
  const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const data = body == null ? "" : ` ${curlBody(body, type, quote)}`;
  const verb = method === "GET" ? "" : ` -X ${method}`;
  return `curl${verb}${data} ${quote(location.origin + target)}`;
}

/** @param {string | File} body @param {string} type @param {(text: string) => string} quoted */
function curlBody(body, type, quoted) {
  const header = type === FORM ? "" : `-H ${quoted(`Content-Type: ${type}`)} `;
  if (body instanceof File) return `${header}--data-binary ${quoted(`@${body.name}`)}`;
  return `${header}--data-raw ${quoted(body)}`;
}
