// The page: header, the Status page under it, drawn again whenever something changed.

import { html, render } from "./vendor/lit-html.js";
import * as api from "./lib/api.js";
import { Live } from "./lib/live.js";
import { clock } from "./lib/quantities.js";
import { Status } from "./pages/status.js";

const live = new Live();
const status = new Status(draw);
let board = "";
let name = "";

const WORDS = { live: "live", polling: "polling", connecting: "connecting" };

function connection() {
  if (live.connection !== "lost") return WORDS[live.connection];
  return `lost since ${live.lostSince.toLocaleTimeString()}`;
}

function draw() {
  const { state } = live;
  const profile = state.profile ? `HW ${state.profile.hw} SW ${state.profile.sw}` : "";
  render(
    html`
      <header>
        <h1>Leverframe<span> · ${name}</span></h1>
        <p>
          ${profile} · ${board} · ${state.time ? clock(state.time) : ""}
          <span class="connection" data-kind=${live.connection} role="status">${connection()}</span>
        </p>
      </header>
      <main>${status.view(state)}</main>
    `,
    document.body,
  );
}

live.listen(() => {
  draw();
  status.follow(live.state);
});
draw();
live.start();
status.open();
api.health().then((health) => ((board = health.board), draw()), () => {});
api.names().then((names) => ((name = names.sname), draw()), () => {});
