"""The page of units that `unit watch` serves, in a real browser."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from playwright.sync_api import expect

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import SystemClock
from leverframe.server.cross_site import OwnNames
from leverframe.server.http.server import HttpServer
from leverframe.server.passwords import Passwords
from leverframe.server.sessions import Accounts, administrator_alone
from leverframe.storage.history.worker import HistoryRecorder, MemoryHistory
from leverframe.testing import Twin
from leverframe.testing.recordings.replay import UnitLogin
from leverframe.units.comparison import DriftedSetting, drift_from
from leverframe.units.file_loader import load_unit_file
from leverframe.units.pulled_unit import PulledUnit
from leverframe.units.unit_file import UnitFile
from leverframe.units.watch_changes import UnitChanges
from leverframe.units.watch_web import WatchWeb
from leverframe.units.watcher import UnitWatcher, WatchedUnit
from tests.clients.served_twin import HOST, LoopThread
from tests.ports import free_port

from .conftest import PHONE, Look, Tabs, watch_page
from .test_pages import AXE, grave_violations


class Site(NamedTuple):
    origin: str
    twin: Twin
    watcher: UnitWatcher
    file: Path


#: Of the account that the watch asks for.
LOGIN = UnitLogin("admin", "a long password")


#: How the name in the file is shown.
DRIFT = "1. kimenet · Név: semmi, nem “Pump”"
COMPARED = r"1\. kimenet · Név\s+semmi\s+“Pump”"
PLANNED = "1. kimenet · Név: “” → “Pump”"


OTHERWISE = """[outputs.OUT1]
return_time = "10m"

