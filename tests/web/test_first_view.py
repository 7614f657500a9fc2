"""The first view: little to fetch, in one go. How soon it is there: `bench/first_view.py`."""

import re
from importlib import resources
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.clients.served_twin import ServedTwin
from tests.web.conftest import OpenPage

WEB = Path(str(resources.files("leverframe.web")))
IMPORTED = re.compile(r'^(?:import|\} from) .*?"(\.[^"]+)";$', re.MULTILINE)
PRELOADED = re.compile(r'rel="modulepreload" href="/web/([^"]+)"')
MOST_BYTES = 300_000


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


def test_the_browser_is_told_at_once_of_all_modules_of_the_first_view() -> None:
    needed = needed_by(WEB / "app.js") | needed_by(WEB / "pages/status.js")
    preloaded = PRELOADED.findall((WEB / "index.html").read_text(encoding="utf-8"))
    assert {*preloaded, "app.js"} == {str(path.relative_to(WEB.resolve())) for path in needed}


@pytest.mark.needs_program("chromium")
def test_the_first_view_is_small_and_takes_presses(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("status")
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
    assert 20_000 < sum(transferred) < MOST_BYTES
