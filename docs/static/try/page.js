// The page "Try it": starts a twin in a web worker, shows its pages in a frame, sends requests.

const HERE = new URL(".", import.meta.url);
const START = { start: "2026-07-01T18:00", timezone: "Europe/Warsaw" };
// How long a reply may take before the console says that it is still waiting.
const PATIENCE_MS = 60_000;

const SENTENCES = {
  webassembly:
    "This browser has no WebAssembly, which Python needs here. Use a current version of Firefox," +
    " Chromium or Safari.",
  worker:
    "This window allows no service worker: private windows and plain HTTP addresses do not. Open" +
    " this page in a normal window, by HTTPS.",
  network: "The files of the controller could not be loaded. Check the connection and retry.",
  missing:
    "This copy of the site was built without the files of the controller. Build it with `make" +
    " docs` on a machine that has npm.",
};

const root = document.getElementById("try");
/** The twin that runs now: its worker, and the frame with its pages. */
let twin = null;
// The guided stories: `[{ title, steps: [{ text, requests, page }] }]`. Each starts from the state
// in which the twin started. A step sends its requests and then shows its page.
let stories = [];

function element(name, properties = {}, ...content) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...content);
  return made;
}

const refuse = (why, text = SENTENCES[why]) => Object.assign(new Error(text), { why });

// --- start ---------------------------------------------------------------------------------------

async function prepare() {
  try {
    const { versions } = await readJson("files/files.json");
    stories = await readJson("stories.json");
    drawStart(versions);
  } catch (error) {
    const retry = element("button", {}, "Retry");
    retry.addEventListener("click", prepare);
    root.replaceChildren(element("p", {}, error.why ? error.message : SENTENCES.network), retry);
  }
}

async function readJson(name) {
  const reply = await fetch(new URL(name, HERE));
  if (!reply.ok) throw refuse("missing");
  return reply.json();
}

function drawStart(versions) {
  const hardware = element("select", { name: "hw" });
  for (const [hw] of versions) hardware.append(element("option", { value: hw }, `HW ${hw}`));
  const software = element("input", { name: "sw", size: 6, value: versions[0][1] });
  hardware.addEventListener("change", () => {
    software.value = new Map(versions).get(hardware.value);
  });
  const begin = element("button", { type: "submit" }, "Start a controller");
  const form = element(
    "form",
    { className: "try-start" },
    element("label", {}, "Hardware ", hardware),
    element("label", {}, "Software ", software),
    begin,
  );
  const state = element("p", { className: "try-state" });
  state.setAttribute("role", "status");
  const bar = element("progress", { hidden: true, max: 1, value: 0 });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    begin.disabled = true;
    bar.hidden = false;
    state.textContent = "Loading Python and Leverframe…";
    try {
      await start({ hw: hardware.value, sw: software.value.trim() }, (share) => {
        bar.value = share;
        if (share === 1) state.textContent = "Starting the controller…";
      });
      state.textContent = `The controller runs in this tab. First page after ${twin.seconds} s.`;
      begin.textContent = "Start another controller";
    } catch (error) {
      state.textContent = error.message;
      begin.textContent = "Retry";
    }
    begin.disabled = false;
    bar.hidden = true;
  });
  root.replaceChildren(form, bar, state);
}

async function start(version, onProgress) {
  if (typeof WebAssembly !== "object") throw refuse("webassembly");
  const began = performance.now();
  await registerServiceWorker();
  const name = `twin-${Math.floor(Math.random() * 1e9)}`;
  const worker = await startWorker({ name, ...version, ...START }, onProgress);
  twin?.worker.terminate();
  const frame = element("iframe", { title: "The pages of the controller" });
  twin = { worker, frame, name };
  draw(frame);
  await show("");
  twin.seconds = ((performance.now() - began) / 1000).toFixed(1);
  await send("POST", "/api/sim/snapshots?take=start");
}

async function registerServiceWorker() {
  if (!navigator.serviceWorker) throw refuse("worker");
  let registration;
  try {
    registration = await navigator.serviceWorker.register(new URL("sw.js", HERE), { scope: HERE });
  } catch (error) {
    throw refuse(error.name === "SecurityError" ? "worker" : "network");
  }
  const waiting = registration.installing ?? registration.waiting;
  while (waiting && waiting.state !== "activated") {
    if (waiting.state === "redundant") throw refuse("worker");
    await new Promise((next) => waiting.addEventListener("statechange", next, { once: true }));
  }
}

function startWorker(wanted, onProgress) {
  const worker = new Worker(new URL("worker.js", HERE), { type: "module" });
  return new Promise((resolve, reject) => {
    worker.onerror = () => reject(refuse("network"));
    worker.onmessage = ({ data }) => {
      if (data.kind === "progress") onProgress(data.done / data.total);
      if (data.kind === "ready") resolve(worker);
      if (data.kind === "failed") reject(refuse(data.why, SENTENCES[data.why] ?? data.text));
    };
    worker.postMessage(wanted);
  }).catch((error) => {
    worker.terminate();
    throw error;
  });
}

// --- the pages -----------------------------------------------------------------------------------

