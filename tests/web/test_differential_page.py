"""The Differential readings page in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.clients.served_twin import ServedTwin
from tests.web.cards import card, save
from tests.web.conftest import OpenPage, Serve

pytestmark = pytest.mark.needs_program("chromium")


def test_a_reading_is_made_of_two_others(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("differential")
    fourth = card(page, "DIFF4")
    fourth.get_by_label("Name").fill("Gain")
    fourth.get_by_label("First input").select_option("T1")
    fourth.get_by_label("Operation").select_option("/")
    fourth.get_by_label("Second input").select_option("DIFF1")
    save(fourth)
    page.reload()
    expect(fourth.get_by_label("Second input")).to_have_value("DIFF1")
    assert twin.settings()["differentials"][3] == {
        "name": "Gain",
        "first": "T1",
        "operator": "/",
        "second": "DIFF1",
    }


def test_the_result_shows_live_with_what_makes_it_up(twin: ServedTwin, open_page: OpenPage) -> None:
    twin.get("/inpa.cgi?diffsel=0*12*0*24")
    reading = card(open_page("differential"), "DIFF1").locator(".reading")
    twin.set_readings(T1=21.5, VCC=12)
    expect(reading).to_contain_text("9.50")
    expect(reading).to_contain_text("21.5 − 12.00")


@pytest.mark.parametrize("version", [("3.0", "1.58a"), ("3.5", "1.36")])
@pytest.mark.thorough
def test_older_versions_choose_the_inputs_of_three_readings_one_by_one(
    serve: Serve, open_page: OpenPage, version: tuple[str, str]
) -> None:
    older = serve(*version)
    page = open_page("differential", of=older)
    expect(page.locator("form.card")).to_have_count(3)
    expect(page.get_by_label("Name")).to_have_count(0)
    second = card(page, "DIFF2")
    second.get_by_label("First input").select_option("DS1")
    second.get_by_label("Operation").select_option("*")
    second.get_by_label("Second input").select_option("DS2")
    save(second)
    saved = older.settings()["differentials"][1]
    assert (saved["first"], saved["operator"], saved["second"]) == ("DS1", "*", "DS2")
