"""The page of units that `unit watch` serves, in a real browser."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

import pytest
from playwright.sync_api import expect

from leverframe.clock import SystemClock
from leverframe.servers.accounts.cross_site import OwnNames
from leverframe.servers.http.server import HttpServer
from leverframe.storage.history.worker import HistoryRecorder, MemoryHistory
from leverframe.testing import Twin
from leverframe.units.watch_web import WatchWeb
from leverframe.units.watcher import UnitWatcher, WatchedUnit
from tests.clients.served_twin import HOST, LoopThread
from tests.ports import free_port

from .conftest import DESKTOP, PHONE, Look, Tabs, watched


class Site(NamedTuple):
    origin: str
    twin: Twin
    watcher: UnitWatcher


@asynccontextmanager
async def serving(twin: Twin, wanted: list[str]) -> AsyncIterator[Site]:
    clock = SystemClock()
    units = (
        WatchedUnit("cellar", twin.url, compare=lambda pulled: list(wanted)),
        WatchedUnit("attic", f"http://{HOST}:{free_port()}"),
    )
    watcher = UnitWatcher(units, clock, paced=False)
    web = WatchWeb(watcher, HistoryRecorder(MemoryHistory(), clock), clock, OwnNames())
    server = HttpServer(web.handle)
    await watcher.open()
    await server.start(HOST, 0)
    try:
        yield Site(f"http://{HOST}:{server.port}", twin, watcher)
    finally:
        await server.stop(grace_s=0)
        await watcher.close()


@pytest.fixture
def site(loop_thread: LoopThread) -> Iterator[Site]:
    with Twin(name="Cellar", mac="02:11:22:33:44:55") as twin:
        stack = AsyncExitStack()
        wanted = ["output 1 is called Pump, not Lamp"]
        site = loop_thread.wait_for(stack.enter_async_context(serving(twin, wanted)))
        yield site
        loop_thread.wait_for(stack.aclose())


@pytest.mark.parametrize(("language", "viewport"), [("en", DESKTOP), ("hu", PHONE)])
def test_units_are_listed_looked_at_and_compared(
    tabs: Tabs, site: Site, language: str, viewport: tuple[int, int]
) -> None:
    look = Look(language, viewport, "light", False)
    with tabs.fresh(look) as page, watched(page, site.origin, "") as watch:
        page.goto(site.origin)
        cellar, attic = (page.locator(f"[data-unit={name}]") for name in ("cellar", "attic"))
        expect(cellar).to_have_attribute("data-health", "waiting")
        cellar.get_by_role("button").nth(0).click()
        expect(cellar).to_have_attribute("data-health", "fine")
        expect(cellar).to_contain_text("HW 3.9 SW 1.75")
        attic.get_by_role("button").nth(0).click()
        expect(attic).to_have_attribute("data-health", "fault")
        cellar.get_by_role("button").nth(1).click()
        expect(cellar).to_have_attribute("data-health", "attention")
        cellar.locator("summary").click()
        expect(cellar.locator("details li")).to_have_text("output 1 is called Pump, not Lamp")
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= viewport[0]
        if viewport == DESKTOP:
            page.get_by_role("combobox").nth(0).select_option("fr")
            expect(page.get_by_role("heading", level=1)).to_have_text("Unités")
        assert watch.complaints == []
