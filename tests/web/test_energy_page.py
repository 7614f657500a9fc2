"""The Power and energy page in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.clients.served_twin import ServedTwin
from tests.web.cards import card, save
from tests.web.conftest import OpenPage, Serve

pytestmark = pytest.mark.needs_program("chromium")


def test_every_field_of_a_meter_is_saved(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("energy")
    fifth = card(page, "POWER5")
    fifth.get_by_label("Name").fill("Heat pump")
    fifth.get_by_label("Current or pulses from").select_option("INPD2")
    fifth.get_by_label("Voltage from").select_option("VCC")
    fifth.get_by_label("Units of power and energy").select_option("l/min/m3")
    fifth.get_by_label("Pulses per unit").fill("250")
    fifth.get_by_label("Set the counter to").fill("12.345")
    save(fifth)
    page.reload()
    expect(fifth.get_by_label("Set the counter to")).to_have_value("12.345")
    assert twin.settings()["power"][4] == {
        "name": "Heat pump",
        "current": "INPD2",
        "voltage": "VCC",
        "pulses": 250,
        "unit": "l/min/m3",
    }
    assert twin.state()["ENERGY5"] == 12.345


def test_the_counters_can_be_kept_over_a_restart(twin: ServedTwin, open_page: OpenPage) -> None:
    counters = card(open_page("energy"), "All counters")
    counters.get_by_label("Keep the counters over a restart").check()
    save(counters)
    assert twin.settings()["energy_remember"] is True


def test_power_and_energy_show_live_in_the_units_that_are_set(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/inpa.cgi?sensor=06&peunit=01")
    readings = card(open_page("energy"), "POWER1").locator(".reading")
    twin.set_readings(INPA1=1.0)
    expect(readings.first.locator(".value")).to_have_text("2300W")
    twin.get("/sim.cgi?advance=3600")
    expect(readings.last.locator(".value")).to_have_text("2.3kWh")


def test_a_counter_is_reset_by_a_second_press_after_saying_what_is_lost(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/inpa.cgi?powset=15000")
    second = card(open_page("energy"), "POWER2")
    second.get_by_role("button", name="Reset the counter").click()
    expect(second).to_contain_text("will be lost")
    assert twin.state()["ENERGY2"] == 5.0
    second.get_by_role("button", name="Reset the counter").click()
    expect(second).to_contain_text("The counter was reset.")
    assert twin.state()["ENERGY2"] == 0.0


@pytest.mark.parametrize(
    ("version", "has_units"), [(("3.0", "1.58a"), False), (("3.5", "1.36"), True)]
)
@pytest.mark.thorough
def test_older_versions_have_four_meters(
    serve: Serve, open_page: OpenPage, version: tuple[str, str], has_units: bool
) -> None:
    older = serve(*version)
    page = open_page("energy", of=older)
    expect(page.locator("form.card").filter(has_text="Voltage from")).to_have_count(4)
    fourth = card(page, "POWER4")
    expect(fourth.get_by_label("Units")).to_have_count(int(has_units))
    fourth.get_by_label("Current or pulses from").select_option("INPD4")
    fourth.get_by_label("Voltage from").select_option("235V")
    save(fourth)
    saved = older.settings()["power"][3]
    assert (saved["current"], saved["voltage"]) == ("INPD4", "235V")
