"""The first view: little to fetch, in one go. How soon it is there: `bench/first_view.py`."""

import re
from importlib import resources
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.clients.served_twin import ServedTwin
from tests.stopwatch import delay_s
from tests.web.conftest import DESKTOP, PHONE, OpenPage

WEB = Path(str(resources.files("leverframe") / "web"))
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
#: All of Status with what comes when the levers are there, and the levers alone; without the
#: typeface, which comes later.
MAX_BYTES = 140_000
MAX_BYTES_OF_LEVERS = 97_000
MAX_BYTES_OF_FACE = 40_000
#: Each request costs a slow phone more than its bytes do.
MAX_REQUESTS = 12


def list_imports(module: Path) -> set[Path]:
    """A module and everything that it imports, directly or through others."""
    needed: set[Path] = set()
    waiting = [module]
    while waiting:
        path = waiting.pop().resolve()
        if path not in needed:
            needed.add(path)
            found = IMPORTED.findall(path.read_text(encoding="utf-8"))
            waiting += [path.parent / name for name in found]
    return needed


def list_requests(page: Page, only: str = "name") -> list[str]:
    """Paths of all that a page has asked for besides itself, without the version of files."""
    names: list[str] = page.evaluate(
        f"performance.getEntriesByType('resource').filter((one) => one.{only})"
        ".map(({ name }) => new URL(name).pathname)"
    )
    return [VERSION.sub("/web/", name) for name in names]


def test_first_view_preloads_all_its_modules() -> None:
    needed = list_imports(WEB / "app.js") | list_imports(WEB / "pages/status.js")
    preloaded = PRELOADED.findall((WEB / "index.html").read_text(encoding="utf-8"))
    assert {*preloaded, "app.js"} == {str(path.relative_to(WEB.resolve())) for path in needed}


@pytest.mark.needs_program("chromium")
def test_all_that_status_fetches_is_small_and_it_takes_presses(open_page: OpenPage) -> None:
    # English needs less: some of its sentences come from the controller as they are.
    page = open_page("status", fresh=True, language="pl")
    status = page.url
    # What the first visit still fetches does not count.
    page.goto("about:blank")
    console = page.context.new_cdp_session(page)
    faces: set[str] = set()
    transferred: dict[str, int] = {}
    console.on(
        "Network.responseReceived",
        lambda reply: reply["type"] == "Font" and faces.add(reply["requestId"]),
    )
    console.on(
        "Network.loadingFinished",
        lambda done: transferred.update({done["requestId"]: done["encodedDataLength"]}),
    )
    console.send("Network.enable")
    console.send("Network.setCacheDisabled", {"cacheDisabled": True})
    page.goto(status, wait_until="commit")
    lever = page.get_by_role("switch").first
    lever.click()
    expect(lever).to_have_attribute("aria-checked", "true")
    expect(page.locator(".journal li").first).to_contain_text("Wyjście 0")
    expect(page.locator(".tile .course[d^=M]").first).to_be_attached()
    assert len(faces) == 1
    assert sum(transferred.pop(face, 0) for face in faces) < MAX_BYTES_OF_FACE
    assert 60_000 < sum(transferred.values()) < MAX_BYTES, sum(transferred.values())
    assert {"/api/commands", "/web/words/server.json"} & set(list_requests(page)) == set()


class Gate:
    """Holds requests until it is opened; what comes later passes."""

    def __init__(self) -> None:
        self.is_open = False
        self._waiting: list[Route] = []

    def pass_or_wait(self, route: Route) -> None:
        if self.is_open:
            route.continue_()
        else:
            self._waiting.append(route)

    def open(self) -> None:
        self.is_open = True
        waiting, self._waiting = self._waiting, []
        for route in waiting:
            route.continue_()


@pytest.mark.thorough
@pytest.mark.needs_program("chromium")
def test_levers_wait_for_nothing_but_themselves(open_page: OpenPage) -> None:
    page = open_page("status")
    gate = Gate()
    for beside in ("**/status/beside.js", "**/words/codes.json"):
        page.route(beside, gate.pass_or_wait)
    page.reload()
    expect(page.get_by_role("switch").first).to_be_visible()
    expect(page.get_by_role("heading", name="Readings")).to_have_count(0)
    assert len(list_requests(page)) <= MAX_REQUESTS
    fetched = "performance.getEntriesByType('resource')"
    fetched += ".filter((one) => !one.name.endsWith('.woff2')).map((one) => one.encodedBodySize)"
    assert 20_000 < sum(page.evaluate(fetched)) < MAX_BYTES_OF_LEVERS
    gate.open()
    expect(page.get_by_role("heading", name="Readings")).to_be_visible()


