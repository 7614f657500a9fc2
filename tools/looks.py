"""Take pictures of every page of the program and of its dialogs, in four looks, for review.

The list of pages comes from the pages' own table, and the list of drawers from the rows on Things,
so a new page or row is included automatically. Parts without an address are reached by actions.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Browser, Error, Page, expect

from tools.lived_controller import ask

DESK = (1280, 900)
PHONE = (390, 844)
#: Name of the look -> size and theme.
LOOKS: dict[str, tuple[tuple[int, int], Literal["light", "dark"]]] = {
    "desk-light": (DESK, "light"),
    "desk-dark": (DESK, "dark"),
    "phone-light": (PHONE, "light"),
    "phone-dark": (PHONE, "dark"),
}
PATIENCE_MS = 10_000
#: Additional wait after the awaited element: charts are drawn, and fonts and icons are loaded.
DRAWN_AFTER_MS = 700

#: Routes of the pages' own table. A page with groups of settings has a route for each group, too;
#: without TLS there is no route for the certificate.
ROUTES = """import('/web/pages/index.js').then(({ PAGES, MORE }) => [...PAGES, MORE].flatMap(
  ({ name, parts = [] }) => [name, ...parts.filter((part) => part !== 'certificate')
    .map((part) => `${name}?open=${part}`)]))"""
#: The first row of each list of things, and the drawers for adding things and for setting several.
DRAWERS = """() => [...document.querySelectorAll(".things section")].flatMap((list) =>
  [list.querySelector(".rows a.name"), ...list.querySelectorAll(".ways a")]
    .filter(Boolean).map((link) => link.getAttribute("href").replace(/^#\\//, "")))"""
HREFS = "(links) => links.map((link) => link.getAttribute('href'))"

ADMIN = ("admin", "three wet tomatoes")
USER = ("anna", "two dry tomatoes")
NEW_SENSORS = "/sim.cgi?onewire=28:FF:64:1E:8C:16:03:5A&onewire=28:AA:00:1E:8C:16:03:11"
FIRST_RUN_STEPS = ("place", "password", "find", "names", "rule")

Action = Callable[[Page], None]


class Sites(NamedTuple):
    """The addresses of the pages to picture."""

    #: A controller after a simulated day.
    lived: str
    #: A controller at its first start.
    new: str
    #: A controller that requires sign-in.
    guarded: str
    #: A node with many controllers.
    node: str
    #: A watch over units.
    units: str


class View(NamedTuple):
    """A picture: its name, its address, and the action before it is taken."""

    name: str
    address: str
    action: Action | None = None


def live_new(address: str) -> None:
    ask(address, NEW_SENSORS)


def guard(address: str) -> None:
    """Require sign-in on a controller, with two accounts, one of them read-only."""
    names = [b64encode(text.encode()).decode() for text in (*ADMIN, *USER)]
    ask(address, "/eeprom.cgi?bit3=1")
    ask(address, f"/stm.cgi?auth=11{'*'.join(names)}")


def routes(page: Page) -> list[str]:
    """Return the routes of all pages, as a loaded page lists them."""
    found: list[str] = page.evaluate(ROUTES)
    return found


# --- actions ---


def clicking(*selectors: str) -> Action:
    def click(page: Page) -> None:
        for selector in selectors:
            page.locator(selector).first.click()

    return click


def is_phone(page: Page) -> bool:
    size = page.viewport_size
    return size is not None and size["width"] <= PHONE[0]


def open_own_menu(page: Page) -> None:
    # On a phone, this menu is on the page that lists all pages.
    if not is_phone(page):
        page.locator("details.own summary").click()


def search(page: Page) -> None:
    page.keyboard.press("/")
    page.locator("dialog.search input").fill("pump")
    expect(page.locator("#search-found li").first).to_be_visible()


def choose_bar(page: Page) -> None:
    page.locator(".timeline svg.bars .cause-rule").last.click(force=True)
    expect(page.locator(".pick")).to_be_visible()


def edit_rule(page: Page) -> None:
    page.locator("#rule-3").click()
    expect(page.locator(".trial .course path").first).to_be_attached()


def edit_entry(page: Page) -> None:
    if is_phone(page):
        # Clicking the row opens the day as a list.
        page.locator(".t").nth(2).click(force=True)
        page.locator(".day-list button").first.click()
    else:
        page.locator(".t .span").first.click()
    page.locator("article button").first.click()
    expect(page.locator("form.editing")).to_be_visible()


def refuse(page: Page) -> None:
    page.locator("main input[type=text]").first.fill("A name of more letters than it may have")
    page.keyboard.press("Enter")
    expect(page.locator("main [role=alert]").first).to_be_visible()


def lose(page: Page) -> None:
    page.context.set_offline(True)
    expect(page.locator(".connection[data-kind=lost]")).to_be_attached()


def leave_unsaved(page: Page) -> None:
    page.locator("main input[type=text]").first.fill("Other")
    page.evaluate("location.hash = '#/status'")
    expect(page.locator("dialog.leave")).to_be_visible()


def sign_in_wrongly(page: Page) -> None:
    page.fill("[name=username]", USER[0])
    page.fill("[name=password]", "mistyped")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()


def sign_in(page: Page) -> None:
    page.fill("[name=username]", USER[0])
    page.fill("[name=password]", USER[1])
    page.keyboard.press("Enter")
    expect(page.locator("main[aria-busy=false]")).to_be_visible()


def dry_run(page: Page) -> None:
    for row in page.locator("tbody tr [type=checkbox]").all()[1:4]:
        row.check()
    page.locator(".bulk select").first.select_option("command")
    page.locator(".bulk .words").fill("stm.cgi?eventname=1Frost")
    page.locator(".bulk [data-do=try]").click()
    expect(page.locator(".results li").first).to_be_visible()


def plan_roll_out(page: Page) -> None:
    for row in page.locator("tbody tr [type=checkbox]").all()[1:4]:
        row.check()
    page.locator(".bulk select").first.select_option("rollout")
    page.locator(".bulk .words").fill("stm.cgi?eventname=1Frost")
    page.locator(".bulk .sure input").fill("1,rest")
    page.locator(".bulk [data-do=rollout]").click()
    expect(page.locator(".rollout").first).to_be_visible()


def look_at_units(page: Page) -> None:
    cellar = page.locator("[data-unit=cellar]")
    page.locator("[data-unit=attic] [data-do=look]").click()
    expect(page.locator("[data-unit=attic]")).to_have_attribute("data-health", "fault")
    cellar.locator("[data-do=pull]").click()
    expect(cellar).to_have_attribute("data-health", "attention")
    cellar.locator("[data-do=plan]").click()
    expect(page.locator("[data-under=cellar] .plan")).to_be_visible()


# --- pictures ---


def over_pages(lived: str) -> Iterator[View]:
    """Yield dialogs and other parts of a controller's pages that have no address of their own."""
    at = f"{lived}/#/"
    yield View("own-menu", f"{at}status", open_own_menu)
    yield View("pulse-menu", f"{at}status", clicking(".pulse summary"))
    yield View("search", f"{at}status", search)
    yield View("lost", f"{at}status", lose)
    yield View("timeline-chosen", f"{at}timeline", choose_bar)
    yield View("rule-editor", f"{at}rules", edit_rule)
    yield View("rule-new", f"{at}rules", clicking(".head button.primary"))
    yield View("schedule-editor", f"{at}schedule", edit_entry)
    yield View("schedule-list", f"{at}schedule", clicking(".head .group button >> nth=1"))
    yield View("panel-arranged", f"{at}panel", clicking(".head button"))
    yield View("console-command", f"{at}console?q=pulse", clicking("main details.row summary"))
    yield View("refusal", f"{at}system?open=interface", refuse)
    yield View("unsaved", f"{at}system?open=interface", leave_unsaved)
    yield View("unknown-page", f"{at}nonsense")
    yield View("not-found", f"{lived}/nonsense")


def first_run(new: str) -> Iterator[View]:
    yield View("status-new", f"{new}/#/status")
    for step in FIRST_RUN_STEPS:

        def stand_at(page: Page, step: str = step) -> None:
            # There is nothing to name before a scan of the buses.
            begin = "find" if step == "names" else step
            ask(new, f"/stm.cgi?firstrun={FIRST_RUN_STEPS.index(begin)}")
            page.reload()
            if begin == "find":
                page.locator("form button.primary").click()
                expect(page.locator(".found")).to_be_visible()
            if step == "names":
                page.locator("form button.primary").click()
                expect(page.locator("main [data-label]").first).to_be_visible()

        yield View(f"firstrun-{step}", f"{new}/#/firstrun", stand_at)


def accounts(guarded: str) -> Iterator[View]:
    yield View("signin", f"{guarded}/#/schedule")
    yield View("signin-refused", f"{guarded}/#/schedule", sign_in_wrongly)
    yield View("only-look", f"{guarded}/#/status", sign_in)
    yield View("only-look-things", f"{guarded}/#/things?thing=OUT0")
    yield View("only-look-system", f"{guarded}/#/system")
    yield View("only-look-forbidden", f"{guarded}/#/rules")


def pages_of_node(page: Page, node: str) -> Iterator[View]:
    """Yield all pages of a node."""
    page.goto(f"{node}/#/")
    links = page.locator(".views a")
    expect(links.first).to_be_visible()
    for route in links.evaluate_all(HREFS):
        yield View(_file_name("fleet", route), f"{node}/{route}")


def many(node: str, units: str) -> Iterator[View]:
    yield View("fleet-menu", f"{node}/#/", clicking("details.own summary"))
    yield View("fleet-chosen", f"{node}/#/", dry_run)
    yield View("fleet-add", f"{node}/#/", clicking("[data-do=add]"))
    yield View("fleet-planned", f"{node}/#/", plan_roll_out)
    yield View("units", f"{units}/")
    yield View("units-plan", f"{units}/", look_at_units)


def pages_of(page: Page, lived: str) -> Iterator[View]:
    """Yield all pages of a controller, and a drawer for every kind of thing."""
    page.goto(f"{lived}/#/things")
    expect(page.locator("main[aria-busy=false] .things section").first).to_be_visible()
    for route in [*routes(page), *dict.fromkeys(page.evaluate(DRAWERS))]:
        yield View(_file_name("", route), f"{lived}/#/{route}")


def _file_name(site: str, route: str) -> str:
    wanted = urlsplit(route.removeprefix("#/"))
    words = [word for words in parse_qs(wanted.query).values() for word in words]
    return "-".join(filter(None, [site, wanted.path, *words]))


def everything(page: Page, sites: Sites) -> list[View]:
    return [
        *pages_of(page, sites.lived),
        *over_pages(sites.lived),
        *first_run(sites.new),
        *accounts(sites.guarded),
        *pages_of_node(page, sites.node),
        *many(sites.node, sites.units),
    ]


def take_all(browser: Browser, sites: Sites, folder: Path, language: str) -> None:
    for look, (size, theme) in LOOKS.items():
        context = browser.new_context(
            locale=language,
            viewport={"width": size[0], "height": size[1]},
            color_scheme=theme,
            reduced_motion="reduce",
        )
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        for view in everything(page, sites):
            _take(page, view, folder / f"{view.name}-{look}.png")
        context.close()


def _take(page: Page, view: View, file: Path) -> None:
    """Take a picture of a whole page; report and skip a page that cannot be reached."""
    try:
        # Load a new document each time, so that nothing of the previous page stays open.
        page.goto("about:blank")
        page.goto(view.address)
        expect(page.locator("main:not([aria-busy=true])")).to_be_visible()
        if view.action:
            view.action(page)
        page.wait_for_timeout(DRAWN_AFTER_MS)
        page.screenshot(path=file, full_page=True)
    except (Error, AssertionError) as error:
        print(f"{file.name}: {str(error).splitlines()[0]}")
    page.context.set_offline(False)
