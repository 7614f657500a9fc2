"""The PWM outputs page in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.clients.served_twin import ServedTwin, eventually
from tests.web.cards import card, save
from tests.web.conftest import REFUSALS, OpenPage, Serve

pytestmark = pytest.mark.needs_program("chromium")


def test_a_card_changes_its_own_output_alone(twin: ServedTwin, open_page: OpenPage) -> None:
    twin.get("/stm.cgi?pwmp=18")
    page = open_page("pwm")
    third = card(page, "PWM2")
    third.get_by_label("Name").fill("Fan")
    third.get_by_label("Duty that is set").fill("75")
    third.get_by_label("Change over").fill("12")
    third.get_by_label("Active low").check()
    third.get_by_label("On/off mode").check()
    save(third)
    page.reload()
    expect(third.get_by_label("On/off mode")).to_be_checked()
    outputs = twin.settings()["pwm"]
    assert outputs[2] == {
        "name": "Fan",
        "duty": 75,
        "active_low": True,
        "on_off_mode": True,
        "change_time": 12,
    }
    assert [one["active_low"] for one in outputs] == [False, True, True, False]
    assert [one["on_off_mode"] for one in outputs] == [True, False, True, False]


def test_lever_and_slider_act_at_once(twin: ServedTwin, open_page: OpenPage) -> None:
    first = card(open_page("pwm"), "PWM0")
    first.get_by_role("switch").filter(has_text="PWM0").click()
    expect(first.locator(".lever")).to_have_attribute("aria-checked", "true")
    first.locator("input[type=range]").fill("30")
    expect(first.locator(".duty output")).to_have_text("30 %")
    expect(first.get_by_label("Duty that is set")).to_have_value("30")
    eventually(lambda: twin.state()["PWM0"], 1)


def test_a_locked_output_says_why_it_does_not_move(twin: ServedTwin, open_page: OpenPage) -> None:
    twin.get("/stm.cgi?outblock=1")
    first = card(open_page("pwm", allow=REFUSALS), "PWM0")
    first.locator(".lever").click()
    expect(first.get_by_role("alert")).to_contain_text("locked")


@pytest.mark.thorough
def test_one_frequency_is_shared_and_its_range_is_that_of_the_version(
    twin: ServedTwin, serve: Serve, open_page: OpenPage
) -> None:
    frequency = card(open_page("pwm"), "Frequency")
    frequency.get_by_label("PWM0").fill("1")
    frequency.get_by_label("PWM1 – PWM3").fill("1000000")
    save(frequency)
    assert twin.settings()["pwm_frequency"] == [1, 1000000]

    older = card(open_page("pwm", of=serve("3.5", "1.36")), "Frequency")
    older.get_by_label("PWM0").fill("1")
    older.get_by_role("button", name="Save").click()
    expect(older.get_by_role("alert")).to_have_text("Out of range. Allowed: 50 to 100000.")


@pytest.mark.thorough
def test_a_version_without_a_change_time_has_no_field_for_it(
    serve: Serve, open_page: OpenPage
) -> None:
    first = card(open_page("pwm", of=serve("3.0", "1.58a")), "PWM0")
    expect(first.get_by_label("Duty that is set")).to_be_visible()
    expect(first.get_by_label("Change over")).to_have_count(0)
