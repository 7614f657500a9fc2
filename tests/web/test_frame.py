"""What stands around every page: language, theme, ways around, the connection, unsaved changes."""

import re

import pytest
import requests
from playwright.sync_api import Page, expect

from leverframe.host.services import Sending
from tests.clients.served_twin import HOST, ServedTwin
from tests.host.controller.test_findings import CASES
from tests.patience import PATIENCE_S
from tests.web.conftest import DESKTOP, LOSSES, PHONE, OpenPage, Serve
from tests.web.own_menu import choose_language
from tests.web.signing_in import ADMIN, sign_in_as_user

pytestmark = pytest.mark.needs_program("chromium")

#: A finding that wants attention, and one that is a fault.
OUTPUT_OFF, GAVE_UP = (
    next(case for case in CASES if case.id == one)
    for one in ("pid_output_off.PWM1", "watchdog_gave_up.1")
)


def test_chosen_language_is_kept_and_changes_nothing_typed(open_page: OpenPage) -> None:
    page = open_page("interface")
    page.get_by_label("Name").first.fill("Lamp")
    page.get_by_label("This browser").click()
    page.get_by_label("Language", exact=True).select_option("Čeština")
    expect(page.get_by_role("heading", level=1)).to_have_text("Systém")
    expect(page.get_by_label("Název").first).to_have_value("Lamp")
    page.get_by_label("Název").first.press("Escape")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Systém")


