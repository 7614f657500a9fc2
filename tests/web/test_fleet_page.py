"""The page of a node with many controllers, in a real browser."""

import re
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace
from playwright.sync_api import Locator, Page, expect

from leverframe.core.profile import Profile
from leverframe.fleet.member import NewController
from leverframe.fleet.other_nodes import LocatedController
from leverframe.fleet.records import MemberRecord
from tests.clients.served_twin import HOST, LoopThread
from tests.fleet.loop_node import LoopNode, loop_node
from tests.fleet.still_nodes import StillNodes
from tests.fleet.tenant_fleet import TenantFleet
from tests.ports import free_port

from .conftest import DESKTOP, PATIENCE_MS, PHONE, REFUSALS, Look, Tabs, watch_page
from .test_pages import AXE, grave_violations

#: Name, hardware, software, tags.
VERSIONS = (
    ("boiler", "3.0", "1.58a", "heating"),
    ("garden", "3.5", "1.49", "garden,site-a"),
    ("pump", "3.9", "1.75", "water,site-a"),
)


#: What a dry run shows of a setting.
VARIABLE_NAMED = "Zmienna 2 · Nazwa: “” → “Frost”"
#: What a node says of its database, which nodes have as `database`, and what a page makes of it.
AWAY = (
    "The database cannot be reached. Controllers keep running with their present settings; nothing"
    " can be changed until it is back."
)
AWAY_TEXT = (
    "Baza danych jest nieosiągalna. Sterowniki działają dalej z obecnymi ustawieniami; do jej"
    " powrotu niczego nie można zmienić."
)
LACKING = "Wersje, które to mają"
AS_TEMPLATE = "jak w szablonie"
DIFFERS = "Wyjście 0 · Nazwa: “”, szablon: “Fan”"
SWITCHED = "Wyjście 0: wył. → wł."


class Site(NamedTuple):
    origin: str
    loop_node: LoopNode
    ask: Callable[[Any], Any]

    def on(self, name: str, label: str = "OUT0") -> bool:
        return self.loop_node.member(name).controller.engine.values[label] == 1


@asynccontextmanager
async def serving(**keys: Any) -> AsyncIterator[LoopNode]:
    async with loop_node(**keys) as node:
        await node.node.door.listen(HOST, 0)
        yield node


@pytest.fixture
def serve_fleet(loop_thread: LoopThread) -> Iterator[Callable[..., Site]]:
    stack = AsyncExitStack()

    def serve_fleet(**keys: Any) -> Site:
        node = loop_thread.wait_for(stack.enter_async_context(serving(**keys)))
        return Site(f"http://{HOST}:{node.node.door.port}", node, loop_thread.wait_for)

    yield serve_fleet
    loop_thread.wait_for(stack.aclose())


def three(site: Site) -> None:
    for name, hw, sw, tags in VERSIONS:
        site.ask(site.loop_node.post("add", name=name, hw=hw, sw=sw, tags=tags))


def row(page: Page, name: str) -> Locator:
    return page.locator(f"tr[data-name={name}]")


def choose(page: Page, *names: str) -> None:
    for name in names:
        row(page, name).get_by_role("checkbox").check()


def result(page: Page, name: str) -> Locator:
    """Find the result line of a controller."""
    return page.locator(f".results [data-names~={name}]")


def do(page: Page, what: str) -> None:
    page.locator(f".bulk [data-do={what}]").click()


