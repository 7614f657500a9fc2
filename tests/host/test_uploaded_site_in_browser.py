"""An uploaded site in a real browser: what it can do for its visitor, and what it cannot."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, Page

from leverframe.interface.uploads.site import pack_site
from tests.host.browsers import chromium_with
from tests.host.controller_process import ControllerProcess, controller_process

pytestmark = pytest.mark.needs_program("chromium")

#: A name that is no loopback name to the browser.
BOX = "box.example"
ADMIN, USER = ("admin", "long admin secret"), ("user", "long guest secret")
FIELDS = "YWRtaW4=*bG9uZyBhZG1pbiBzZWNyZXQ=*dXNlcg==*bG9uZyBndWVzdCBzZWNyZXQ="
SITE = {
    "index.html": b"""<!doctype html><meta charset=utf-8><title>Cellar</title>
<link rel=stylesheet href=look.css><h1>Cellar</h1><p id=output><--#out0--></p>
<a href=sub/second.html>second</a><script type=module src=code.js></script>""",
    "look.css": b"h1 { color: rgb(1, 2, 3) }",
    "code.js": b"import { origin } from './origin.js'; document.body.dataset.origin = origin;",
    "origin.js": b"export const origin = 'a module';",
    "worker.js": b"self.addEventListener('fetch', () => {});",
    "sub/second.html": b"<!doctype html><title>Second</title><h1>Second</h1>",
}
ASKED = """async ([target, options]) => {
    try { return (await fetch(target, options)).status; } catch { return 0; }
}"""


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControllerProcess]:
    folder = tmp_path_factory.mktemp("site")
    with controller_process(folder, "--hosts", BOX) as running:
        assert running.ask("/post.cgi?wwwfileupload", "POST", pack_site(SITE))[0] == 200
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium_with(BOX) as chromium:
        yield chromium


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with closing(browser.new_context()) as context:
        yield context.new_page()


def open_site(page: Page, process: ControllerProcess, account: tuple[str, str] | None) -> str:
    """Open the site, signing in if an account is needed; return its origin."""
    # A controller without accounts is there for its own machine alone.
    origin = f"http://{BOX if account else '127.0.0.1'}:{process.port}"
    page.goto(f"{origin}/")
    if account:
        page.fill("[name=username]", account[0])
        page.fill("[name=password]", account[1])
        page.click("form[action$=signin] button.primary")
    page.wait_for_selector("h1:has-text('Cellar')")
    return origin


def request(page: Page, target: str, **options: str) -> int:
    status: int = page.evaluate(ASKED, [target, options])
    return status


def check_it_works(page: Page, process: ControllerProcess) -> None:
    """All that a site is for: pages, styles, scripts, values, and switching."""
    page.wait_for_selector("[data-origin='a module']")
    style = "getComputedStyle(document.querySelector('h1')).color"
    assert page.evaluate(style) == "rgb(1, 2, 3)"
    assert page.evaluate("async () => (await (await fetch('json/status.json')).json()).sw")
    for target in ("xml/ix.xml", "api/state", "st0.xml", "outs.cgi"):
        assert request(page, target) == 200, target
    for method, state in (("GET", "1"), ("POST", "0")):
        assert request(page, f"outs.cgi?out0={state}", method=method) == 200
        read = "async () => (await (await fetch('outs.cgi')).text()).match(/<out>(.)/)[1]"
        assert page.evaluate(read) == state
    page.click("a")
    page.wait_for_selector("h1:has-text('Second')")
    page.go_back()
    page.wait_for_selector("h1:has-text('Cellar')")


def check_it_is_shut_in(page: Page, process: ControllerProcess, origin: str) -> None:
    """Nothing that only the built-in pages may do, not even for the administrator."""
    for target in ("stm.cgi?oname=0hacked", "post.cgi?passwd", "post.cgi?signout"):
        assert request(page, target, method="POST") == 403, target
    assert request(page, "api/settings") == 404
    for target in ("/stm.cgi?oname=0hacked", "/outs.cgi?out3=1", "/sim.cgi?DS1=1"):
        for method in ("GET", "POST"):
            options = {"mode": "no-cors", "credentials": "include", "method": method}
            request(page, f"{origin}{target}", **options)
    for target in ("/api/settings", "/json/status.json", "/?safe", "/api/stream"):
        assert request(page, f"{origin}{target}", credentials="include") == 0, target
    for forbidden in (
        "document.cookie",
        "localStorage.length",
        "navigator.serviceWorker.register('worker.js')",
        "open('/?safe').document.body.innerHTML",
        "(() => { const f = document.createElement('iframe'); f.src = '/?safe';"
        " document.body.append(f); return f.contentDocument.body.innerHTML; })()",
    ):
        script = f"async () => {{ try {{ await {forbidden}; return ''; }} catch (e) {{"
        script += " return e.name; } }"
        assert page.evaluate(script) in ("SecurityError", "TypeError"), forbidden
    settings = process.ask("/api/settings", account=ADMIN)[1]
    assert b"hacked" not in settings
    assert process.ask("/outs.cgi", account=ADMIN)[1].partition(b"<out>")[2][3:4] == b"0"


@pytest.mark.thorough
def test_site_shows_and_switches_but_is_no_administrator(
    process: ControllerProcess, page: Page
) -> None:
    origin = open_site(page, process, None)
    check_it_works(page, process)
    check_it_is_shut_in(page, process, origin)
    assert process.ask(f"/stm.cgi?auth=11{FIELDS}")[0] == 200
    for account in (ADMIN, USER):
        page.context.clear_cookies()
        origin = open_site(page, process, account)
        check_it_works(page, process)
        check_it_is_shut_in(page, process, origin)
    # The built-in pages are there as before for who asks for them.
    page.goto(f"{origin}/?safe")
    page.wait_for_selector(".connection[data-kind=live]")
    assert request(page, "/outs.cgi?out0=1", method="POST") == 200
    # A key is of no use any more when its session is over.
    page.goto(f"{origin}/")
    address = page.url
    page.goto(f"{origin}/signin")
    page.click("form[action$=signout] button")
    page.wait_for_url(f"{origin}/signin")
    page.goto(address)
    page.wait_for_url(f"{origin}/signin")
    assert process.ask(f"{address.removeprefix(origin)}outs.cgi?out0=1")[0] == 401
