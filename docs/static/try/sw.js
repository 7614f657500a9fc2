// The service worker: passes the requests of a controller's pages to the twin in their tab.
//
// The pages of a twin are below `SCOPE/twin-NUMBER/`. They request absolute paths such as
// `/api/state`, as on any controller; the page that sends a request shows whose twin is meant. Only
// the files of the twins themselves come from the network.

const SCOPE = new URL(self.registration.scope).pathname;
const OF_TWIN = /^(twin-\d+)(\/.*)$/;
// A twin answers its pages when it has time: a simulated year takes some seconds.
const PATIENCE_MS = 60_000;
const WITHOUT_BODY = [101, 204, 205, 304];
// Browsers end service workers as they like; their requests end with them.
const LIFE = Math.random();

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (url.origin !== self.location.origin) return;
  const meant = twinOf(url);
  if (meant) {
    event.respondWith(ask(meant.twin, meant.path + url.search, event.request));
  } else if (!url.pathname.startsWith(SCOPE) && event.request.mode !== "navigate") {
    event.respondWith(answerPart(event, url));
  }
});

// The twin and its path, for an address below the scope.
function twinOf(url) {
  if (!url.pathname.startsWith(SCOPE)) return null;
  const [, twin, path] = OF_TWIN.exec(url.pathname.slice(SCOPE.length)) ?? [];
  return twin ? { twin, path } : null;
}

async function answerPart(event, url) {
  const page = await self.clients.get(event.clientId);
  const meant = page && twinOf(new URL(page.url));
  // A page that is being closed has no client any more.
  return meant ? ask(meant.twin, url.pathname + url.search, event.request) : Response.error();
}

async function ask(twin, target, request) {
  const body = await request.arrayBuffer();
  const isPage = request.mode === "navigate";
  const channel = new BroadcastChannel(twin);
  const number = Math.floor(Math.random() * Number.MAX_SAFE_INTEGER);
  return new Promise((resolve) => {
    let pieces;
    const stream = new ReadableStream({
      start: (controller) => {
        pieces = controller;
      },
      cancel: () => {
        channel.postMessage({ kind: "cancel", number });
        channel.close();
      },
    });
    const gone = setTimeout(() => {
      if (isPage) resolve(explainEnd());
    }, PATIENCE_MS);
    const receive = {
      begin: ({ status, headers }) => {
        clearTimeout(gone);
        const content = WITHOUT_BODY.includes(status) ? null : stream;
        resolve(new Response(content, { status, headers: adapt(headers, twin) }));
      },
      send: ({ piece }) => pieces.enqueue(piece),
      finish: () => {
        channel.close();
        pieces.close();
      },
      lose: () => {
        channel.close();
        clearTimeout(gone);
        resolve(Response.error());
        pieces.error(new TypeError("The connection was lost."));
      },
    };
    channel.onmessage = ({ data }) => {
      if (data.to === number) receive[data.kind](data);
    };
    const headers = [...request.headers].flat();
    const { method } = request;
    channel.postMessage({ kind: "ask", life: LIFE, number, method, target, headers, body });
  });
}

// A controller lets no page show it in a frame, and redirects to absolute paths. Here the frame is
// ours, and the paths are below the scope.
function adapt(flat, twin) {
  const headers = new Headers();
  for (let at = 0; at < flat.length; at += 2) headers.append(flat[at], flat[at + 1]);
  headers.delete("X-Frame-Options");
  const policy = headers.get("Content-Security-Policy");
  if (policy) {
    headers.set(
      "Content-Security-Policy",
      policy.replace("frame-ancestors 'none'", "frame-ancestors 'self'"),
    );
  }
  const place = headers.get("Location");
  if (place?.startsWith("/")) headers.set("Location", `${SCOPE}${twin}${place}`);
  return headers;
}

function explainEnd() {
  return new Response("The tab of this controller is closed. Open “Try it” again.\n", {
    status: 503,
    headers: { "Content-Type": "text/plain; charset=utf-8" },
  });
}
