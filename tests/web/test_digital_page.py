"""The Digital inputs page in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.clients.served_twin import ServedTwin
from tests.web.cards import card, save
from tests.web.conftest import OpenPage

pytestmark = pytest.mark.needs_program("chromium")


def test_a_card_changes_the_bits_of_its_own_input_alone(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("digital")
    third = card(page, "INPD3")
    third.get_by_label("Name").fill("Door")
    third.get_by_label("Pull-up").uncheck()
    third.get_by_label("Show negated").check()
    third.get_by_label("Bistable").check()
    third.get_by_label("Falls back after").fill("30")
    save(third)
    page.reload()
    expect(third.get_by_label("Bistable")).to_be_checked()
    inputs = twin.settings()["digital_inputs"]
    assert inputs[2] == {
        "name": "Door",
        "pull_up": False,
        "negate_display": True,
        "bistable": True,
        "bistable_time": 30,
    }
    assert [one["pull_up"] for one in inputs] == [True, True, False, True]


def test_the_impulse_time_of_each_pair_is_a_switch(twin: ServedTwin, open_page: OpenPage) -> None:
    pairs = card(open_page("digital"), "Impulse time")
    pairs.get_by_label("INPD3 + INPD4").check()
    save(pairs)
    assert twin.settings()["impulse_time"] == [False, True]


def test_the_level_shows_live_and_negated_where_it_is_so_set(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    level = card(open_page("digital"), "INPD1").locator(".reading")
    expect(level).to_contain_text("open")
    twin.set_readings(INPD1=0)
    expect(level).to_contain_text("closed")
    twin.get("/stm.cgi?inpdnn=1")
    expect(level.locator(".value")).to_have_text("open")
    expect(level).to_contain_text("the input is closed")
