"""The page "Try it" in Chromium: Python in a web worker, behind the real pages of a controller."""

import json
import re
import shutil
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect, sync_playwright

from tests.conftest import CHROMIUM
from tests.docs.blocks import DOCS
from tools.try_page import PLACE, build_files, is_fetched

pytestmark = [pytest.mark.thorough, pytest.mark.needs_program("chromium")]

#: Loading and starting takes 10 s of processor time.
START_MS = 180_000
STEP_MS = 60_000
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")


class SiteHandler(SimpleHTTPRequestHandler):
    """Sends the files of the site, and notes what was requested."""

    extensions_map = {
        **SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def __init__(self, *args: Any, requested: list[str], directory: str) -> None:
        self._requested = requested
        super().__init__(*args, directory=directory)

    def log_message(self, *_: Any) -> None:
        self._requested.append(f"{self.command} {self.path}")

    def send_head(self) -> Any:
        try:
            return super().send_head()
        except ConnectionError:
            return None


class Site:
    def __init__(self, url: str, requested: list[str]) -> None:
        self.url = url
        self.requested = requested


def write_page(folder: Path) -> None:
    """Write what Sphinx makes of the page's own block, and the files beside it."""
    text = (DOCS / "try-it.md").read_text(encoding="utf-8")
    block = re.search(r"^```\{raw\} html\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert block is not None
    shutil.copytree(DOCS / "static", folder / "_static")
    head = '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">'
    (folder / "try-it.html").write_text(head + block[1], encoding="utf-8")


def serve(folder: Path) -> Iterator[Site]:
    requested: list[str] = []
    handler = partial(SiteHandler, requested=requested, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield Site(f"http://127.0.0.1:{server.server_port}/try-it.html", requested)
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    write_page(folder)
    if not is_fetched():
        pytest.skip("Pyodide is not here; `python -m tools.try_page` fetches it with npm")
    build_files(folder / PLACE)
    yield from serve(folder)


@pytest.fixture(scope="module")
def bare_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve the page as it is where npm is missing."""
    folder = tmp_path_factory.mktemp("bare")
    write_page(folder)
    yield from serve(folder)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 1200})
    yield context.new_page()
    context.close()


def state_of(page: Page) -> Any:
    return page.locator(".try-state")


def wait_for_pages(page: Page) -> FrameLocator:
    expect(state_of(page)).to_contain_text("runs in this tab", timeout=START_MS)
    frame = page.frame_locator("#try iframe")
    expect(frame.locator(".connection[data-kind=live]")).to_be_visible(timeout=STEP_MS)
    return frame


def send(page: Page, line: str) -> str:
    """Type a request in the console; return the reply that appears."""
    replies = page.locator(".try-log pre")
    before = replies.count()
    page.get_by_label("Request", exact=True).fill(line)
    page.get_by_role("button", name="Send").click()
    expect(replies).to_have_count(before + 1, timeout=STEP_MS)
    return replies.last.inner_text()


def test_controller_in_the_tab_shows_what_the_console_does(page: Page, site: Site) -> None:
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(site.url)
    # Without network, the page says so, and retries.
    start = page.get_by_role("button", name="Start a controller")
    expect(start).to_be_visible(timeout=STEP_MS)
    page.context.set_offline(True)
    start.click()
    expect(state_of(page)).to_have_text(re.compile("could not be loaded. Check the connection"))
    page.context.set_offline(False)
    del site.requested[:]
    page.get_by_role("button", name="Retry").click()
    frame = wait_for_pages(page)

    # The stream brings the change to the page.
    assert "<out>100000</out>" in send(page, "/outs.cgi?out0=1")
    lever = frame.get_by_role("switch", name="Output 0", exact=True)
    expect(lever).to_have_attribute("aria-checked", "true", timeout=STEP_MS)
    assert "Field A: 9 is outside 0 to 5." in send(page, "/stm.cgi?oname=9Fan")
    assert "begins with a path" in send(page, "outs.cgi")
    assert '"number":1' in send(page, "POST /api/rules when DS1 >= 30 then OUT1 on")

    # Faults have the effect that they have in any browser.
    send(page, "/sim.cgi?fault=status*code:503*path:/json/all.json")
    assert send(page, "/json/all.json").startswith("503")
    send(page, "/sim.cgi?fault=none&fault=reset*bytes:0*path:/json/all.json")
    assert send(page, "/json/all.json") == "The connection was lost."
    send(page, "/sim.cgi?fault=none")
    assert send(page, "/json/all.json").startswith("200")

    # Links of the pages stay in the frame.
    frame.locator("body").evaluate(
        """(body) => {
          const link = document.createElement("a");
          link.href = "/json/status.json";
          body.append(link);
          link.click();
        }"""
    )
    expect(frame.locator("body")).to_contain_text('"sname"', timeout=STEP_MS)

    follow_stories(page)
    with page.expect_download(timeout=STEP_MS) as download:
        frame.locator("body").evaluate("() => { location.hash = '#/charts?labels=OUT1'; }")
        frame.get_by_role("link", name="Download as CSV").click(timeout=STEP_MS)
    header = Path(download.value.path()).read_text(encoding="utf-8").partition("\n")[0]
    assert header.startswith("time (Europe/Warsaw),Lamp")

    # Another version, after one that does not exist.
    page.get_by_label("Hardware").select_option("3.0")
    page.get_by_label("Software").fill("1.75")
    page.get_by_role("button", name="Start another controller").click()
    expect(state_of(page)).to_contain_text("does not exist for HW 3.0", timeout=START_MS)
    page.get_by_label("Software").fill("1.36")
    page.get_by_role("button", name="Retry").click()
    wait_for_pages(page)
    assert '"hw":"3.0"' in send(page, "/api/start").replace(" ", "")

    # Nothing leaves the tab but requests for the files of the site.
    assert [one for one in site.requested if not one.startswith("GET /_static/try/")] == []
    assert problems == []


def follow_stories(page: Page) -> None:
    already_refused = find_refusals(page)
    stories = json.loads((DOCS / "static/try/stories.json").read_text(encoding="utf-8"))
    hash_of_frame = "document.querySelector('#try iframe').contentWindow.location.hash"
    for story in stories:
        page.get_by_role("button", name=story["title"]).click()
        steps = story["steps"]
        for number, step in enumerate(steps, 1):
            expected = f"{number} of {len(steps)}: {step['text']}"
            expect(page.locator(".try-text")).to_have_text(expected, timeout=STEP_MS)
            following = page.get_by_role("button", name="Next", exact=True)
            if number < len(steps):
                expect(following).to_be_enabled(timeout=STEP_MS)
                assert page.evaluate(hash_of_frame) == step["page"]
                following.click()
            else:
                expect(following).to_be_hidden(timeout=STEP_MS)
        assert find_refusals(page) == already_refused


def find_refusals(page: Page) -> list[str]:
    """Return the replies in the console with statuses that report an error."""
    replies = page.locator(".try-log pre").all_inner_texts()
    return [reply for reply in replies if re.match("[45]", reply)]


@pytest.mark.parametrize(
    ("without", "sentence"),
    [
        ("delete globalThis.WebAssembly", "This browser has no WebAssembly"),
        (
            "Object.defineProperty(Navigator.prototype, 'serviceWorker', { value: undefined })",
            "This window allows no service worker",
        ),
        (
            "navigator.serviceWorker.register = async () => {"
            " throw new DOMException('refused', 'SecurityError'); }",
            "This window allows no service worker",
        ),
    ],
    ids=["no WebAssembly", "no service worker", "service worker refused"],
)
def test_browser_that_cannot_run_it_gets_one_sentence(
    page: Page, site: Site, without: str, sentence: str
) -> None:
    page.add_init_script(without)
    page.goto(site.url)
    page.get_by_role("button", name="Start a controller").click()
    expect(state_of(page)).to_contain_text(sentence)
    expect(page.get_by_role("button", name="Retry")).to_be_enabled()


def test_site_without_the_files_says_how_to_build_them(page: Page, bare_site: Site) -> None:
    page.goto(bare_site.url)
    expect(page.locator("#try")).to_contain_text("built without the files of the controller")