@pytest.mark.thorough
@pytest.mark.needs_program("chromium")
def test_preloaded_documents_are_requested_once(open_page: OpenPage) -> None:
    asked = list_requests(open_page("status"))
    ahead = AHEAD.findall((WEB / "index.html").read_text(encoding="utf-8"))
    assert {path: asked.count(path) for path in ahead} == dict.fromkeys(ahead, 1)


@pytest.mark.thorough
@pytest.mark.needs_program("chromium")
def test_change_before_the_stream_begins_is_noticed(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("status")
    held: list[Route] = []
    page.route("**/api/stream", lambda route: held.append(route))
    # The levers are there before the stream is asked for.
    with page.expect_request("**/api/stream"):
        page.reload()
    expect(page.get_by_role("switch", name="Output 0", exact=True)).to_be_visible()
    twin.get("/stm.cgi?oname=0Lamp")
    held[0].continue_()
    expect(page.get_by_role("switch", name="Lamp")).to_be_visible()


@pytest.mark.thorough
@pytest.mark.needs_program("chromium")
@pytest.mark.parametrize(
    ("latency_ms", "within_ms"),
    [(0, 30_000), pytest.param(300, 1000, id="slow line")],
)
def test_reload_asks_for_no_file_again_and_is_soon_there(
    open_page: OpenPage, latency_ms: int, within_ms: int
) -> None:
    page = open_page("status", fresh=True)
    expect(page.get_by_role("heading", name="Readings")).to_be_visible()
    kept = {path for path in list_requests(page) if path.startswith("/web/")}
    page.add_init_script(WATCH)
    console = page.context.new_cdp_session(page)
    console.send("Network.enable")
    line = {"latency": latency_ms, "downloadThroughput": -1, "uploadThroughput": -1}
    console.send("Network.emulateNetworkConditions", {"offline": False, **line})
    before_s = delay_s()
    page.reload(wait_until="commit")
    expect(page.get_by_role("heading", name="Readings")).to_be_visible()
    assert page.evaluate("window.leverAt") - 1000 * (delay_s() - before_s) < within_ms
    over_the_line = set(list_requests(page, "transferSize > 0"))
    assert kept & over_the_line == set()
    assert "/api/start" in over_the_line


#: Sums in the page how far untouched elements move.
SHIFTS = """
window.shifted = 0;
const add = (entries) => {
  for (const one of entries) if (!one.hadRecentInput) window.shifted += one.value;
};
const observer = new PerformanceObserver((list) => add(list.getEntries()));
observer.observe({ type: "layout-shift", buffered: true });
window.allShifts = async () => {
  for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
  add(observer.takeRecords());
  return window.shifted;
};
"""
MAX_SHIFT = 0.05
#: What of a page comes last, and what then stands there.
LATE = {
    "status": ("**/api/{stream,history?*,journal?*}", ".tile .course[d^=M]"),
    "things": ("**/api/stream", ".things .rows li"),
    "timeline": ("**/api/{stream,timeline?*}", "svg.bars[role]"),
    "charts": ("**/api/{stream,history?*}", "canvas"),
}


@pytest.mark.needs_program("chromium")
@pytest.mark.thorough
@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_nothing_moves_when_what_comes_late_is_there(
    open_page: OpenPage, viewport: tuple[int, int]
) -> None:
    # A theme changes colours, and no places.
    page = open_page("more", fresh=True, viewport=viewport)
    page.add_init_script(SHIFTS)
    gate = Gate()
    for name, (late, seen) in LATE.items():
        gate.is_open = False
        page.route(late, gate.pass_or_wait)
        page.goto(f"{page.url.partition('#')[0]}?{name}#/{name}", wait_until="commit")
        expect(page.locator("main h1")).to_be_attached()
        page.evaluate("allShifts()")
        gate.open()
        expect(page.locator(".connection[data-kind=live]")).to_be_visible()
        expect(page.locator(seen).first).to_be_attached()
        page.unroute_all()
        assert page.evaluate("allShifts()") < MAX_SHIFT, name
