"""The first view: little to fetch, in one go. How soon it is there: `bench/first_view.py`."""

import re
from importlib import resources
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.clients.served_twin import ServedTwin
from tests.web.conftest import OpenPage

WEB = Path(str(resources.files("leverframe.web")))
IMPORTED = re.compile(r'^(?:import|\} from) .*?"(\.[^"]+)";$', re.MULTILINE)
PRELOADED = re.compile(r'rel="modulepreload" href="/web/([^"]+)"')
VERSION = re.compile(r"^/web/[0-9a-f]{12}/")
AHEAD = re.compile(r'rel="preload" href="([^"]+)"')
#: Says in the page when its first lever is there.
WATCH = """
new MutationObserver((_, observer) => {
  if (!document.querySelector("[role=switch]")) return;
  window.leverAt = performance.now();
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });
"""
#: All of Status with what comes when the levers are there, and the levers alone.
MAX_BYTES = 300_000
MAX_BYTES_OF_LEVERS = 160_000
#: Each request costs a slow phone more than its bytes do.
MAX_REQUESTS = 40


def needed_by(module: Path) -> set[Path]:
    """A module and everything that it imports, at once or through others."""
    needed: set[Path] = set()
    waiting = [module]
    while waiting:
        path = waiting.pop().resolve()
        if path not in needed:
            needed.add(path)
            found = IMPORTED.findall(path.read_text(encoding="utf-8"))
            waiting += [path.parent / name for name in found]
    return needed


def asked_for(page: Page, only: str = "name") -> list[str]:
    """Paths of all that a page has asked for besides itself, without the version of files."""
    names: list[str] = page.evaluate(
        f"performance.getEntriesByType('resource').filter((one) => one.{only})"
        ".map(({ name }) => new URL(name).pathname)"
    )
    return [VERSION.sub("/web/", name) for name in names]


def test_the_browser_is_told_at_once_of_all_modules_of_the_first_view() -> None:
    needed = needed_by(WEB / "app.js") | needed_by(WEB / "pages/status.js")
    preloaded = PRELOADED.findall((WEB / "index.html").read_text(encoding="utf-8"))
    assert {*preloaded, "app.js"} == {str(path.relative_to(WEB.resolve())) for path in needed}


@pytest.mark.needs_program("chromium")
def test_the_first_view_is_small_and_takes_presses(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("status", fresh=True)
    console = page.context.new_cdp_session(page)
    transferred: list[int] = []
    console.on(
        "Network.loadingFinished", lambda done: transferred.append(done["encodedDataLength"])
    )
    console.send("Network.enable")
    console.send("Network.setCacheDisabled", {"cacheDisabled": True})
    page.reload(wait_until="commit")
    lever = page.get_by_role("switch").first
    lever.click()
    expect(lever).to_have_attribute("aria-checked", "true")
    assert 20_000 < sum(transferred) < MAX_BYTES


@pytest.mark.needs_program("chromium")
def test_the_levers_wait_for_nothing_but_themselves(open_page: OpenPage) -> None:
    page = open_page("status")
    held: list[Route] = []
    for beside in ("**/status/beside.js", "**/api/commands", "**/words/codes.json"):
        page.route(beside, lambda route: held.append(route))
    page.reload()
    expect(page.get_by_role("switch").first).to_be_visible()
    expect(page.get_by_role("heading", name="Readings")).to_have_count(0)
    assert len(asked_for(page)) <= MAX_REQUESTS
    fetched = "performance.getEntriesByType('resource').map((one) => one.encodedBodySize)"
    assert 20_000 < sum(page.evaluate(fetched)) < MAX_BYTES_OF_LEVERS
    for route in held:
        route.continue_()
    page.unroute_all()
    expect(page.get_by_role("heading", name="Readings")).to_be_visible()


@pytest.mark.needs_program("chromium")
def test_what_is_asked_for_ahead_is_asked_for_once(open_page: OpenPage) -> None:
    asked = asked_for(open_page("status"))
    ahead = AHEAD.findall((WEB / "index.html").read_text(encoding="utf-8"))
    assert {path: asked.count(path) for path in ahead} == dict.fromkeys(ahead, 1)


@pytest.mark.needs_program("chromium")
def test_what_is_set_before_the_stream_begins_is_noticed(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("status")
    held: list[Route] = []
    page.route("**/api/stream", lambda route: held.append(route))
    page.reload()
    expect(page.get_by_role("switch", name="Output 0", exact=True)).to_be_visible()
    twin.get("/stm.cgi?oname=0Lamp")
    held[0].continue_()
    expect(page.get_by_role("switch", name="Lamp")).to_be_visible()


@pytest.mark.needs_program("chromium")
@pytest.mark.parametrize(
    ("latency_ms", "within_ms"),
    [(0, 30_000), pytest.param(300, 1000, marks=pytest.mark.thorough, id="slow line")],
)
def test_a_reload_asks_for_no_file_again_and_is_soon_there(
    open_page: OpenPage, latency_ms: int, within_ms: int
) -> None:
    page = open_page("status", fresh=True)
    expect(page.get_by_role("heading", name="Readings")).to_be_visible()
    kept = {path for path in asked_for(page) if path.startswith("/web/")}
    page.add_init_script(WATCH)
    console = page.context.new_cdp_session(page)
    console.send("Network.enable")
    line = {"latency": latency_ms, "downloadThroughput": -1, "uploadThroughput": -1}
    console.send("Network.emulateNetworkConditions", {"offline": False, **line})
    page.reload(wait_until="commit")
    expect(page.get_by_role("heading", name="Readings")).to_be_visible()
    assert page.evaluate("window.leverAt") < within_ms
    over_the_line = set(asked_for(page, "transferSize > 0"))
    assert kept & over_the_line == set()
    assert "/api/start" in over_the_line
