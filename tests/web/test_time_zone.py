"""Pages in a browser of another zone than the controller's: times are those of the place."""

import re
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.clients.served_twin import ServedTwin, eventually
from tests.web.cards import find_card
from tests.web.conftest import PHONE, OpenPage
from tests.web.test_rules_page import editor
from tests.web.test_schedule_page import MORNING, card, set_schedule

pytestmark = pytest.mark.needs_program("chromium")

WARSAW = "/stm.cgi?timezone=Europe%2FWarsaw"
#: Six hours behind Warsaw: while it is Monday there, it is still Sunday here.
FAR_AWAY = "America/New_York"
NOTE = "Times are in Europe/Warsaw (now 01:00); your time is 6 h behind."


def note(page: Page) -> Locator:
    return page.locator("main > .note.zone")


def show(page: Page, route: str) -> None:
    page.evaluate("(route) => { location.hash = route }", f"#/{route}")
    name = route.partition("?")[0]
    expect(page.locator(f"main[data-page={name}][aria-busy=false]")).to_be_visible()


@pytest.mark.thorough
def test_schedule_and_journal_use_the_time_of_the_place(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get(WARSAW)
    set_schedule(twin, MORNING)
    twin.get("/outs.cgi?out3=1")
    page = open_page("schedule?view=list", zone=FAR_AWAY)
    expect(note(page)).to_have_text(NOTE)
    expect(page.locator(".connection time")).to_have_text("01:00")
    expect(card(page, "Morning").locator(".next")).to_contain_text("Next: 06:00")

    show(page, "schedule")
    today = page.locator(".week li.today")
    expect(today.locator(".d")).to_have_text("Mon5")
    expect(today.locator(".now-line")).to_have_text("01:00")

    show(page, "log")
    expect(note(page)).to_have_text(NOTE)
    expect(page.locator(".journal h3").first).to_have_text("Today")
    switched = page.locator(".journal li").filter(has_text="Output 3")
    expect(switched.first.locator("time")).to_have_text("01:00")

    # An hour before midnight of the place it is still today, an hour later yesterday.
    twin.get(f"/sim.cgi?advance={22 * 3600}")
    expect(page.locator(".journal h3").first).to_have_text("Today")
    twin.get("/sim.cgi?advance=3600")
    expect(page.locator(".connection time")).to_have_text("00:00")
    expect(page.locator(".journal h3").filter(has_text="Monday 5 January")).to_have_text(
        "Yesterday, Monday 5 January"
    )


@pytest.mark.thorough
def test_windows_of_rules_and_tables_of_charts_go_by_the_place(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get(WARSAW)
    twin.set_readings(DS1=20)
    twin.get(f"/sim.cgi?advance={23 * 3600}")
    # Midnight there, and six in the evening here: the night has begun.
    page = open_page("rules", zone=FAR_AWAY)
    page.get_by_role("button", name="Thermostat").click()
    form = editor(page)
    form.get_by_role("button", name="time of day").click()
    truth = form.locator(".line").filter(has=page.get_by_label("Time window", exact=True))
    expect(truth.locator(".truth")).to_contain_text("00:00")
    expect(truth.locator(".truth")).to_have_attribute("data-holds", "yes")
    form.get_by_role("button", name="Cancel").click()

    show(page, "charts?labels=DS1")
    table = page.get_by_role("link", name="Download as CSV")
    expect(table).to_have_attribute("href", re.compile("zone=Europe(%2F|/)Warsaw"))


@pytest.mark.thorough
def test_end_of_a_hold_is_shown_in_the_time_of_the_place(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get(WARSAW)
    page = open_page("status", zone=FAR_AWAY)
    expect(note(page)).to_have_text(NOTE)
    page.locator("summary[aria-label='Output 0: on for']").click()
    menu = page.locator("details.pulse").first
    menu.get_by_role("textbox").fill("22:00")
    menu.get_by_role("button", name="Switch on").click()
    eventually(lambda: twin.state()["returns_in"].get("OUT0"), 21 * 3600)
    lever = page.get_by_role("switch", name="Output 0", exact=True)
    expect(lever).to_contain_text("until 22:00")


@pytest.mark.thorough
def test_typed_moment_is_one_of_the_place(twin: ServedTwin, open_page: OpenPage) -> None:
    twin.get(WARSAW)
    page = open_page("interface", zone=FAR_AWAY)
    clock = find_card(page, "Clock")
    expect(clock.locator(".note.zone")).to_have_text(NOTE)
    clock.get_by_label("Another time").fill("2026-07-01T12:30:00")
    clock.get_by_role("button", name="Set to that time").click()
    summer = datetime(2026, 7, 1, 10, 30, tzinfo=UTC).timestamp()
    eventually(lambda: twin.state()["time"], summer)
    expect(clock.locator(".value")).to_contain_text("12:30:00")
    clock.get_by_role("button", name="Set to the time of this browser").click()
    eventually(lambda: abs(twin.state()["time"] - datetime.now(UTC).timestamp()) < 60, True)

    show(page, "simulation")
    time = find_card(page, "Time")
    later = datetime.fromtimestamp(twin.state()["time"] + 3 * 86_400, UTC)
    time.get_by_label("To date and time").fill(f"{later:%Y}-12-31 18:00")
    time.get_by_role("button", name="Go there").click()
    winter = datetime(later.year, 12, 31, 17, tzinfo=UTC).timestamp()
    eventually(lambda: twin.state()["time"], winter)


@pytest.mark.thorough
def test_nothing_is_said_where_the_clocks_agree(twin: ServedTwin, open_page: OpenPage) -> None:
    twin.get(WARSAW)
    page = open_page("schedule", zone="Europe/Berlin")
    expect(page.locator(".connection time")).to_have_text("01:00")
    expect(note(page)).to_have_count(0)
    show(page, "console")
    expect(note(page)).to_have_count(0)


def test_zone_is_followed_as_soon_as_it_is_chosen(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("status", zone="Asia/Kolkata", viewport=PHONE)
    expect(note(page)).to_contain_text("Times are in UTC (now 00:00)")
    expect(note(page)).to_contain_text("your time is 5 h 30 min ahead.")
    # It was not chosen: an administrator gets a link.
    note(page).get_by_role("link", name="Choose the time zone").click()
    expect(find_card(page, "Time zone")).to_be_visible()
    twin.get(WARSAW)
    show(page, "status")
    expect(note(page)).to_have_text(
        "Times are in Europe/Warsaw (now 01:00); your time is 4 h 30 min ahead."
    )
    twin.get("/stm.cgi?timezone=Asia%2FKolkata")
    expect(note(page)).to_have_count(0)
