"""The Analog inputs page in a real browser."""

import pytest
from playwright.sync_api import Page, expect

from tests.clients.served_twin import ServedTwin
from tests.web.cards import card, save
from tests.web.conftest import REFUSALS, OpenPage, Serve

pytestmark = pytest.mark.needs_program("chromium")


def test_every_field_of_an_input_is_saved(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("analog")
    first = card(page, "INPA1")
    first.get_by_label("Name").fill("Boiler")
    first.get_by_label("Sensor").select_option("vin=3.3V/5V")
    first.get_by_label("Gain").select_option("50")
    first.get_by_label("Multiplier").fill("1,5")
    first.get_by_label("Calibration").fill("-20")
    save(first)
    page.reload()
    expect(first.get_by_label("Multiplier")).to_have_value("1.5")
    assert twin.settings()["analog_inputs"][0] == {
        "name": "Boiler",
        "sensor": "vin=3.3V/5V",
        "gain": 50,
        "calibration": -20,
        "multiplier": 1.5,
    }


def test_the_value_shows_live_with_the_voltage_at_the_pin(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/inpa.cgi?sensor=21&multiplier=2200")
    reading = card(open_page("analog"), "INPA3").locator(".reading")
    twin.set_readings(INPA3=1.25)
    expect(reading).to_contain_text("2.50")
    expect(reading).to_contain_text("at the pin: 1.250 V")


def test_a_gain_that_the_sensor_does_not_have_is_refused_beside_it(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("analog", allow=REFUSALS)
    second = card(page, "INPA2")
    second.get_by_label("Gain").select_option("10")
    second.get_by_role("button", name="Save").click()
    field = second.locator(".field").filter(has=page.get_by_label("Gain"))
    expect(field.get_by_role("alert")).to_contain_text("INPA2 has the sensor off")
    assert twin.settings()["analog_inputs"][1]["gain"] == 1


def test_only_inputs_with_an_amplifier_have_a_gain(open_page: OpenPage) -> None:
    page = open_page("analog")
    expect(card(page, "INPA4").get_by_label("Gain")).to_be_visible()
    expect(card(page, "INPA5").get_by_label("Gain")).to_have_count(0)


@pytest.mark.thorough
def test_the_sensors_are_those_of_the_version_and_of_the_input(
    serve: Serve, open_page: OpenPage
) -> None:
    newest, older = open_page("analog"), open_page("analog", of=serve("3.0", "1.58a"))

    def offered(page: Page, label: str, sensor: str) -> int:
        sensors = card(page, label).get_by_label("Sensor")
        return sensors.locator(f"option[value='{sensor}']").count()

    assert offered(newest, "INPA1", "HV DC meter") == 1
    assert offered(older, "INPA1", "HV DC meter") == 0
    assert offered(newest, "INPA1", "4..20mA") == 0
    assert offered(newest, "INPA5", "4..20mA") == 1