const placeOf = () => new URL(`${twin.name}/`, HERE).pathname;

async function show(hash) {
  const { frame } = twin;
  const isThere = () => frame.contentWindow.location.pathname === placeOf();
  if (isThere()) {
    frame.contentWindow.location.hash = hash;
    return;
  }
  frame.src = placeOf() + hash;
  // The first event may be that of a document that was still loading.
  do await new Promise((next) => frame.addEventListener("load", next, { once: true }));
  while (!isThere());
}

// Links and forms of the pages have absolute paths, which here are below the frame's place.
function keepInside({ target: frame }) {
  const { document: page, location } = frame.contentWindow;
  const inside = (path) => (path?.startsWith("/") ? placeOf() + path.slice(1) : path);
  page.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (link?.hasAttribute("download")) {
      event.preventDefault();
      download(link);
    } else if (link) {
      link.setAttribute("href", inside(link.getAttribute("href")));
    }
  }, true);
  page.addEventListener("submit", ({ target: form }) => {
    if (form.hasAttribute("action")) form.action = inside(form.getAttribute("action"));
  }, true);
  if (location.protocol !== "about:" && !location.pathname.startsWith(placeOf())) {
    frame.src = inside(location.pathname + location.search) + location.hash;
  }
}

// Browsers do not pass downloads through the service worker.
async function download(link) {
  const reply = await twin.frame.contentWindow.fetch(link.href);
  const [, name] = /filename="?([^";]+)/.exec(reply.headers.get("Content-Disposition")) ?? [];
  const address = URL.createObjectURL(await reply.blob());
  const last = new URL(link.href).pathname.split("/").at(-1);
  element("a", { href: address, download: link.download || name || last }).click();
  setTimeout(() => URL.revokeObjectURL(address), PATIENCE_MS);
}

// --- requests ------------------------------------------------------------------------------------

// The frame's own `fetch` passes through the service worker.
async function send(method, target, body) {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const reply = await twin.frame.contentWindow.fetch(target, { method, body, signal });
  return { status: reply.status, text: await reply.text() };
}

// A line of the console: `/outs.cgi?out0=1`, or `POST /api/rules when DS1 >= 30 then OUT1 on`.
export function parseLine(line) {
  const [, method = "GET", target, body] = /^(?:(GET|POST) +)?(\/\S*)(?: +(.*))?$/.exec(line) ?? [];
  return target ? { method: body ? "POST" : method, target, body } : null;
}

async function run(line, log) {
  const request = parseLine(line.trim());
  const entry = element("div", {}, element("code", {}, line));
  log.append(entry);
  log.scrollTop = log.scrollHeight;
  let answer;
  if (!request) {
    answer = "A request begins with a path, such as /outs.cgi?out0=1.";
  } else {
    try {
      const { status, text } = await send(request.method, request.target, request.body);
      answer = `${status}\n${text.length > 4000 ? `${text.slice(0, 4000)}…` : text}`;
    } catch (error) {
      answer =
        error.name === "TimeoutError" ? "No reply within 60 s." : "The connection was lost.";
    }
  }
  entry.append(element("pre", {}, answer));
  log.scrollTop = log.scrollHeight;
}

// --- what is below the start -------------------------------------------------------------------

function draw(frame) {
  const log = element("div", { className: "try-log", tabIndex: 0 });
  log.setAttribute("aria-label", "Requests and replies");
  const parts = element(
    "div",
    { className: "try-parts" },
    drawStories(log),
    frame,
    drawConsole(log),
  );
  frame.addEventListener("load", keepInside);
  root.querySelector(".try-parts")?.remove();
  root.append(parts);
}

function drawConsole(log) {
  const line = element("input", { value: "/outs.cgi?out0=1", spellcheck: false });
  line.setAttribute("aria-label", "Request");
  const form = element("form", { className: "try-line" }, line, element("button", {}, "Send"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await run(line.value, log);
  });
  return element("section", { className: "try-console" }, element("h3", {}, "Console"), log, form);
}

function drawStories(log) {
  const text = element("p", { className: "try-text" }, "Choose a story, or use the pages below.");
  text.setAttribute("role", "status");
  const next = element("button", { hidden: true }, "Next");
  const titles = stories.map((story) => {
    const button = element("button", {}, story.title);
    button.addEventListener("click", () => begin(story));
    return button;
  });
  let story;
  let at;

  async function begin(chosen) {
    story = chosen;
    at = 0;
    await run("POST /api/sim/snapshots?restore=start", log);
    await proceed();
  }

  async function proceed() {
    const step = story.steps[at];
    next.disabled = true;
    text.textContent = `${at + 1} of ${story.steps.length}: ${step.text}`;
    for (const line of step.requests) await run(line, log);
    await show(step.page);
    at += 1;
    next.hidden = at === story.steps.length;
    next.disabled = false;
  }

  next.addEventListener("click", proceed);
  return element(
    "section",
    { className: "try-stories" },
    element("h3", {}, "Stories"),
    element("p", {}, ...titles),
    text,
    next,
  );
}

if (root) prepare();