@pytest.mark.thorough
def test_phone_has_room_for_the_words_of_every_filter(
    tabs: Tabs, serve_fleet: Callable[..., Site]
) -> None:
    site = serve_fleet()
    three(site)
    for language in ("en", "fr"):
        with tabs.fresh(Look(language, PHONE, "light", False)) as page:
            page.goto(f"{site.origin}/#/?view=changes")
            filters = page.locator(".filters-of-fleet select")
            expect(filters).to_have_count(3)
            wanted = """(all) => all.map((one) => {
                const shown = one.offsetWidth;
                one.style.flex = "none";
                one.style.width = "max-content";
                return one.offsetWidth - shown;
            })"""
            assert max(filters.evaluate_all(wanted)) <= 0
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_node_that_is_starting_says_so_until_it_has_all_controllers(
    tabs: Tabs, serve_fleet: Callable[..., Site]
) -> None:
    site = serve_fleet()
    node = site.loop_node.node

    async def begin() -> None:
        node.begin_start(MemberRecord(name) for name, *_ in VERSIONS)

    async def come() -> None:
        await node.add([NewController(MemberRecord("boiler"), Profile())])

    site.ask(begin())
    with tabs.fresh(Look("en", DESKTOP, "light", False)) as page:
        page.goto(site.origin)
        note = page.locator("main > [role=status]")
        expect(note).to_have_text("The node is starting: 0 of 3 controllers are running.")
        expect(page.locator(".list .empty")).to_have_text("The first controllers are starting.")
        site.ask(come())
        expect(note).to_have_text("The node is starting: 1 of 3 controllers are running.")
        expect(row(page, "boiler")).to_be_visible()
        site.ask(node.end_start())
        expect(note).to_have_count(0)


@pytest.mark.thorough
def test_times_of_all_are_those_of_the_node(tabs: Tabs, serve_fleet: Callable[..., Site]) -> None:
    site = serve_fleet(timezone="Europe/Warsaw")
    three(site)
    with tabs.fresh(Look("en", DESKTOP, "light", False, "America/New_York")) as page:
        page.goto(site.origin)
        expect(page.locator(".common-time b")).to_contain_text("Jan 5, 2026, 01:00")
        expect(page.locator(".connection time")).to_have_text("01:00")
        expect(page.locator(".note.zone")).to_have_text(
            "Times are in Europe/Warsaw (now 01:00); your time is 6 h behind."
        )
        # What is typed has always been a time of the node.
        page.get_by_label("Date and time").fill("2026-01-05 05:00")
        page.locator("[data-do=go]").click()
        expect(page.locator(".common-time b")).to_contain_text("Jan 5, 2026, 05:00")
        # The page says whether anything was due.
        page.locator("[data-do=step]").click()
        expect(page.locator(".time [role=status]")).to_have_text(
            "Nothing is due; time has not moved."
        )
        site.ask(site.loop_node.post("send", name="pump", command="outs.cgi?ortime=07&out0=1"))
        page.locator("[data-do=step]").click()
        expect(page.locator(".time [role=status]")).to_contain_text("Controllers affected: 1 of 3")


def test_equal_changes_and_findings_of_controllers_are_one_line(
    tabs: Tabs, serve_fleet: Callable[..., Site]
) -> None:
    site = serve_fleet()
    three(site)
    for name in ("boiler", "garden"):
        site.loop_node.member(name).controller.troubles["email"] = "The server refuses it."
    site.ask(site.loop_node.post("send", command="stm.cgi?oname=0Lamp"))
    site.ask(site.loop_node.post("send", name="pump", command="stm.cgi?oname=1Mill"))
    with tabs.fresh(Look("en", DESKTOP, "light", False)) as page:
        page.goto(site.origin)
        shared = page.locator(".shared li")
        expect(shared).to_have_count(1)
        expect(shared).to_contain_text("2 controllers")
        shared.get_by_role("link").click()
        expect(page.locator("tr[data-name]")).to_have_count(2)
        expect(row(page, "pump")).to_have_count(0)
        # A change of all controllers is one line that names them; another one is its own.
        page.goto(f"{site.origin}/#/?view=changes")
        changes = page.locator(".changes li")
        named = changes.filter(has_text="Lamp").locator("a.name")
        expect(named).to_have_text(["boiler", "garden", "pump"])
        expect(changes.filter(has_text="Mill").locator("a.name")).to_have_text(["pump"])
        expect(changes.filter(has_text="Output")).to_have_count(2)


