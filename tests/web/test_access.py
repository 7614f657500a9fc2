"""All pages are accessible: Fleet, Units and sign-in too, in three widths and both themes."""

from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect

from leverframe.testing import Twin
from tests.clients.served_twin import HOST, LoopThread, ServedTwin
from tests.effort import THOROUGH
from tools.looks import routes

from . import test_fleet_page as fleet
from . import test_units_page as units
from .conftest import DESKTOP, PATIENCE_MS, PHONE, Look, OpenPage, Tabs, Theme
from .signing_in import ask_for_passwords
from .test_pages import AXE, IN_PARTS, OF_THEME_AND_WIDTH, PARTS, go, grave_violations, live_in

pytestmark = pytest.mark.needs_program("chromium")

TABLET = (768, 1024)
#: The first one always runs, in a short form: it has the least room and the least contrast.
LOOKS: tuple[tuple[Theme, tuple[int, int]], ...] = (
    ("dark", PHONE),
    ("light", PHONE),
    ("light", TABLET),
    ("dark", TABLET),
    ("light", DESKTOP),
    ("dark", DESKTOP),
)
IN_EVERY_LOOK = pytest.mark.parametrize(
    ("theme", "viewport"),
    [
        pytest.param(
            *look, id=f"{look[0]} {look[1][0]}", marks=[pytest.mark.thorough] if at else []
        )
        for at, look in enumerate(LOOKS)
    ],
)
#: As wide as a name can be.
WIDE = "W" * 15


class Sites(NamedTuple):
    fleet: fleet.Site
    units: units.Site


@pytest.fixture
def sites(loop_thread: LoopThread, tmp_path: Path) -> Iterator[Sites]:
    with Twin(name=WIDE, mac="02:11:22:33:44:55") as twin:
        stack = AsyncExitStack()
        file = tmp_path / "cellar.toml"
        file.write_text('[outputs.OUT1]\nname = "Pump"\n')
        enter, ask = stack.enter_async_context, loop_thread.wait_for
        node = ask(enter(fleet.serving()))
        site = fleet.Site(f"http://{HOST}:{node.node.door.port}", node, ask)
        yield Sites(site, ask(enter(units.serving(twin, file))))
        ask(stack.aclose())


def fill_fleet(site: fleet.Site) -> None:
    """Give a node controllers with long names, findings that two of them share, and changes."""
    fleet.three(site)
    site.ask(site.loop_node.post("rename", name="pump", to=f"{WIDE}-2".lower()))
    for name in ("boiler", "garden"):
        site.loop_node.member(name).controller.troubles["email"] = "The server refuses it."
    site.ask(site.loop_node.post("send", command=f"stm.cgi?oname=0{WIDE}"))


def check(page: Page, what: str) -> list[str]:
    """Return what is wrong with what a page shows now."""
    found = grave_violations(page, [])
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        found.append("is too wide")
    return [f"{what}: {one}" for one in found]


def look_at_fleet(page: Page, site: fleet.Site) -> Iterator[str]:
    fill_fleet(site)
    page.goto(site.origin)
    expect(page.locator(".shared li")).to_have_count(1)
    page.evaluate(AXE)
    yield from check(page, "fleet")
    if not THOROUGH:
        return
    page.locator("[data-do=add]").click()
    for checkbox in page.locator("tbody [type=checkbox]").all():
        checkbox.check()
    expect(page.locator(".bulk")).to_be_visible()
    yield from check(page, "fleet, many")
    for view, part in (("changes", ".changes li"), ("rollouts", ".empty"), ("tenants", "form")):
        page.goto(f"{site.origin}/#/?view={view}")
        expect(page.locator(part).first).to_be_visible()
        yield from check(page, view)


def look_at_units(page: Page, site: units.Site) -> Iterator[str]:
    page.set_extra_http_headers({"Authorization": units.LOGIN.header()})
    page.goto(site.origin)
    cellar = page.locator("[data-unit=cellar]")
    cellar.locator("[data-do=pull]").click()
    expect(cellar.locator("summary")).to_be_visible()
    if THOROUGH:
        cellar.locator("[data-do=look]").click()
        expect(cellar.locator("[data-do=plan]")).to_be_enabled()
        cellar.locator("[data-do=plan]").click()
        expect(page.locator("[data-under=cellar] .plan")).to_be_visible()
        page.locator("[data-unit=attic] [data-do=look]").click()
    page.evaluate(AXE)
    yield from check(page, "units")


@IN_EVERY_LOOK
def test_fleet_and_units_are_accessible(
    tabs: Tabs, sites: Sites, theme: Theme, viewport: tuple[int, int]
) -> None:
    with tabs.fresh(Look("en", viewport, theme, False)) as page:
        page.set_default_timeout(PATIENCE_MS)
        assert [*look_at_fleet(page, sites.fleet), *look_at_units(page, sites.units)] == []


@pytest.mark.thorough
@IN_PARTS
@pytest.mark.parametrize(("theme", "viewport"), LOOKS)
def test_every_page_can_be_used_in_every_width_and_theme(
    twin: ServedTwin, open_page: OpenPage, theme: Theme, viewport: tuple[int, int], part: int
) -> None:
    live_in(twin)
    page = open_page(theme=theme, viewport=viewport)
    page.evaluate(AXE)
    wrong = {}
    for name in routes(page)[part::PARTS]:
        go(page, name)
        wrong[name] = grave_violations(page, OF_THEME_AND_WIDTH)
    assert {name: found for name, found in wrong.items() if found} == {}


@pytest.mark.thorough
@pytest.mark.parametrize(("theme", "viewport"), LOOKS)
def test_sign_in_can_be_used_in_every_width_and_theme(
    twin: ServedTwin, open_page: OpenPage, theme: Theme, viewport: tuple[int, int]
) -> None:
    page = open_page("", theme=theme, viewport=viewport)
    page.goto("about:blank")
    twin.get(f"/stm.cgi?sname={WIDE}")
    ask_for_passwords(twin)
    page.goto(f"http://{HOST}:{twin.port}/#/rules")
    expect(page.locator("[name=password]")).to_be_visible()
    page.evaluate(AXE)
    assert check(page, "sign-in") == []
