// The web worker: Python with a twin, which answers the requests of its pages.
//
// `{ name, hw, sw, start, timezone }` starts it. It reports `{ kind: "progress", done, total }`
// while it loads, then `{ kind: "ready", seconds }`, or `{ kind: "failed", why, text }`. After that
// it listens on the channel with its name; `sw.js` sends the requests.

const FILES = new URL("files/", import.meta.url);

let loaded = 0;
let total = 0;

// Every file but the modules passes through `fetch`, also those that Pyodide requests.
const fetchPlain = self.fetch.bind(self);
self.fetch = async (...request) => {
  const reply = await fetchPlain(...request);
  if (!reply.ok || !reply.body) return reply;
  const count = new TransformStream({
    transform(piece, out) {
      advance(piece.byteLength);
      out.enqueue(piece);
    },
  });
  return new Response(reply.body.pipeThrough(count), { headers: reply.headers });
};

function advance(bytes) {
  loaded += bytes;
  if (total) self.postMessage({ kind: "progress", done: Math.min(loaded, total), total });
}

self.addEventListener("message", async ({ data }) => {
  try {
    const began = performance.now();
    const twin = await startTwin(data);
    serve(twin.py, twin.twin, data.name);
    self.postMessage({ kind: "ready", seconds: (performance.now() - began) / 1000 });
  } catch (error) {
    self.postMessage({ kind: "failed", why: error.why ?? "program", text: lastLine(error) });
  }
});

async function startTwin({ hw, sw, start, timezone }) {
  const list = await read("files.json");
  const { sizes, wheels } = await list.json();
  const counted = Object.keys(sizes).filter((name) => !name.endsWith(".mjs"));
  total = counted.reduce((sum, name) => sum + sizes[name], 0);
  const archives = wheels.map(async (name) => (await read(name)).arrayBuffer());
  const py = await loadPython();
  for (const archive of await Promise.all(archives)) py.unpackArchive(archive, "wheel");
  const { TabTwin } = py.pyimport("leverframe.testing.in_tab");
  return { py, twin: await TabTwin.start.callKwargs({ hw, sw, start, timezone }) };
}

async function read(name) {
  const reply = await fetch(new URL(name, FILES)).catch(() => {
    throw because("network");
  });
  if (!reply.ok) throw because("missing");
  return reply;
}

async function loadPython() {
  try {
    const { loadPyodide } = await import(new URL("pyodide.mjs", FILES));
    return await loadPyodide({ indexURL: FILES.href });
  } catch (error) {
    throw Object.assign(because("network"), { message: error.message });
  }
}

const because = (why) => Object.assign(new Error(why), { why });

// A Python error ends with its sentence.
const lastLine = (error) =>
  `${error.message ?? error}`.trim().split("\n").at(-1).replace(/^[\w.]+: /, "");

function serve(py, twin, name) {
  const channel = new BroadcastChannel(name);
  const asBytes = py.runPython("lambda view: view.to_bytes()");
  // The requests without a complete reply, all of the same life of the service worker.
  const open = new Set();
  let present;

  function cancel(number) {
    open.delete(number);
    twin.cancel(number);
  }

  function answer({ number, method, target, headers, body }) {
    const post = (kind, more) => channel.postMessage({ kind, to: number, ...more });
    const end = (kind) => {
      open.delete(number);
      post(kind);
    };
    open.add(number);
    twin.answer(number, method, target, py.toPy(headers), asBytes(new Uint8Array(body)), {
      begin: (status, names) => post("begin", { status, headers: names.toJs() }),
      send: (piece) => post("send", { piece: piece.toJs() }),
      finish: () => end("finish"),
      lose: () => end("lose"),
    });
  }

  channel.addEventListener("message", ({ data }) => {
    if (data.kind === "cancel") cancel(data.number);
    if (data.kind !== "ask") return;
    if (data.life !== present) for (const number of open) cancel(number);
    present = data.life;
    answer(data);
  });
}