def test_operator_retries_failed_controllers(tabs: Tabs, serve_fleet: Callable[..., Site]) -> None:
    site, port = serve_fleet(), free_port()
    three(site)
    node = site.loop_node.node
    site.ask(site.loop_node.post("place", name="pump", port=port))
    site.ask(node.drop([node.members["pump"]]))
    with tabs.fresh(Look("en", DESKTOP, "light", False)) as page:
        page.set_default_timeout(PATIENCE_MS)
        status = page.locator("main [role=status]")
        with socket.create_server((HOST, port)):
            site.ask(node.start_stored())
            page.goto(site.origin)
            expect(page.locator(".problem")).to_contain_text(f"pump failed to start: port {port}")
            page.locator("[data-do=start-again]").click()
            expect(status).to_have_text("Started: 0. Failed again: 1.")
        # It was open until now.
        node.options = replace(node.options, must_sign_in=True)
        page.locator("[data-do=start-again]").click()
        expect(status).to_contain_text("Started: 1. Failed again: 0.")
        expect(status).to_contain_text(re.compile(r"shown only once:\s+pump: \w+-\w+-\w+-\w+"))
        expect(row(page, "pump")).to_have_attribute("data-health", "fine")
        expect(page.locator(".problem")).to_have_count(0)
        expect(page.locator("[data-do=start-again]")).to_have_count(0)


def test_controllers_of_three_versions_are_listed_by_health_and_commanded(
    tabs: Tabs, serve_fleet: Callable[..., Site]
) -> None:
    site = serve_fleet()
    three(site)
    site.loop_node.node.troubles["database"] = AWAY
    # Where there is least room, and where every sentence has to be translated.
    look = Look("pl", PHONE, "light", False)
    with tabs.fresh(look) as page, watch_page(page, site.origin, REFUSALS) as watch:
        page.set_default_timeout(PATIENCE_MS)
        page.goto(site.origin)
        # What is wrong with the node is a sentence in the reader's language.
        expect(page.locator(".problem")).to_have_text(AWAY_TEXT)
        # Health is live: a part in trouble makes its controller the first of the list.
        expect(row(page, "pump")).to_have_attribute("data-health", "fine")
        expect(row(page, "boiler").locator(".v")).to_have_text("3.0 / 1.58a")
        site.loop_node.member("pump").controller.troubles["email"] = "The server refuses it."
        expect(row(page, "pump")).to_have_attribute("data-health", "fault")
        expect(page.locator("tbody tr").first).to_have_attribute("data-name", "pump")
        expect(row(page, "pump").locator(".f a")).to_have_attribute(
            "href", f"http://pump.localhost:{site.origin.rpartition(':')[2]}/#/messages?open=email"
        )
        # A dry run shows each outcome; the button counts those that would succeed.
        choose(page, "boiler", "garden", "pump")
        page.locator(".bulk select").first.select_option("command")
        page.locator(".bulk .words").fill("stm.cgi?eventname=1Frost")
        do(page, "try")
        expect(result(page, "boiler")).not_to_have_attribute("data-status", "200")
        expect(result(page, "boiler")).to_contain_text(LACKING)
        # Settings and outputs are called what the pages of a controller call them.
        expect(result(page, "pump")).to_contain_text(VARIABLE_NAMED)
        send = page.locator("[data-do=send]")
        done = page.locator(".results [data-status='200']").count()
        assert 0 < done < 3
        expect(send).to_contain_text(str(done))
        send.click()
        expect(page.locator(".results li")).to_have_count(done)
        settings = site.loop_node.member("pump").controller.engine.settings
        assert settings.event_variables[1].name == "Frost"
        # A lever moves on the page when it moves.
        page.locator(".bulk select").first.select_option("switch")
        do(page, "try")
        expect(result(page, "garden")).to_contain_text(SWITCHED)
        assert not site.on("garden")
        page.locator("[data-do=send]").click()
        expect(row(page, "garden").get_by_role("img").first).to_have_attribute(
            "aria-label", "włączone: 1 z 6"
        )
        assert site.on("garden")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
        assert watch.complaints == []