[schedule.1]
action = "OUT1"
value = "on"
time = "14:00"
days = "Mon-Fri"
"""
FOUND = [
    "Stockage : The disk is full.",
    "Le régulateur PID est actif, mais sa sortie Sortie PWM 1 est coupée.",
]
HUNGARIAN_PLAN = ("10 perc", "Pump be ekkor: 14:00 H-P")


async def accounts() -> Accounts:
    return administrator_alone(LOGIN.name, await Passwords().hash(LOGIN.password))


@asynccontextmanager
async def serving(twin: Twin, file: Path) -> AsyncIterator[Site]:
    def load_wanted(profile: Profile) -> UnitFile:
        return load_unit_file(file, profile=profile)

    def compare(pulled: PulledUnit) -> list[DriftedSetting]:
        return drift_from(load_wanted(pulled.profile), pulled)

    clock = SystemClock()
    units = (
        WatchedUnit("cellar", twin.url, compare=compare),
        WatchedUnit("attic", f"http://{HOST}:{free_port()}"),
    )
    watcher = UnitWatcher(units, clock, paced=False)
    changes = UnitChanges(watcher, {"cellar": load_wanted}, file.parent / "journals")
    history = HistoryRecorder(MemoryHistory(), clock)
    web = WatchWeb(watcher, history, clock, OwnNames(), changes, await accounts())
    server = HttpServer(web.handle)
    await watcher.open()
    await server.start(HOST, 0)
    try:
        yield Site(f"http://{HOST}:{server.port}", twin, watcher, file)
    finally:
        await server.stop(grace_s=0)
        await watcher.close()


@pytest.fixture
def site(loop_thread: LoopThread, tmp_path: Path) -> Iterator[Site]:
    with Twin(name="Cellar", mac="02:11:22:33:44:55") as twin:
        stack = AsyncExitStack()
        file = tmp_path / "cellar.toml"
        file.write_text('[outputs.OUT1]\nname = "Pump"\n')
        site = loop_thread.wait_for(stack.enter_async_context(serving(twin, file)))
        yield site
        loop_thread.wait_for(stack.aclose())


def test_units_are_listed_looked_at_compared_and_changed(tabs: Tabs, site: Site) -> None:
    # Where there is least room, and where every sentence has to be translated.
    look = Look("hu", PHONE, "light", False)
    with tabs.fresh(look) as page, watch_page(page, site.origin, "") as watch:
        page.set_extra_http_headers({"Authorization": LOGIN.header()})
        page.goto(site.origin)
        cellar, attic = (page.locator(f"[data-unit={name}]") for name in ("cellar", "attic"))
        expect(cellar).to_have_attribute("data-health", "waiting")
        cellar.locator("[data-do=look]").click()
        expect(cellar).to_have_attribute("data-health", "fine")
        expect(cellar).to_contain_text("3.9 / 1.75")
        attic.locator("[data-do=look]").click()
        expect(attic).to_have_attribute("data-health", "lost")
        # Worst first; the button that was pressed moved with its unit and can be pressed again.
        expect(page.locator("[data-unit]").first).to_contain_text("attic")
        expect(attic.locator("[data-do=look]")).to_be_enabled()
        name = cellar.get_by_role("link", name="cellar")
        expect(name).to_have_attribute("href", f"{site.twin.url}/")
        expect(name).to_have_attribute("rel", "noopener noreferrer")
        cellar.locator("[data-do=pull]").click()
        expect(cellar).to_have_attribute("data-health", "attention")
        cellar.locator("summary").click()
        expect(cellar.locator("details li")).to_have_text(DRIFT)
        under = page.locator("[data-under=cellar]")
        cellar.locator("[data-do=compare]").click()
        expect(under.locator("tbody tr")).to_have_text(re.compile(COMPARED))
        cellar.locator("[data-do=plan]").click()
        expect(under.locator(".plan")).to_contain_text(PLANNED)
        expect(under.locator(".plan code")).to_contain_text("oname")
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= PHONE[0]
        assert site.twin.settings["outputs"][1]["name"] == ""
        under.locator("[data-do=apply]").click()
        expect(under.locator("progress")).to_have_attribute("value", "1")
        expect(cellar).to_have_attribute("data-health", "fine")
        assert site.twin.settings["outputs"][1]["name"] == "Pump"
        assert watch.complaints == []


def test_lost_connection_is_shown_in_the_readers_language(tabs: Tabs, site: Site) -> None:
    with tabs.fresh(Look("hu", PHONE, "light", False)) as page:
        page.set_extra_http_headers({"Authorization": LOGIN.header()})
        page.goto(site.origin)
        page.route("**/api/units/**", lambda route: route.abort())
        page.locator("[data-unit=cellar] [data-do=look]").click()
        expect(page.locator(".problem")).to_contain_text("A kapcsolat megszakadt.")


def test_findings_of_a_unit_lead_to_the_page_that_repairs_them(tabs: Tabs, site: Site) -> None:
    regulator = "/stm.cgi?pidvalue=1*0*300*200*0*0*1"
    httpx.get(f"{site.twin.url}{regulator}").raise_for_status()
    site.twin.controller.troubles["store"] = "The disk is full."
    with (
        tabs.fresh(Look("fr", PHONE, "light", False)) as page,
        watch_page(page, site.origin, "") as watch,
    ):
        page.set_extra_http_headers({"Authorization": LOGIN.header()})
        page.goto(site.origin)
        cellar = page.locator("[data-unit=cellar]")
        cellar.locator("[data-do=look]").click()
        expect(cellar).to_have_attribute("data-health", "fault")
        links = cellar.locator(".f a")
        expect(links).to_have_text(FOUND)
        for link, place in zip(links.all(), ("system?open=storage", "pid"), strict=True):
            expect(link).to_have_attribute("href", f"{site.twin.url}/#/{place}")
            expect(link).to_have_attribute("rel", "noopener noreferrer")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
        assert watch.complaints == []


@pytest.mark.thorough
def test_differences_are_readable_and_accessible(tabs: Tabs, site: Site) -> None:
    httpx.get(f"{site.twin.url}/stm.cgi?oname=1Pump").raise_for_status()
    site.file.write_text(OTHERWISE)
    look = Look("hu", PHONE, "light", False)
    with tabs.fresh(look) as page, watch_page(page, site.origin, "") as watch:
        page.set_extra_http_headers({"Authorization": LOGIN.header()})
        page.goto(site.origin)
        cellar, under = (page.locator(f"[data-{at}=cellar]") for at in ("unit", "under"))
        cellar.locator("[data-do=pull]").click()
        cellar.locator("summary").click()
        for line in ("Pump", *HUNGARIAN_PLAN):
            expect(cellar.locator("details ul")).to_contain_text(line)
        cellar.locator("[data-do=plan]").click()
        expect(under.locator(".plan")).to_contain_text(HUNGARIAN_PLAN[1])
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
        page.locator(".own summary").click()
        page.evaluate(AXE)
        assert grave_violations(page, []) == []
        page.get_by_role("combobox").nth(0).select_option("fr")
        expect(page.get_by_role("heading", level=1)).to_have_text("Unités")
        assert watch.complaints == []
