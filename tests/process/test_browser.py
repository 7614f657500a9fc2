"""A real browser: a page of another site tries to switch an output, and our own page does."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.conftest import CHROMIUM
from tests.process.controller_process import ControllerProcess, controller_process

pytestmark = pytest.mark.needs_program("chromium")

#: A name of the attacker, which the browser believes to be at this machine.
FOREIGN = "evil.example"


class ForeignSite(BaseHTTPRequestHandler):
    """A page with nothing on it; the tests put the attacks there."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Kittens</title><body></body>")

    def log_message(self, format: str, *arguments: object) -> None:
        """Quietly."""


@contextmanager
def foreign_site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), ForeignSite) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://{FOREIGN}:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControllerProcess]:
    with controller_process(tmp_path_factory.mktemp("browser")) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", f"--host-resolver-rules=MAP {FOREIGN} 127.0.0.1"],
        )
        yield chromium
        chromium.close()


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


def outputs(process: ControllerProcess) -> bytes:
    return process.ask("/outs.cgi")[1].partition(b"<out>")[2][:6]


@pytest.mark.parametrize("attack", [*HIDDEN_ATTACKS, *ATTACKS])
def test_a_foreign_page_switches_nothing(
    attack: str, process: ControllerProcess, browser: object
) -> None:
    target = f"http://127.0.0.1:{process.port}/outs.cgi?out0=1"
    with foreign_site() as site:
        page = browser.new_page()  # type: ignore[attr-defined]
        page.goto(site)
        if attack in HIDDEN_ATTACKS:
            # They wait for the answer by themselves; the browser does not show it to the page.
            page.evaluate(HIDDEN_ATTACKS[attack], target)
        else:
            with page.expect_response(lambda answer: "/outs.cgi" in answer.url) as seen:
                page.evaluate(ATTACKS[attack], target)
            assert seen.value.status == 403
        page.close()
    assert outputs(process) == b"000000"


def test_a_name_that_was_bound_to_our_address_reaches_nothing(
    process: ControllerProcess, browser: object
) -> None:
    page = browser.new_page()  # type: ignore[attr-defined]
    bound = f"http://{FOREIGN}:{process.port}"
    for target in ("/", "/outs.cgi?out0=1", "/api/settings"):
        assert page.goto(bound + target).status == 403
    answer = page.evaluate("async () => (await fetch('/outs.cgi?out0=1')).status")
    assert answer == 403
    page.close()
    assert outputs(process) == b"000000"


def test_our_own_page_switches(process: ControllerProcess, browser: object) -> None:
    page = browser.new_page()  # type: ignore[attr-defined]
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    assert page.goto(f"http://127.0.0.1:{process.port}/").status == 200
    for method in ("GET", "POST"):
        script = f"async () => (await fetch('/outs.cgi?out0=1', {{method: '{method}'}})).status"
        assert page.evaluate(script) == 200
        assert outputs(process) == b"100000"
        assert page.evaluate("async () => (await fetch('/outs.cgi?out0=0')).status") == 200
    assert not [text for text in problems if "Content Security Policy" in text]
    page.close()


def test_a_person_signs_in_with_the_page_and_out_again(
    process: ControllerProcess, browser: object
) -> None:
    fields = "YWRtaW4=*bG9uZyBhZG1pbiBzZWNyZXQ=*dXNlcg==*"
    assert process.ask(f"/stm.cgi?auth=11{fields}")[0] == 200
    context = browser.new_context()  # type: ignore[attr-defined]
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{process.port}/")
    assert page.url.endswith("/signin")
    form = page.locator("form[action$=signin]")
    form.locator("[name=username]").fill("admin")
    form.locator("[name=password]").fill("long admin secret")
    form.locator("button").click()
    page.wait_for_url(f"http://127.0.0.1:{process.port}/")
    settings = "async () => (await fetch('/api/settings')).status"
    assert page.evaluate(settings) == 200
    (cookie,) = context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    page.goto(f"http://127.0.0.1:{process.port}/signin")
    page.locator("form[action$=signout] button").click()
    page.wait_for_url(f"http://127.0.0.1:{process.port}/signin")
    assert page.evaluate(settings) == 401
    context.close()