@pytest.mark.thorough
def test_controllers_are_found_compared_gone_back_tagged_renamed_placed_copied_and_removed(
    tabs: Tabs, serve_fleet: Callable[..., Site], tmp_path: Path
) -> None:
    site = serve_fleet()
    three(site)
    site.ask(site.loop_node.post("send", name="pump", command="stm.cgi?eventname=1Frost"))
    site.ask(site.loop_node.post("send", name="garden", command="outs.cgi?out0=1"))
    site.loop_node.member("pump").controller.troubles["email"] = "The server refuses it."
    look = Look("pl", PHONE, "light", False)
    with tabs.fresh(look) as page, watch_page(page, site.origin, REFUSALS) as watch:
        page.set_default_timeout(PATIENCE_MS)
        page.goto(site.origin)
        # Searched by finding, filtered by health; the address keeps it.
        page.get_by_role("searchbox").fill("server refuses")
        expect(page.locator("tbody tr")).to_have_count(1)
        page.get_by_role("searchbox").fill("")
        expect(page.locator("tbody tr")).to_have_count(3)
        # The field follows the address, also on the way back.
        page.goto(f"{site.origin}/#/?search=boiler")
        expect(page.get_by_role("searchbox")).to_have_value("boiler")
        expect(page.locator("tbody tr")).to_have_count(1)
        page.go_back()
        expect(page.get_by_role("searchbox")).to_have_value("")
        expect(page.locator("tbody tr")).to_have_count(3)
        page.locator(".sums a").nth(1).click()
        expect(page.locator("tbody tr")).to_have_count(2)
        assert "health=fine" in page.url
        page.go_back()
        expect(page.locator("tbody tr")).to_have_count(3)
        choose(page, "boiler", "garden", "pump")
        # In what the others differ from a template, which may be what another one has set.
        page.locator(".bulk select").first.select_option("compare")
        page.locator(".bulk [name=template]").select_option("pump")
        do(page, "compare")
        expect(result(page, "pump")).to_contain_text(AS_TEMPLATE)
        expect(result(page, "boiler")).not_to_contain_text(AS_TEMPLATE)
        file = tmp_path / "fan.toml"
        file.write_text('hw = "3.5"\nsw = "1.49"\n[settings]\n"outputs.0.name" = "Fan"\n')
        page.locator(".bulk [name=template]").select_option("*file")
        expect(page.locator(".results")).to_have_count(0)
        page.locator(".bulk [name=file]").set_input_files(file)
        do(page, "compare")
        expect(result(page, "garden")).to_contain_text(DIFFERS)
        # A snapshot, then time, then back.
        page.locator(".bulk select").first.select_option("snapshot")
        page.locator(".bulk .words").fill("noon")
        do(page, "snapshot")
        for name, *_ in VERSIONS:
            expect(result(page, name)).to_have_attribute("data-status", "200")
        before = site.loop_node.node.clock.wall()
        advance = page.locator(".time [data-do=advance]")
        # The list comes first there; what moves time opens when it is wanted.
        expect(advance).to_be_hidden()
        page.locator(".time .fold").click()
        advance.click()
        expect(page.locator(".common-time b")).to_contain_text("01:00:00")
        assert site.loop_node.node.clock.wall() == before + 3600
        page.locator(".bulk select").first.select_option("restore")
        do(page, "restore")
        for name, *_ in VERSIONS:
            expect(result(page, name)).to_have_attribute("data-status", "200")
        assert site.loop_node.member("pump").controller.clock.wall() == before
        expect(page.locator(".common-time b")).to_contain_text("00:00:00")
        # A snapshot is removed by a second press; without one there is nothing to go back to.
        page.locator("[data-do=remove-snapshot]").click()
        expect(page.locator(".bulk .question")).to_contain_text("noon")
        # Nothing else is offered beside the question.
        expect(page.locator(".bulk [data-do=restore]")).to_have_count(0)
        assert list(site.loop_node.node.registry.snapshots) == ["noon"]
        page.locator(".bulk [data-do=sure]").click()
        expect(page.locator(".bulk option[value=restore]")).to_have_count(0)
        assert list(site.loop_node.node.registry.snapshots) == []
        # Tags, and a name, show immediately.
        page.locator(".bulk select").first.select_option("tag")
        page.locator(".bulk .words").fill("night")
        do(page, "tag")
        expect(page.locator(".filters-of-fleet option[value=night]")).to_have_count(1)
        row(page, "boiler").get_by_role("checkbox").uncheck()
        row(page, "garden").get_by_role("checkbox").uncheck()
        page.locator(".bulk select").first.select_option("rename")
        page.locator(".bulk .words").fill("pump-house")
        do(page, "rename")
        expect(row(page, "pump-house")).to_be_visible()
        # An address of its own; a refusal is shown.
        choose(page, "garden")
        page.locator(".bulk select").first.select_option("place")
        expect(page.locator(".bulk [data-do=place]")).to_be_disabled()
        page.locator(".bulk [name=address]").fill("127.0.0.1")
        do(page, "place")
        expect(page.locator(".bulk .refusal")).to_contain_text("dostępny jest sam węzeł")
        page.locator(".bulk [name=address]").fill("127.0.0.42")
        page.locator(".bulk [name=port]").fill(str(free_port()))
        do(page, "place")
        expect(row(page, "garden").locator("small").first).to_contain_text("127.0.0.42 :")
        choose(page, "garden")
        page.locator(".bulk select").first.select_option("place")
        expect(page.locator(".bulk [name=address]")).to_have_value("127.0.0.42")
        page.locator(".bulk [name=address]").fill("")
        do(page, "place")
        expect(row(page, "garden").locator("small").first).to_contain_text(re.compile("^:"))
        # Copies of one, and new ones from a template.
        choose(page, "garden")
        page.locator(".bulk select").first.select_option("fork")
        do(page, "fork")
        page.locator(".making [name=count]").fill("2")
        page.locator("[data-do=make]").click()
        expect(row(page, "garden-2")).to_be_visible()
        assert site.on("garden-2")
        page.locator("[data-do=add]").click()
        page.locator(".making [name=name]").fill("new")
        page.locator(".making [name=template]").select_option("*file")
        template = tmp_path / "template.toml"
        template.write_text('hw = "3.9"\nsw = "1.75"\n[settings]\n"outputs.0.name" = "Lamp"\n')
        page.locator(".making [name=file]").set_input_files(template)
        page.locator("[data-do=make]").click()
        expect(row(page, "new")).to_be_visible()
        assert site.loop_node.member("new").controller.engine.settings.outputs[0].name == "Lamp"
        # What is refused is said there; what is removed has to be typed.
        page.locator("[data-do=make]").click()
        expect(page.locator("label:has([name=name]) .refusal")).to_have_text(
            re.compile("^(?!.*name).*new")
        )
        row(page, "garden").get_by_role("checkbox").uncheck()
        choose(page, "garden-1", "garden-2")
        page.locator(".bulk select").first.select_option("remove")
        expect(page.locator(".bulk [data-do=remove]")).to_be_disabled()
        page.locator(".sure input").fill("2")
        do(page, "remove")
        expect(row(page, "garden-2")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
        page.evaluate(AXE)
        assert grave_violations(page, []) == []
        # Language and theme are chosen here, too; a press elsewhere closes the menu.
        page.locator(".own summary").click()
        page.get_by_role("heading", level=1).click()
        expect(page.locator(".own[open]")).to_have_count(0)
        page.locator(".own summary").click()
        page.locator(".own select").first.select_option("fr")
        expect(page.get_by_role("heading", level=1)).to_have_text("Contrôleurs")
        assert watch.complaints == []


@pytest.mark.thorough
def test_user_of_a_tenant_sees_its_controllers_and_switches(
    tabs: Tabs, serve_fleet: Callable[..., Site]
) -> None:
    site = serve_fleet()
    fleet = TenantFleet(site.loop_node)
    site.ask(fleet.add_tenant("zulu", "pump"))
    site.ask(fleet.add_tenant("acme", "boiler"))
    look = Look("en", DESKTOP, "light", False)
    with tabs.fresh(look) as page, watch_page(page, site.origin, REFUSALS) as watch:
        page.set_default_timeout(PATIENCE_MS)
        page.set_extra_http_headers({"Authorization": fleet.basic("acme-guest")})
        page.goto(site.origin)
        expect(page.locator(".brand")).to_contain_text("acme")
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.locator("[data-do=add], .time, nav")).to_have_count(0)
        choose(page, "boiler")
        expect(page.locator(".bulk select").first.locator("option")).to_have_count(2)
        do(page, "try")
        page.locator("[data-do=send]").click()
        expect(page.locator(".outcome")).to_contain_text("Done: 1")
        assert site.on("boiler")
        assert not site.on("pump")
        # The operator sees both, and whose they are.
        page.set_extra_http_headers({"Authorization": fleet.basic("admin")})
        page.reload()
        expect(row(page, "pump").locator(".tenant")).to_have_text("of zulu")
        expect(page.locator("[data-do=add]")).to_be_visible()
        # Controllers are assigned to a tenant, and unassigned; also all together.
        choose(page, "pump")
        page.locator(".bulk select").first.select_option("give")
        page.locator(".bulk select").nth(1).select_option("acme")
        do(page, "give")
        expect(row(page, "pump").locator(".tenant")).to_have_text("of acme")
        assert set(site.ask(fleet.names("acme-guest"))) == {"boiler", "pump"}
        page.locator(".bulk select").nth(1).select_option("")
        do(page, "give")
        expect(row(page, "pump").locator(".tenant")).to_have_count(0)
        assert site.ask(fleet.names("acme-guest")) == ["boiler"]
        page.locator(".bulk select").nth(1).select_option("zulu")
        do(page, "give")
        row(page, "pump").locator(".tenant a").click()
        expect(page.locator("tbody tr")).to_have_count(1)
        # Who changed what, of all and of one account; a tenant sees only its own.
        site.ask(fleet.post("zulu-chief", "send?command=stm.cgi?oname=0ZuluPump&name=pump"))
        page.locator(".views a").nth(2).click()
        changes = page.locator(".changes li")
        expect(changes.first).to_contain_text("Output 0 · Name: “” → “ZuluPump”")
        expect(changes.first.locator("a")).to_have_attribute("href", re.compile("//pump\\."))
        # The cause is shown as everywhere, by word, glyph and colour.
        expect(changes.first.locator(".cause-hand svg")).to_be_visible()
        # Also changes made while the page is open.
        site.ask(fleet.post("zulu-chief", "send?command=stm.cgi?oname=0ZuluMill&name=pump"))
        expect(changes.first).to_contain_text("“ZuluPump” → “ZuluMill”")
        # Those of the tenant that was looked for, until all are.
        expect(page.locator("[data-names=boiler]")).to_have_count(0)
        page.locator("[data-filter=owner]").select_option("")
        page.locator("[data-filter=by]").select_option("acme-guest")
        expect(changes).to_have_count(1)
        expect(changes).to_have_attribute("data-names", "boiler")
        page.locator("[data-filter=text]").fill("pump")
        expect(page.locator(".changes + .offer, .empty")).to_contain_text("No change")
        page.evaluate(AXE)
        assert grave_violations(page, []) == []
        page.set_extra_http_headers({"Authorization": fleet.basic("acme-chief")})
        page.goto(f"{site.origin}/#/?view=changes")
        page.reload()
        expect(changes.first).to_contain_text("Output 0: off → on")
        expect(page.locator(".changes")).not_to_contain_text("Zulu")
        page.set_extra_http_headers({"Authorization": fleet.basic("admin")})
        page.reload()
        # Tenants and their people are made and removed there.
        page.locator(".views a").last.click()
        expect(page.locator("[data-tenant=acme] [data-account]")).to_have_count(2)
        page.locator("[data-form=tenant] input").fill("Not One")
        page.locator("[data-do=tenant]").click()
        expect(page.locator(".tenants .refusal")).to_contain_text("Not One")
        page.locator("[data-form=tenant] input").fill("nord")
        page.locator("[data-do=tenant]").click()
        expect(page.locator("[data-tenant=nord]")).to_be_visible()
        page.locator("[data-form=account] input").fill("nora")
        page.locator("[data-form=account] [name=tenant]").select_option("nord")
        page.locator("[data-do=account]").click()
        expect(page.locator("[data-tenant=nord] [data-account=nora]")).to_be_visible()
        fleet.passwords["nora"] = page.locator("[role=status] code").inner_text()
        assert site.ask(fleet.names("nora")) == []
        page.evaluate(AXE)
        assert grave_violations(page, []) == []
        press(page, "[data-account=nora]", "remove-account")
        press(page, "[data-account=nora]", "sure")
        press(page, "[data-tenant=nord]", "remove-tenant")
        press(page, "[data-tenant=nord]", "sure")
        expect(page.locator("[data-tenant=nord]")).to_have_count(0)
        assert "nord" not in site.loop_node.node.registry.tenants
        assert watch.complaints == []


