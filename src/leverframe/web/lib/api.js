// The only file that knows the controller's addresses.

export class Refused extends Error {
  constructor(problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

// Whether nothing answered at all, in the words of the browsers; each has its own for modules.
export const isLoss = (error) =>
  error instanceof TypeError &&
  /fetch|network|load failed|imported module|module script/i.test(error.message);

// Whether the same may well succeed a moment later.
export const mayPass = (error) => isLoss(error) || error instanceof Refused;

async function answer(target, options) {
  const reply = await fetch(target, { credentials: "same-origin", ...options });
  if (reply.ok) return reply;
  let problem = { status: reply.status, detail: `The controller answered ${reply.status}.` };
  if ((reply.headers.get("content-type") || "").includes("json")) problem = await reply.json();
  throw new Refused(problem);
}

const read = async (path, options) => (await answer(path, options)).json();
const readXml = async (path) =>
  new DOMParser().parseFromString(await (await answer(path)).text(), "text/xml");
const FORM = "application/x-www-form-urlencoded";
// A change is sent with POST: a page never changes anything by GET.
export const send = (target, body, type = FORM) =>
  answer(target, {
    method: "POST",
    ...(body === undefined ? {} : { body, headers: { "Content-Type": type } }),
  });

export const state = (options) => read("/api/state", options);
// What a page needs before it can show anything.
export const start = () => read("/api/start");
export const commands = () => read("/api/commands");
export const labels = () => read("/api/labels");
export const account = () => read("/api/account");
export const names = () => read("/json/status.json");
export const log = () => read("/api/log");
export const audit = () => read("/api/audit");
export const outbox = () => read("/api/outbox");
export const firmware = () => read("/api/firmware");
export const restoreReport = () => read("/api/restore-report");
export const rules = () => read("/api/rules");
export const tryRule = async (item) => (await send("/api/rules/try", item, "text/plain")).json();
export const history = (query) => read(`/api/history?${new URLSearchParams(query)}`);
// Readings as they are at the pins: `inp1` to `inp6` in millivolts.
export const rawReadings = () => readXml("/xml/ix.xml");
// What is known of the 1-Wire bus: `dsid` is the ID that was read last.
export const sensors = () => read("/json/dsi2c.json");
// With the last command that was typed, and its answer.
export const modem = () => read("/api/modem");
// Name and unit of what Modbus modules measure, by module.
export const modules = () => read("/api/modules");
export const readingCodes = () => read("/api/reading-codes");
export const historyTable = (query) => `/api/history.csv?${new URLSearchParams(query)}`;
export const panel = () => read("/api/panel");
export const uploadPicture = (file) =>
  send("/post.cgi?pictureupload", file, file.type || "application/octet-stream");
export const uploadSite = (file) =>
  send("/post.cgi?wwwfileupload", file, "application/octet-stream");
// A passphrase goes in a header: unlike a query it is in no log.
const sealed = (passphrase) =>
  passphrase ? { "Backup-Passphrase": encodeURIComponent(passphrase) } : {};
export const backup = async (passphrase) =>
  (await answer("/dev_settings.bin", { headers: sealed(passphrase) })).blob();
export const restoreBackup = (file, passphrase) =>
  answer("/post.cgi?settingsupload", {
    method: "POST",
    body: file,
    headers: { "Content-Type": "application/octet-stream", ...sealed(passphrase) },
  });
export const changePassword = (fields) =>
  send("/post.cgi?passwd", new URLSearchParams(fields).toString());
// Seconds that the bootloader goes on waiting for firmware; null when the controller runs.
export async function bootloaderWait() {
  const reply = await fetch("/health");
  return reply.status === 503 ? Number(reply.headers.get("retry-after") ?? 0) : null;
}
export const builtInPages = "/?safe";
export const oledPicture = "/api/oled.png";
// What the simulated board is made to be; items are those of the test bench.
export const bench = () => read("/api/sim");
export const benchPath = "/sim.cgi";
export const benchTarget = (items) => `${benchPath}?${items.map(benchItem).join("&")}`;
const benchItem = ([name, value]) => `${name}=${encodeURIComponent(value).replaceAll("%3A", ":")}`;
export const openApi = () => read("/api/openapi.json");
export const health = (options) => read("/health", options);
export const words = (name) => read(`/web/words/${name}.json`);
export const stream = () => new EventSource("/api/stream");
// Several parts of a page learn at the same time that a session is over; a browser that is sent on
// twice breaks off the first way.
const LEAVING_MS = 5000;
let isLeaving = false;
export function goToSignIn() {
  if (isLeaving) return;
  isLeaving = true;
  setTimeout(() => (isLeaving = false), LEAVING_MS);
  location.assign("/signin");
}
export const signOut = () => send("/post.cgi?signout");

export const switchOutput = (index, on) => send(`/outs.cgi?out${index}=${on ? 1 : 0}`);
export const switchPwm = (index, on) => send(`/outs.cgi?pwm${index}=${on ? 1 : 0}`);
export const setDuty = (index, percent) => send(`/stm.cgi?pwmd=${index}${percent}`);
export const switchVariable = (index, on) => send(`/outs.cgi?vout${index}=${on ? 1 : 0}`);

// Any request just as it stands, and whatever came back: for a look at the interface itself.
export async function ask({ method, target, body, type }) {
  const headers = body === undefined ? {} : { "Content-Type": type ?? FORM };
  const reply = await fetch(target, { method, body, headers, credentials: "same-origin" });
  const kind = reply.headers.get("content-type") ?? "";
  const content = kind.includes("event-stream") ? await beginning(reply) : await reply.blob();
  return { status: reply.status, type: kind, content };
}

// A stream has no end to wait for.
async function beginning(reply) {
  const reader = reply.body.getReader();
  const { value } = await reader.read();
  await reader.cancel();
  return new Blob([value]);
}

// The same request for a terminal. Single quotes hold everything but themselves.
export function curl({ target, body, method = "POST", type = FORM }) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const data = body === undefined ? "" : ` ${curlBody(body, type, quoted)}`;
  const verb = method === "GET" ? "" : ` -X ${method}`;
  return `curl${verb}${data} ${quoted(location.origin + target)}`;
}

function curlBody(body, type, quoted) {
  const header = type === FORM ? "" : `-H ${quoted(`Content-Type: ${type}`)} `;
  if (body instanceof File) return `${header}--data-binary ${quoted(`@${body.name}`)}`;
  return `${header}--data-raw ${quoted(body)}`;
}
