"""Pages and clock in a real browser: homepage, name, the clock."""

from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from tests.clients.served_twin import ServedTwin
from tests.web.cards import find_card
from tests.web.conftest import REFUSALS, OpenPage, Serve

pytestmark = pytest.mark.needs_program("chromium")


HOMEPAGES = {
    "Status for user": "panel",
    "Serial port": "things",
    "Status": "status",
    "Modbus": "things",
}


@pytest.mark.thorough
def test_address_without_a_page_opens_the_homepage(open_page: OpenPage) -> None:
    page = open_page("interface")
    address = page.url.partition("#")[0]
    for chosen, opened in HOMEPAGES.items():
        page.get_by_label("First page").select_option(chosen)
        find_card(page, "Pages").get_by_role("button", name="Save").click()
        expect(find_card(page, "Pages").get_by_role("status")).to_have_text("Saved")
        page.evaluate("location.hash = ''")
        expect(page.locator(f"main[data-page={opened}]")).to_be_visible()
        page.evaluate("location.hash = '#/interface'")
    # The same in a fresh browser.
    page.goto(f"{address}health")
    page.goto(address)
    expect(page.locator(f"main[data-page={opened}]")).to_be_visible()


@pytest.mark.thorough
def test_older_homepage_is_chosen_where_the_version_has_it(
    serve: Serve, open_page: OpenPage
) -> None:
    old = serve("3.5", "1.36")
    page = open_page("interface", of=old)
    expect(page.get_by_label("Show only names")).to_have_count(0)
    page.get_by_label("First page").select_option("Status for user")
    find_card(page, "Pages").get_by_role("button", name="Save").click()
    expect(find_card(page, "Pages").get_by_role("status")).to_have_text("Saved")
    settings = old.settings()
    assert (settings["ui"]["homepage"], settings["variables"]["bits"][2]) == ("Status for user", 1)
    page = open_page("accounts", of=old)
    expect(page.get_by_label("Sign the administrator in automatically")).to_be_visible()


def test_time_zone_is_set_and_an_unknown_one_is_rejected(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("interface", allow=REFUSALS)
    card = find_card(page, "Time zone")
    card.get_by_role("textbox").fill("Europe/Nowhere")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("alert")).to_contain_text("is not a time zone of this machine")
    expect(card.get_by_role("alert")).not_to_contain_text("Field")
    card.get_by_role("textbox").fill("Europe/Prague")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("status")).to_have_text("Saved")
    assert twin.settings()["timezone"] == "Europe/Prague"


def test_name_and_clock_are_set_and_shown(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("interface")
    page.get_by_label("Name of the controller").fill("Boiler room")
    find_card(page, "Pages").get_by_role("button", name="Save").click()
    expect(find_card(page, "Pages").get_by_role("status")).to_have_text("Saved")
    expect(page.locator(".brand")).to_have_text("Boiler room")
    assert twin.get("/json/network.json").json()["sname"] == "Boiler room"

    clock = find_card(page, "Clock")
    # It is typed in the same way in every language, not with a picker of the browser.
    clock.get_by_label("Another time").fill("March")
    expect(clock.get_by_role("button", name="Set to that time")).to_be_disabled()
    clock.get_by_label("Another time").fill("2026-03-01 12:30")
    clock.get_by_role("button", name="Set to that time").click()
    expect(clock.get_by_role("status").last).to_have_text("The clock was set.")
    # The tests' controller lives in UTC; the command takes the wall time.
    assert twin.state()["time"] == datetime(2026, 3, 1, 12, 30, tzinfo=UTC).timestamp()
    expect(clock.locator(".value")).to_contain_text("2026")
    expect(clock.locator(".since")).to_contain_text("behind this browser")