def press(page: Page, where: str, what: str) -> None:
    page.locator(f"{where} [data-do={what}]").click()


@pytest.mark.thorough
def test_roll_out_is_planned_stops_and_goes_back_and_a_node_is_emptied(
    tabs: Tabs, serve_fleet: Callable[..., Site]
) -> None:
    site = serve_fleet()
    three(site)
    others = StillNodes(site.loop_node.node)
    # Where there is least room, for words that are long.
    look = Look("hu", PHONE, "dark", False)
    with tabs.fresh(look) as page, watch_page(page, site.origin, REFUSALS) as watch:
        page.set_default_timeout(PATIENCE_MS)
        page.goto(site.origin)
        # One machine has roll-outs, and nothing to say of nodes.
        expect(page.locator(".views a")).to_have_count(4)
        choose(page, "boiler", "pump")
        page.locator(".bulk select").first.select_option("rollout")
        page.locator(".bulk .words").fill("stm.cgi?eventname=1Frost")
        page.locator(".bulk .sure input").fill("1,rest")
        do(page, "rollout")
        rollout = page.locator(".rollout")
        expect(rollout).to_have_attribute("data-status", "planned")
        # The boiler is too old for it: the first group stops it.
        press(page, ".rollout", "start")
        expect(rollout).to_have_attribute("data-status", "stopped")
        expect(rollout.locator(".why")).to_be_visible()
        rollout.locator("summary").click()
        expect(rollout.locator("[data-names~=boiler]")).to_be_visible()
        page.evaluate(AXE)
        assert grave_violations(page, []) == []
        press(page, ".rollout", "resume")
        expect(rollout).to_have_attribute("data-status", "finished")
        variables = site.loop_node.member("pump").controller.engine.settings.event_variables
        assert variables[1].name == "Frost"
        press(page, ".rollout", "undo")
        press(page, ".rollout", "sure")
        expect(rollout).to_have_attribute("data-status", "undone")
        variables = site.loop_node.member("pump").controller.engine.settings.event_variables
        assert variables[1].name != "Frost"
        press(page, ".rollout", "remove")
        press(page, ".rollout", "sure")
        expect(rollout).to_have_count(0)
        # With a database that nodes share there are these, and controllers can be moved.
        site.loop_node.node.cluster = others
        page.reload()
        page.evaluate(AXE)
        page.locator(".views a").nth(3).click()
        expect(page.locator("tr[data-node]")).to_have_count(2)
        expect(page.locator("[data-fact=db_server]")).to_have_text("PostgreSQL 15.8")
        press(page, "[data-node=south]", "drain")
        press(page, "[data-node=south]", "not")
        expect(page.locator("[data-node=south]")).to_have_attribute("data-state", "runs")
        press(page, "[data-node=south]", "drain")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
        press(page, "[data-node=south]", "sure")
        expect(page.locator("[data-node=south]")).to_have_attribute("data-state", "emptied")
        press(page, "[data-node=south]", "fill")
        expect(page.locator("[data-node=south]")).to_have_attribute("data-state", "runs")
        others.nodes["west"] = replace(others.nodes["south"], name="west", is_alive=False)
        press(page, "[data-node=west]", "forget")
        press(page, "[data-node=west]", "sure")
        expect(page.locator("tr[data-node]")).to_have_count(2)
        others.is_in_doubt = True
        expect(page.locator("[data-node=north]")).to_have_attribute("data-state", "doubt")
        expect(page.locator(".views .finding-count")).to_have_text("1")
        assert grave_violations(page, []) == []
        page.locator(".views a").first.click()
        choose(page, "garden", "pump")
        page.locator(".bulk select").first.select_option("move")
        page.locator(".bulk select").nth(1).select_option("south")
        do(page, "move")
        expect(page.locator(".bulk")).to_have_count(0)
        assert others.moves == [(["garden", "pump"], "south")]
        # What a silent node has stays in the list, and is marked.
        others.elsewhere = [LocatedController(99, "south", MemberRecord("shed"))]
        shed = page.locator("tr[data-name=shed]")
        expect(shed).to_have_attribute("data-health", "unknown")
        expect(shed.locator(".f")).to_contain_text("south")
        expect(page.locator("tr[data-name=pump] .at")).to_contain_text("north")
        assert grave_violations(page, []) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
        assert watch.complaints == []


