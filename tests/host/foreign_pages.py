"""Pages of other sites that try to switch an output, as a browser shows them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Page

#: A name of the attacker, which the browser believes to be at this machine.
FOREIGN = "evil.example"


class ForeignSite(BaseHTTPRequestHandler):
    """A page with nothing on it; the tests put the attacks there."""

    def __init__(self, referrer_policy: str, *arguments: Any) -> None:
        self._referrer_policy = referrer_policy
        super().__init__(*arguments)

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Referrer-Policy", self._referrer_policy)
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Kittens</title><body></body>")

    def log_message(self, format: str, *arguments: object) -> None:
        """Quietly."""


@contextmanager
def foreign_site(
    name: str = FOREIGN, port: int = 0, referrer_policy: str = "unsafe-url"
) -> Iterator[str]:
    handler = partial(ForeignSite, referrer_policy)
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://{name}:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


HIDDEN_ATTACKS = {
    "image": """async target => {
        const image = new Image();
        await new Promise(done => { image.onload = image.onerror = done; image.src = target; });
    }""",
    "image without referrer": """async target => {
        const image = new Image();
        image.referrerPolicy = "no-referrer";
        await new Promise(done => { image.onload = image.onerror = done; image.src = target; });
    }""",
    "script": """async target => {
        const script = document.createElement("script");
        script.referrerPolicy = "no-referrer";
        await new Promise(done => {
            script.onload = script.onerror = done; script.src = target;
            document.body.append(script);
        });
    }""",
    "stream of events": """async target => {
        const source = new EventSource(target);
        await new Promise(done => { source.onopen = source.onerror = done; });
        source.close();
    }""",
    "web socket": """async target => {
        const socket = new WebSocket(target.replace("http", "ws"));
        await new Promise(done => { socket.onopen = socket.onclose = done; });
    }""",
    "fetch": "async target => { try { await fetch(target); } catch {} }",
    "fetch without cors": """async target => {
        try { await fetch(target, {mode: "no-cors", credentials: "include"}); } catch {}
    }""",
    "post": """async target => {
        try { await fetch(target, {mode: "no-cors", method: "POST", body: ""}); } catch {}
    }""",
}
ATTACKS = {
    "beacon": "target => navigator.sendBeacon(target)",
    "form": """target => {
        const form = document.createElement("form");
        const field = document.createElement("input");
        form.action = target.split("?")[0]; form.method = "get";
        field.name = "out0"; field.value = "1";
        form.append(field); document.body.append(form); form.submit();
    }""",
    "posted form": """target => {
        const form = document.createElement("form");
        form.action = target; form.method = "post";
        document.body.append(form); form.submit();
    }""",
    "link": "target => { location.href = target; }",
    "frame": """target => {
        const frame = document.createElement("iframe");
        frame.src = target; document.body.append(frame);
    }""",
}
#: One that the page itself sends, and one that leads away from it; all of them in thorough runs.
COMMON = ("image without referrer", "posted form")
EACH_ATTACK = [
    pytest.param(attack, marks=[] if attack in COMMON else pytest.mark.thorough)
    for attack in (*HIDDEN_ATTACKS, *ATTACKS)
]
#: Attacks after which the tab shows the controller's answer.
LEAD_AWAY = {"form", "posted form", "link"}


def ask_again(page: Page) -> None:
    """Keep nothing of earlier answers: every attack in this tab must reach the controller."""
    console = page.context.new_cdp_session(page)
    console.send("Network.setCacheDisabled", {"cacheDisabled": True})


def attack_from(page: Page, attack: str, target: str) -> int | None:
    """Let the shown page request the target; return the status as far as the browser shows it."""
    if attack in HIDDEN_ATTACKS:
        # They wait for the answer by themselves; the browser does not show it to the page.
        page.evaluate(HIDDEN_ATTACKS[attack], target)
        return None
    away = page.expect_navigation(wait_until="commit") if attack in LEAD_AWAY else nullcontext()
    with page.expect_response(lambda answer: "/outs.cgi" in answer.url) as seen, away:
        # Later, since the page that is evaluated may be gone by then.
        page.evaluate(f"target => {{ setTimeout({ATTACKS[attack]}, 0, target); }}", target)
    return seen.value.status
