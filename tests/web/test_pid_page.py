"""The PID regulator page in a real browser."""

import re

import pytest
from playwright.sync_api import expect

from tests.clients.served_twin import ServedTwin
from tests.web.cards import card, save
from tests.web.conftest import REFUSALS, OpenPage, Serve
from tests.web.own_menu import choose_language

pytestmark = pytest.mark.needs_program("chromium")


def test_regulator_is_set_up_as_a_whole(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("pid")
    setting = card(page, "Setting")
    setting.get_by_label("Regulate").check()
    setting.get_by_label("Input").select_option("DS1")
    setting.get_by_label("Target").fill("-21.5")
    setting.get_by_label("Controlled output").select_option("3")
    setting.get_by_label("Kp").fill("2.5")
    setting.get_by_label("Ki").fill("0.03")
    setting.get_by_label("Kd").fill("-0.04")
    # The picture follows what is typed.
    expect(page.locator(".step path.answer")).to_be_visible()
    status = page.locator(".step [role=status]").inner_text()
    setting.get_by_label("Ki").fill("0")
    expect(page.locator(".step [role=status]")).not_to_have_text(status)
    setting.get_by_label("Ki").fill("0.03")
    save(setting)
    page.reload()
    expect(setting.get_by_label("Controlled output")).to_have_value("3")
    assert twin.settings()["pid"] == {
        "enabled": True,
        "source": "DS1",
        "target": -21.5,
        "kp": 250,
        "ki": 3,
        "kd": -4,
        "pwm": 3,
    }
    page.get_by_role("switch", name="Regulator").click()
    expect(page.get_by_role("switch", name="Regulator")).to_have_attribute("aria-checked", "false")
    assert twin.settings()["pid"]["enabled"] is False


@pytest.mark.thorough
def test_step_response_uses_the_unit_of_the_input(open_page: OpenPage) -> None:
    page = open_page("pid")
    setting, step = card(page, "Setting"), page.locator(".step")
    setting.get_by_label("Input").select_option("DS1")
    expect(step).to_contain_text("target step of 1 °C")
    expect(step.get_by_label("Full duty changes the input by, °C")).to_be_visible()
    setting.get_by_label("Input").select_option("VCC")
    expect(step).to_contain_text("target step of 1 V")
    expect(step.get_by_label("Full duty changes the input by, V")).to_be_visible()


@pytest.mark.thorough
def test_regulator_state_is_shown_live(twin: ServedTwin, open_page: OpenPage) -> None:
    twin.set_readings(DS1=20)
    twin.get("/stm.cgi?pidvalue=1*10*300*200*0*0*1")
    twin.get("/stm.cgi?pname=1Heater")
    now = open_page("pid").locator(".card").first
    expect(now.locator(".legend")).to_contain_text("Duty of Heater")
    expect(now.locator(".reading .name", has_text="of Heater")).to_have_text("Duty of Heater")
    expect(now).to_contain_text("P 20.0 + I 0.0 + D 0.0")
    twin.set_readings(DS1=25)
    twin.get("/sim.cgi?advance=1")
    expect(now).to_contain_text("P 10.0 + I 0.0 + D 0.0")
    twin.set_readings(DS1=None)
    twin.get("/sim.cgi?advance=1")
    expect(now.get_by_text("The input has no value, so the duty is held.")).to_be_visible()


REFUSED = {
    "en": "Heater cannot be switched from outside while the outputs are locked; only ",
    "pl": "Heater nie można przełączyć z zewnątrz, gdy wyjścia są zablokowane; ",
}


def test_refused_gain_is_reported_in_the_names_of_the_form(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?pname=1Heater")
    twin.get("/stm.cgi?pidvalue=0*10*300*200*0*0*1")
    twin.get("/stm.cgi?outblock=1")
    page = open_page("pid", allow=REFUSALS)
    form = page.locator("form.card")
    form.get_by_label("Kp").fill("2.5")
    for language, text in REFUSED.items():
        choose_language(page, language)
        form.locator("footer .primary").click()
        refusal = form.get_by_role("alert")
        expect(refusal).to_contain_text(text)
        assert not re.search(r"PWM1|Field|cgi", refusal.inner_text())


@pytest.mark.thorough
def test_trend_is_drawn_and_continues(twin: ServedTwin, open_page: OpenPage) -> None:
    twin.set_readings(DS1=20)
    twin.get("/stm.cgi?pidvalue=1*10*300*200*0*0*1")
    page = open_page("pid")
    canvas = page.get_by_role("img").locator("canvas")
    expect(canvas).to_be_visible()
    before = canvas.evaluate("(canvas) => canvas.toDataURL()")
    twin.set_readings(DS1=29)
    twin.get("/sim.cgi?advance=30")
    page.wait_for_function(
        "(before) => document.querySelector('.trend canvas').toDataURL() !== before", arg=before
    )


@pytest.mark.thorough
def test_inputs_are_those_of_the_version(serve: Serve, open_page: OpenPage) -> None:
    def list_inputs(*version: str) -> set[str | None]:
        setting = card(open_page("pid", of=serve(*version)), "Setting")
        options = setting.get_by_label("Input").locator("option")
        expect(options).not_to_have_count(0)
        return {option.get_attribute("value") for option in options.all()}

    assert "POWER6" in list_inputs()
    assert list_inputs("3.5", "1.36") & {"POWER4", "POWER6"} == {"POWER4"}
    assert "POWER1" not in list_inputs("3.0", "1.58a")