@pytest.mark.thorough
def test_thousand_controllers_are_looked_through_and_commanded_while_they_switch(
    tabs: Tabs, serve_fleet: Callable[..., Site]
) -> None:
    site = serve_fleet()
    site.ask(site.loop_node.post("add", name="gh-{n}", count=1000, tags="green"))
    with (
        tabs.fresh(Look("en", DESKTOP, "dark", False)) as page,
        watch_page(page, site.origin, "") as watch,
    ):
        page.set_default_timeout(PATIENCE_MS)
        page.goto(site.origin)
        expect(page.locator(".paging")).to_contain_text("1 to 50 of 1000")
        # Each of them switches every second.
        periodic = "outs.cgi?atout=0*1&atout=6*1&aout=01"
        reply = site.ask(site.loop_node.post("send", command=periodic))
        assert reply["refused"] == 0
        page.locator(".time select").select_option("1")
        expect(page.locator(".time [data-do=freeze]")).to_be_visible()
        page.get_by_role("searchbox").fill("gh-77")
        expect(page.locator("tbody tr")).to_have_count(11)
        page.get_by_role("searchbox").fill("")
        expect(page.locator("tbody tr")).to_have_count(50)
        page.get_by_role("link", name="Next").click()
        expect(page.locator(".paging")).to_contain_text("51 to 100 of 1000")
        page.get_by_label("All on this page").check()
        page.locator("[data-do=all]").click()
        do(page, "try")
        expect(page.locator("[data-do=send]")).to_have_text("Send to 1000")
        page.locator(".time [data-do=freeze]").click()
        expect(page.locator(".time [data-do=freeze]")).to_have_count(0)
        page.locator(".bulk select").nth(1).select_option("5")
        do(page, "try")
        page.locator("[data-do=send]").click()
        expect(page.locator(".outcome")).to_contain_text("Done: 1000")
        assert all(site.on(f"gh-{number}", "OUT5") for number in range(1, 1001))
        assert watch.complaints == []
