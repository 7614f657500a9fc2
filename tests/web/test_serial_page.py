"""The pages of sensors on I2C and the serial port: detect them, choose them, see what they say."""

import pytest
from playwright.sync_api import expect

from tests.clients.served_twin import ServedTwin
from tests.web.conftest import OpenPage

pytestmark = pytest.mark.needs_program("chromium")


@pytest.mark.parametrize("page_name", ["i2c", "weather"])
def test_the_connected_sensor_is_detected_and_its_readings_shown(
    twin: ServedTwin, open_page: OpenPage, page_name: str
) -> None:
    twin.get("/sim.cgi?i2c=BME280&T1=21.5&H1=54")
    page = open_page(page_name)
    page.get_by_role("button", name="Detect the sensor").click()
    expect(page.get_by_text("Looked for a sensor")).to_be_visible()
    assert twin.settings()["i2c"]["primary"] == "BME280"
    expect(page.locator(".reading .value", has_text="21.5")).to_be_visible()
    twin.set_readings(T1=22.5)
    expect(page.locator(".reading .value", has_text="22.5")).to_be_visible()


def test_the_particulate_sensor_is_chosen_beside_the_primary_one(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("i2c")
    card = page.locator("form.card", has=page.get_by_role("heading", name="Sensors"))
    card.get_by_label("Sensor of T1, H1 and P1").select_option("AM2320")
    card.get_by_label("Dust sensor SPS30").check()
    card.get_by_role("button", name="Save").click()
    expect(page.locator(".reading", has_text="PM10.0")).to_be_visible()
    assert twin.settings()["i2c"] == {"primary": "AM2320", "sps30": True, "frequency": 100}


def test_the_readings_are_those_of_the_chosen_module(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("serial")
    expect(page.locator(".empty")).to_contain_text("No module is chosen")
    twin.set_readings(CO2=640)
    twin.get("/stm.cgi?usart_sensor=4")
    expect(page.locator(".reading")).to_have_text("CO2 640ppm")


def test_the_last_scanned_code_is_shown_as_text(twin: ServedTwin, open_page: OpenPage) -> None:
    twin.get("/stm.cgi?usart_sensor=6")
    page = open_page("serial")
    twin.get("/sim.cgi?barcode=%3Cb%3E4006381333931")
    expect(page.locator(".reading .value")).to_have_text("<b>4006381333931")


def test_the_lighting_module_is_connected_by_one_press(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("serial")
    page.get_by_role("button", name="Connect the lighting module").click()
    expect(page.locator(".empty")).to_contain_text("lighting module is connected")
    assert twin.settings()["serial"]["module"] == "lighting module"
