"""The Schedule page in a real browser: entries as sentences, with their next run, and edited."""

import re
from contextlib import suppress

import pytest
import requests
from playwright.sync_api import Locator, Page, expect

from tests.clients.served_twin import HOST, ServedTwin, eventually
from tests.patience import PATIENCE_S
from tests.web.conftest import LOSSES, PHONE, OpenPage, Serve
from tests.web.own_menu import choose_language
from tests.web.test_pages import AXE, grave_violations

pytestmark = pytest.mark.needs_program("chromium")

MORNING = "&s0=Morning*0*1*21600*0*31*1&&"


def set_schedule(twin: ServedTwin, body: str) -> None:
    url = f"http://{HOST}:{twin.port}/post.cgi?sched_save"
    requests.post(url, data=body.encode(), timeout=PATIENCE_S).raise_for_status()


def card(page: Page, name: str) -> Locator:
    return page.get_by_role("article", name=name)


def editor(page: Page) -> Locator:
    return page.locator("form.editing")


def test_entry_shows_its_runs_and_is_edited_switched_off_and_deleted(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    set_schedule(twin, MORNING.replace("&&", "&s4=Evening*0*0*79200*0*31*1&&"))
    page = open_page("schedule?view=list")
    entry, form = card(page, "Morning"), editor(page)
    expect(entry.locator(".sentence")).to_have_text("At 06:00, on weekdays: set Output 0 on.")
    expect(entry.locator(".next")).to_contain_text("Next: 06:00")
    twin.get("/sim.cgi?advance=30000")
    expect(entry.locator(".next")).to_contain_text("Next: Jan 6 06:00")
    expect(entry.locator(".next")).to_contain_text("Last: 06:00")

    # It can run on a date, or again and again.
    entry.get_by_role("button", name="Edit").click()
    form.get_by_label("Repeats").select_option("date")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_have_text("Choose the date on which it runs.")
    form.get_by_label("Date").fill("2027-03-01")
    form.get_by_role("button", name="Save").click()
    expect(card(page, "Morning").locator(".sentence")).to_contain_text("on Mar 1, 2027")
    assert twin.settings()["schedule"][0]["date"] == "2027-03-01"

    card(page, "Morning").get_by_role("button", name="Edit").click()
    form.get_by_label("Repeats").select_option("period")
    form.get_by_label("Period").fill("0")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_contain_text("Allowed: 1 s to 1 d")
    form.get_by_label("Period").fill("1 min 30 s")
    form.get_by_role("button", name="Save").click()
    expect(card(page, "Morning").locator(".sentence")).to_contain_text("Every 1 min 30 s from")

    entry.get_by_role("switch", name="Morning is on").click()
    expect(entry.locator(".next")).to_have_text("Off: does not run.")
    assert twin.settings()["schedule"][0]["active"] is False
    entry.get_by_role("button", name="Delete").click()
    expect(entry).to_contain_text("The entry will be lost.")
    entry.get_by_role("button", name="Delete").click()
    expect(entry).to_have_count(0)
    expect(card(page, "Evening")).to_be_visible()
    assert twin.settings()["schedule"][4]["name"] == "Evening"


def test_entry_missed_by_a_power_cut_is_reported_and_caught_up_if_chosen(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    set_schedule(twin, MORNING.replace("&&", "&s1=Morning*0*0*79200*0*31*1&&"))
    page = open_page("schedule?view=list", allow=rf"{LOSSES}|was preloaded using link preload")

    def cut_power_at_six() -> None:
        until_six = (21_590 - twin.state()["time"]) % 86_400
        twin.get(f"/sim.cgi?advance={until_six}")
        # The request that passes the time loses its connection, as all do.
        with suppress(requests.ConnectionError):
            twin.get("/sim.cgi?fault=reboot*takes:20s&advance=60")

    cut_power_at_six()
    expect(card(page, "Morning").locator(".next")).to_contain_text("Missed: 06:00")
    finding = page.locator(".finding")
    expect(finding).to_contain_text("Schedule entry Morning did not run on")
    assert twin.state()["OUT0"] == 0
    page.get_by_label("Catch up entries").check()
    eventually(lambda: twin.settings()["schedule_catch_up"], True)
    cut_power_at_six()
    expect(card(page, "Morning").locator(".next")).to_contain_text("caught up: 06:00")
    expect(finding).to_contain_text("It was caught up on")
    assert twin.state()["OUT0"] == 1


def test_new_entry_is_refused_without_a_day_and_saved_beside_the_others(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("schedule?view=list")
    expect(page.get_by_text("Nothing is scheduled yet.")).to_be_visible()
    set_schedule(twin, MORNING)
    expect(card(page, "Morning")).to_be_visible()
    page.get_by_role("button", name="New entry").click()
    form = editor(page)
    form.get_by_label("Name").fill("A name of more than fifteen letters")
    for day in ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"):
        form.get_by_role("button", name=day).click()
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert").nth(0)).to_contain_text("At most 15 characters; this has 35.")
    expect(form.get_by_role("alert").nth(1)).to_have_text("Choose at least one day.")
    assert twin.settings()["schedule"][1] is None
    form.get_by_label("Name").fill("Abend *&=")
    form.get_by_label("Action").select_option("EVENT2")
    form.get_by_label("Value").select_option("2")
    form.get_by_label("Time of day").fill("19:30:05")
    for day in ("Sat", "Sun"):
        form.get_by_role("button", name=day).click()
    form.get_by_role("button", name="Save").click()
    expect(card(page, "Abend").locator(".sentence")).to_have_text(
        "At 19:30:05, at the weekend: reverse Variable 2."
    )
    first, second = twin.settings()["schedule"][:2]
    assert first["name"] == "Morning"
    assert second == {
        "name": "Abend *&=",
        "action": "EVENT2",
        "value": 2,
        "time": 70205,
        "date": None,
        "days": ["Sat", "Sun"],
        "periodic": False,
        "active": True,
    }


@pytest.mark.thorough
def test_span_is_written_switched_and_deleted_as_one(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("schedule?view=list")
    page.get_by_role("button", name="New entry").click()
    form = editor(page)
    form.get_by_label("Name").fill("Light")
    form.get_by_label("Time of day").fill("half past six")
    form.get_by_role("button", name="off again at").click()
    form.get_by_label("Off again at").fill("6:30")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_have_text("Enter the time like 6:30 or 22:00.")
    form.get_by_label("Time of day").fill("22:00")
    form.get_by_role("button", name="Save").click()
    entry = card(page, "Light")
    expect(entry.locator(".sentence")).to_have_text(
        "From 22:00 to 06:30, every day: set Output 0 on."
    )
    expect(entry.locator(".next")).to_have_text("Next: 06:30, off")
    begin, end = twin.settings()["schedule"][:2]
    assert (begin["time"], begin["value"]) == (79200, 1)
    assert (end["time"], end["value"], end["name"]) == (23400, 0, "Light")

    entry.get_by_role("switch").click()
    expect(entry.locator(".next")).to_have_text("Off: does not run.")
    assert [one["active"] for one in twin.settings()["schedule"][:2]] == [False, False]
    entry.get_by_role("button", name="Edit").click()
    form.get_by_role("button", name="Do not switch it off again").click()
    form.get_by_role("button", name="Save").click()
    expect(entry.locator(".sentence")).to_have_text("At 22:00, every day: set Output 0 on.")
    assert twin.settings()["schedule"][1] is None


@pytest.mark.thorough
def test_older_version_offers_what_it_has(serve: Serve, open_page: OpenPage) -> None:
    form = editor(open_page("schedule?new", of=serve("3.0", "1.58a")))
    expect(form.locator("option[value=EVENT4]")).to_have_count(1)
    expect(form.locator("option[value=EVENT5]")).to_have_count(0)
    expect(form.get_by_label("Value").locator("option")).to_have_count(2)


@pytest.mark.thorough
def test_week_shows_spans_that_are_dragged_by_keys_copied_and_put_back(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get(
        "/inpa.cgi?schedset=0*Day*2*1*25200*0*31*1&schedset=1*Day*2*0*72000*0*31*1"
        "&schedset=2*Water*1*1*23400*0*127*1"
    )
    page = open_page("schedule")
    spans = page.locator(".t .span")
    expect(spans).to_have_count(5)
    expect(page.locator(".t .moment")).to_have_count(7)
    spans.first.press("ArrowRight")
    expect(spans.first).to_have_attribute("aria-label", "Day: 07:05 to 20:05, on weekdays")
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(spans.first).to_have_attribute("aria-label", "Day: 07:00 to 20:00, on weekdays")
    place = spans.first.bounding_box()
    track = page.locator(".t").first.bounding_box()
    assert place is not None
    assert track is not None
    x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + track["width"] / 24, y, steps=4)
    expect(spans.first).to_have_text("08:00 – 21:00")
    text_box, drawn = spans.first.locator("span").bounding_box(), spans.first.bounding_box()
    assert text_box is not None
    assert drawn is not None
    assert (
        drawn["y"]
        <= text_box["y"]
        < text_box["y"] + text_box["height"]
        <= drawn["y"] + drawn["height"]
    )
    page.mouse.up()
    expect(spans.first).to_have_text("Day")
    expect(spans.first).to_have_attribute("aria-label", "Day: 08:00 to 21:00, on weekdays")
    # Back where the drag began, it is as it was, and chosen as by a press.
    x += track["width"] / 24
    page.mouse.move(x, y)
    page.mouse.down()
    for place_of_mouse in (x + track["width"] / 24, x):
        page.mouse.move(place_of_mouse, y, steps=4)
    page.mouse.up()
    expect(spans.first).to_have_attribute("aria-pressed", "true")
    expect(spans.first).to_have_attribute("aria-label", "Day: 08:00 to 21:00, on weekdays")
    page.get_by_role("button", name="every day", exact=True).click()
    expect(spans).to_have_count(7)
    stored = twin.settings()["schedule"]
    assert [(entry["time"], len(entry["days"])) for entry in stored[:2]] == [(28800, 7), (75600, 7)]
    assert stored[2]["time"] == 23400


@pytest.mark.thorough
def test_span_is_drawn_over_an_empty_part_of_a_day(twin: ServedTwin, open_page: OpenPage) -> None:
    twin.get("/inpa.cgi?schedset=0*Water*1*1*23400*0*127*1")
    page = open_page("schedule")
    track = page.locator(".t").nth(2)

    def draw(first: float, last: float) -> None:
        # What is being written stands beside the week, which is narrower then.
        box = track.bounding_box()
        assert box is not None
        y, hour = box["y"] + box["height"] - 10, box["width"] / 24
        page.mouse.move(box["x"] + first * hour, y)
        page.mouse.down()
        page.mouse.move(box["x"] + last * hour, y, steps=4)

    draw(18, 12)
    expect(track.locator(".drawn")).to_have_text("12:00 – 18:00")
    page.mouse.up()
    form = editor(page)
    expect(form.get_by_label("Time of day")).to_have_value("12:00")
    expect(form.get_by_label("Off again at")).to_have_value("18:00")
    form.get_by_label("Name").fill("Light")
    # Other hours for what is being written: nothing that was typed is lost.
    draw(13, 17)
    page.mouse.up()
    expect(form.get_by_label("Time of day")).to_have_value("13:00")
    form.get_by_role("button", name="on weekdays").click()
    form.get_by_role("button", name="Save").click()
    expect(page.locator(".t .span").first).to_have_attribute(
        "aria-label", "Light: 13:00 to 17:00, on weekdays"
    )
    expect(page).to_have_url(re.compile(r"#/schedule$"))


@pytest.mark.thorough
def test_foreign_change_is_shown_with_both_values(twin: ServedTwin, open_page: OpenPage) -> None:
    set_schedule(twin, MORNING)
    page = open_page("schedule?view=list")
    card(page, "Morning").get_by_role("button", name="Edit").click()
    editor(page).locator("input").first.fill("Dawn")
    note = editor(page).locator(".foreign")
    expect(note).to_have_count(0)
    set_schedule(twin, MORNING.replace("21600", "25200"))
    expect(note.locator("dd")).to_have_text(
        [
            "At 06:00, on weekdays: set Output 0 on.",
            "At 07:00, on weekdays: set Output 0 on.",
        ]
    )
    # What the sentence leaves out is shown by its setting.
    set_schedule(twin, MORNING.replace("*31*1", "*31*0"))
    expect(note.locator("dd").first).to_contain_text(": on")
    expect(note.locator("dd").last).to_contain_text(": off")
    expect(editor(page).locator("input").first).to_have_value("Dawn")


@pytest.mark.thorough
def test_entry_at_midnight_leaves_the_day_legible(twin: ServedTwin, open_page: OpenPage) -> None:
    # Days of two figures take the most room.
    twin.get("/sim.cgi?advance=604800")
    twin.get("/inpa.cgi?schedset=0*Night*0*1*0*0*127*1")
    page = open_page("schedule")
    for language in ("fr", "hu"):
        choose_language(page, language)
        gaps = page.locator(".week ol > li").evaluate_all(
            """(rows) => rows.map((row) => row.querySelector(".moment").getBoundingClientRect().left
            - row.querySelector(".d").getBoundingClientRect().right)"""
        )
        assert len(gaps) == 7
        # Half of the diamond stands before midnight.
        assert min(gaps) > 10, language


@pytest.mark.thorough
def test_on_a_phone_a_row_opens_the_day_as_a_list(twin: ServedTwin, open_page: OpenPage) -> None:
    twin.get("/inpa.cgi?schedset=2*Water*1*1*23400*0*127*1")
    page = open_page("schedule", viewport=PHONE)
    # The whole row is the target, also where something is drawn.
    page.locator(".t").nth(2).click(force=True)
    page.locator(".day-list").get_by_role("button", name="Water: at 06:30, every day").click()
    expect(page.get_by_role("article", name="Water")).to_be_visible()
    page.evaluate(AXE)
    assert grave_violations(page, []) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.thorough
def test_back_closes_an_editor_and_asks_only_where_something_was_typed(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    set_schedule(twin, MORNING)
    page = open_page("schedule?view=list")
    form, question = editor(page), page.get_by_role("button", name="Stay")
    for begins in ("Edit", "New entry"):
        page.locator("main").get_by_role("button", name=begins).click()
        expect(form).to_be_visible()
        page.go_back()
        expect(form).to_have_count(0)
        assert page.url.endswith("#/schedule?view=list")
    page.locator("main").get_by_role("button", name="Edit").click()
    form.get_by_label("Name").fill("Noon")
    page.go_back()
    expect(question).to_be_visible()
    expect(form.get_by_label("Name")).to_have_value("Noon")


@pytest.mark.thorough
def test_one_entry_is_edited_at_a_time_and_back_closes_that_one(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    set_schedule(twin, MORNING)
    page = open_page("schedule?view=list")
    form, main = editor(page), page.locator("main")
    main.get_by_role("button", name="Edit").click()
    expect(form.get_by_role("heading")).to_have_text("Morning")
    page.get_by_role("button", name="New entry").click()
    expect(form.get_by_role("heading")).to_have_text("New schedule entry")
    page.go_back()
    expect(form.get_by_role("heading")).to_have_text("Morning")
    page.go_back()
    expect(form).to_have_count(0)
    assert page.url.endswith("#/schedule?view=list")

    # What was typed in one is asked about before another is opened.
    main.get_by_role("button", name="Edit").click()
    form.get_by_label("Name").fill("Noon")
    page.get_by_role("button", name="New entry").click()
    page.get_by_role("button", name="Stay").click()
    expect(form.get_by_label("Name")).to_have_value("Noon")
    page.get_by_role("button", name="New entry").click()
    page.get_by_role("button", name="Leave without saving").click()
    expect(form.get_by_role("heading")).to_have_text("New schedule entry")
    form.get_by_role("button", name="Cancel").click()
    expect(form).to_have_count(0)
    assert [entry["name"] for entry in twin.settings()["schedule"] if entry] == ["Morning"]


@pytest.mark.thorough
def test_entry_added_elsewhere_keeps_its_place(twin: ServedTwin, open_page: OpenPage) -> None:
    set_schedule(twin, MORNING)
    page = open_page("schedule?view=list")
    form = editor(page)
    page.get_by_role("button", name="New entry").click()
    form.get_by_label("Name").fill("Own")
    form.get_by_role("button", name="off again at").click()
    for place in (1, 2):
        twin.get(f"/inpa.cgi?schedset={place}*Other*1*1*72000*0*31*1")
    expect(card(page, "Other")).to_have_count(2)
    expect(form.get_by_label("Name")).to_have_value("Own")
    form.get_by_role("button", name="Save").click()
    expect(card(page, "Own")).to_be_visible()
    names = [entry["name"] for entry in twin.settings()["schedule"] if entry]
    assert sorted(names) == ["Morning", "Other", "Other", "Own", "Own"]


@pytest.mark.thorough
def test_last_place_taken_elsewhere_is_kept(twin: ServedTwin, open_page: OpenPage) -> None:
    last = len(twin.settings()["schedule"]) - 1
    for place in range(last):
        twin.get(f"/inpa.cgi?schedset={place}*Other*1*1*72000*0*31*1")
    page = open_page("schedule?view=list")
    form = editor(page)
    page.get_by_role("button", name="New entry").click()
    form.get_by_label("Name").fill("Own")
    twin.get(f"/inpa.cgi?schedset={last}*Last*1*1*72000*0*31*1")
    all_used = f"All {last + 1} entries are used."
    expect(page.locator("main")).to_contain_text(all_used)
    form.get_by_role("button", name="Save").click()
    expect(form).to_contain_text(all_used)
    expect(form.get_by_label("Name")).to_have_value("Own")
    assert twin.settings()["schedule"][last]["name"] == "Last"


@pytest.mark.thorough
def test_question_is_about_the_entry_that_it_was_asked_for(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    set_schedule(twin, MORNING)
    page = open_page("schedule?view=list")
    asked = page.get_by_text("The entry will be lost.")
    card(page, "Morning").get_by_role("button", name="Delete").click()
    expect(asked).to_be_visible()
    # Another user changes something that does not concern it, then the entry itself.
    twin.get("/stm.cgi?oname=0Pump")
    expect(card(page, "Morning").locator(".sentence")).to_contain_text("Pump")
    expect(asked).to_be_visible()
    twin.get("/inpa.cgi?schedset=0*Evening*0*1*72000*0*31*1")
    expect(card(page, "Evening").get_by_role("button", name="Delete")).to_be_visible()
    expect(asked).to_have_count(0)


@pytest.mark.thorough
def test_editor_that_was_left_is_no_step_back(twin: ServedTwin, open_page: OpenPage) -> None:
    set_schedule(twin, MORNING)
    page = open_page("status")
    page.locator("nav.groups").get_by_role("link", name="Schedule").click()
    page.get_by_role("button", name="List").click()
    form = editor(page)
    for begins, ends in (("Edit", "Cancel"), ("New entry", "Cancel"), ("Edit", "Save")):
        page.locator("main").get_by_role("button", name=begins).click()
        form.get_by_label("Name").fill("Noon")
        form.get_by_role("button", name=ends).click()
        expect(form).to_have_count(0)
        expect(page).to_have_url(re.compile(r"#/schedule\?view=list$"))
    page.go_back()
    expect(page.locator("main[data-page=status]")).to_be_visible()