@pytest.mark.thorough
def test_controller_language_applies_to_every_account_until_one_is_chosen(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?lang=3")
    page = open_page("status", language="fr")
    expect(page.get_by_role("list", name="Kimenetek")).to_be_visible()
    sign_in_as_user(page, twin)
    expect(page.get_by_role("list", name="Kimenetek")).to_be_visible()
    as_admin = f"http://{HOST}:{twin.port}/stm.cgi?lang=4"
    requests.get(as_admin, auth=ADMIN, timeout=PATIENCE_S).raise_for_status()
    expect(page.get_by_role("list", name="Výstupy")).to_be_visible()


@pytest.mark.thorough
def test_menu_shows_the_signed_in_account(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("status")
    menu = page.locator("details.own")
    page.get_by_label("This browser").click()
    expect(menu).to_contain_text("Leverframe")
    expect(menu).not_to_contain_text("Signed in")
    sign_in_as_user(page, twin)
    page.get_by_label("This browser").click()
    expect(menu).to_contain_text("Signed in as user")


def ground(page: Page) -> str:
    colour: str = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    return colour


@pytest.mark.thorough
def test_colours_follow_the_system_until_they_are_chosen(open_page: OpenPage) -> None:
    light = ground(open_page("status"))
    page = open_page("status", theme="dark")
    assert ground(page) != light
    page.get_by_label("This browser").click()
    page.get_by_label("Colours").select_option("light")
    assert ground(page) == light
    page.reload()
    assert ground(page) == light


@pytest.mark.thorough
def test_unknown_address_leads_back_and_an_empty_one_opens_the_status(
    open_page: OpenPage,
) -> None:
    page = open_page("cellar")
    expect(page.get_by_text("There is no page “cellar”.")).to_be_visible()
    page.get_by_role("link", name="Go to Status").click()
    expect(page.locator("main[data-page=status]")).to_be_visible()
    page.locator("nav.groups").get_by_role("link", name="Charts").click()
    expect(page.locator("main[data-page=charts]")).to_be_visible()
    page.go_back()
    expect(page.locator("main[data-page=status]")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("There is no page “cellar”.")).to_be_visible()
    page.evaluate("location.hash = ''")
    expect(page.locator("main[data-page=status]")).to_be_visible()


@pytest.mark.thorough
def test_phone_has_its_ways_at_the_bottom(open_page: OpenPage) -> None:
    page = open_page("status", viewport=PHONE)
    bar = page.get_by_role("navigation", name="Main pages")
    bar.get_by_role("link", name="More").click()
    page.get_by_role("main").get_by_role("link", name="Messages", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Messages")
    box = bar.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] == PHONE[1]


def leave_with_a_change(page: Page) -> None:
    page.get_by_label("Name").first.fill("Lamp")
    page.locator("nav.groups").get_by_role("link", name="Status").click()
    expect(page.get_by_role("dialog")).to_contain_text("Unsaved changes")


def test_unsaved_changes_need_a_choice_before_leaving_the_page(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("interface")
    leave_with_a_change(page)
    page.get_by_role("button", name="Stay").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_label("Name").first).to_have_value("Lamp")
    assert page.url.endswith("#/system?open=interface")

    leave_with_a_change(page)
    page.get_by_role("button", name="Leave without saving").click()
    expect(page.locator("main[data-page=status]")).to_be_visible()
    assert twin.settings()["name"] == ""

    page.go_back()
    leave_with_a_change(page)
    page.get_by_role("button", name="Save and continue").click()
    expect(page.locator("main[data-page=status]")).to_be_visible()
    assert twin.settings()["name"] == "Lamp"


@pytest.mark.thorough
def test_tab_icon_shows_the_state(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("status", allow=LOSSES)
    icon = page.locator("head link[rel=icon]")
    pictures: set[str | None] = set()

    def shows(state: str) -> None:
        expect(icon).to_have_attribute("data-state", state)
        pictures.add(icon.get_attribute("href"))

    shows("fine")
    for target in OUTPUT_OFF.made:
        twin.get(target)
    shows("attention")
    for target in GAVE_UP.made:
        twin.get(target)
    shows("fault")
    page.context.set_offline(True)
    shows("lost")
    # What was repaired since then is no longer shown.
    for target in (*GAVE_UP.repaired, *OUTPUT_OFF.repaired):
        twin.get(target)
    page.context.set_offline(False)
    shows("fine")
    # Each state has a picture of its own.
    assert len(pictures) == len(("fine", "attention", "fault", "lost"))


@pytest.mark.thorough
def test_tab_icon_shows_the_state_without_a_stream(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("status", allow=LOSSES, fresh=True)
    icon = page.locator("head link[rel=icon]")
    page.route("**/api/stream", lambda route: route.abort())
    page.reload()
    expect(page.locator(".connection[data-kind=polling]")).to_be_visible()
    expect(icon).to_have_attribute("data-state", "fine")
    for target in OUTPUT_OFF.made:
        twin.get(target)
    page.reload()
    expect(page.locator(".connection[data-kind=polling]")).to_be_visible()
    expect(icon).to_have_attribute("data-state", "attention")


def test_lost_connection_is_shown_and_restored(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("interface", allow=LOSSES)
    page.get_by_label("Name").first.fill("Lamp")
    page.context.set_offline(True)
    expect(page.get_by_role("alert")).to_contain_text("Connection lost since")
    # It takes no room from the name.
    page.set_viewport_size({"width": 1280, "height": 900})
    assert page.locator(".brand span").evaluate("(name) => name.clientWidth") > 80
    page.set_viewport_size({"width": DESKTOP[0], "height": DESKTOP[1]})
    page.get_by_role("button", name="Save").first.click()
    expect(page.locator("form.card .refusal")).to_contain_text("nothing was saved")
    page.context.set_offline(False)
    expect(page.locator(".connection[data-kind=live]")).to_be_visible()
    expect(page.locator(".lost")).to_have_count(0)
    page.get_by_label("Name").first.press("Enter")
    expect(page.locator("form.card").first.get_by_role("status")).to_have_text("Saved")
    assert twin.settings()["name"] == "Lamp"


@pytest.mark.thorough
def test_without_a_stream_the_state_is_read_at_the_interval_that_is_set(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/eeprom.cgi?word0=36")
    page = open_page("status", allow=LOSSES, fresh=True)
    page.route("**/api/stream", lambda route: route.abort())
    page.clock.install()
    page.reload()
    expect(page.locator(".connection[data-kind=polling]")).to_be_visible()
    expect(page.locator("main[aria-busy=false]")).to_be_visible()
    reads: list[str] = []
    page.on("request", lambda request: reads.append(request.url))
    # Of 360 s; a busy machine uses some of them.
    page.clock.run_for(300_000)
    assert [url for url in reads if url.endswith("/api/state")] == []
    with page.expect_response("**/api/state"):
        page.clock.run_for(61_000)


def test_count_of_findings_has_the_colour_of_the_worst(serve: Serve, open_page: OpenPage) -> None:
    twin = serve(sending=Sending(capture=False))
    page = open_page("status", of=twin)
    count = page.locator("nav.groups .finding-count")
    colour = "(one) => getComputedStyle(one).color"
    # A rule without a mail server can be repaired; a server that refuses is a fault.
    twin.get("/inpa.cgi?event=0*100*0*0*0*0*28*0*0*0*0*0*1*0*0*0&eventon=0*1")
    expect(count).to_have_attribute("data-kind", "attention")
    attention = count.evaluate(colour)
    twin.get("/stm.cgi?em1=127.0.0.1&em2=1&em5=keeper@example.org&em8=Open")
    twin.get("/stm.cgi?testemail=1")
    expect(count).to_have_attribute("data-kind", "fault")
    assert count.evaluate(colour) != attention


def test_limit_of_a_duration_is_written_as_people_write_it(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("interface")
    refresh = page.get_by_label("Refresh interval")
    field = page.locator(".field").filter(has=refresh)
    expect(field.locator(".hint")).to_contain_text("30 s to 3 d 19 h")
    refresh.fill("4 d")
    expect(field.get_by_role("alert")).to_contain_text("3 d 19 h")
    # What is allowed to the second can be typed to the second.
    refresh.fill("3 d 19 h 1 min 10 s")
    refresh.press("Enter")
    expect(page.locator("form.card").first.get_by_role("status")).to_have_text("Saved")
    expect(refresh).to_have_value("3 d 19 h 1 min 10 s")


def test_user_who_may_only_switch_sees_no_settings(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("status")
    sign_in_as_user(page, twin)
    page.get_by_role("switch", name="Output 1", exact=True).click()
    expect(page.get_by_role("switch", checked=True)).to_have_count(1)
    expect(page.get_by_role("link", name="Rules")).to_have_count(0)
    # A finding of a forbidden page is no part of why.
    as_admin = f"http://{HOST}:{twin.port}/inpa.cgi?event=0*103*1*1*0*0*28*0*0*0*0*0&eventon=0*1"
    requests.get(as_admin, auth=ADMIN, timeout=PATIENCE_S).raise_for_status()
    expect(page.locator(".finding-count").first).to_be_visible()
    page.goto(page.url.replace("#/status", "#/rules"))
    expect(page.get_by_text("This page is for the administrator.")).to_be_visible()
    expect(page.locator("main .findings")).to_have_count(0)


@pytest.mark.thorough
def test_day_has_twenty_four_hours(twin: ServedTwin, open_page: OpenPage) -> None:
    # English has other separators; logic/words.test.js looks at all languages.
    twin.get("/sim.cgi?advance=75600")
    twin.get("/inpa.cgi?event=0*102*0*0*0*0*3*0*0*0*0*0&eventon=0*1")
    twin.set_readings(INPD3=0)
    page = open_page("status")
    for name, route in (("rules", "rules"), ("system", "interface"), ("simulation", "simulation")):
        page.evaluate("(route) => (location.hash = `#/${route}`)", route)
        main = page.locator(f"main[data-page={name}][aria-busy=false]")
        expect(main).to_contain_text("21:00" if name == "rules" else "21:00:00")
        expect(main).not_to_contain_text(re.compile(r"\b[AP]M\b"))


def is_focused_within(page: Page, place: str) -> None:
    page.wait_for_function("(place) => document.activeElement?.closest(place)", arg=place)


@pytest.mark.thorough
def test_focus_stays_where_something_else_is_drawn(twin: ServedTwin, open_page: OpenPage) -> None:
    for index in range(3):
        twin.get(f"/inpa.cgi?event={index}*102*0*0*0*0*{index}*0*0*0*0*0")
    page = open_page("rules")
    page.locator("#rule-2").press("Enter")
    is_focused_within(page, "form.editor")
    page.keyboard.press("Escape")
    expect(page.locator("form.editor")).to_have_count(0)
    assert len(twin.settings()["rules"]) == 3
    page.get_by_role("link", name="Schedule").click()
    page.get_by_role("button", name="New entry").press("Enter")
    is_focused_within(page, "form.editing")


NAMES_BY_LANGUAGE = {
    **dict.fromkeys(("fr", "pl", "en"), "Greenhouse12"),
    **dict.fromkeys(("hu", "cs"), "Wohnzimmer 1"),
}
#: How much of the width that something wants it does not get.
MISSING = """(one) => {
    const { width } = one.getBoundingClientRect();
    one.style.cssText = "display: inline-block; width: max-content; flex: none";
    const wanted = one.getBoundingClientRect().width;
    one.style.cssText = "";
    return wanted - width;
}"""


@pytest.mark.thorough
def test_long_names_of_pages_leave_room_for_the_controllers_name(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    # A rule that sends mail without a server is a finding, which takes room, too.
    twin.get("/inpa.cgi?event=0*103*1*1*0*0*28*0*0*0*0*0&eventon=0*1")
    page = open_page("rules", viewport=(1280, 800))
    expect(page.locator(".finding-count").first).to_be_visible()
    for language, name in NAMES_BY_LANGUAGE.items():
        twin.get(f"/stm.cgi?sname={name}")
        choose_language(page, language)
        expect(page.locator(".brand span")).to_have_text(name)
        assert page.locator(".brand span").evaluate(MISSING) <= 0, language
        expect(page.locator("button.find")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), language


@pytest.mark.thorough
def test_longest_name_of_a_controller_is_seen_whole(twin: ServedTwin, open_page: OpenPage) -> None:
    twin.get("/stm.cgi?sname=Gewaechshaus-Bewaesserung-Nord2")
    page = open_page("status", language="fr", viewport=(1280, 800))
    for width, height in (PHONE, (1280, 800)):
        page.set_viewport_size({"width": width, "height": height})
        brand = page.locator(".brand span")
        expect(brand).to_have_text("Gewaechshaus-Bewaesserung-Nord2")
        cut = brand.evaluate(
            "(one) => [one.scrollWidth - one.clientWidth, one.scrollHeight - one.clientHeight]"
        )
        assert max(cut) <= 1, width
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
