"""The Modbus page in a real browser: slots, the mapping of m1-m30 by name, live values."""

import pytest
from playwright.sync_api import expect

from leverframe.hardware.module_slot import RefusedRead, SlotReport, SlotStatistics
from tests.clients.served_twin import ServedTwin
from tests.web.conftest import OpenPage, Serve

pytestmark = pytest.mark.needs_program("chromium")

ALL = 30


def test_a_reading_is_mapped_by_its_name_and_shown_live(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("modbus")
    slot = page.locator("form.card", has=page.get_by_role("heading", name="Slot 1"))
    slot.get_by_label("Connected module").select_option("SDM120")
    slot.get_by_label("Address (slave ID)").fill("17")
    slot.get_by_role("button", name="Save").click()
    expect(slot.get_by_text("Saved")).to_be_visible()
    mapping = page.locator("form.card", has=page.get_by_role("heading", name="What m1-m30 show"))
    mapping.get_by_label("m2", exact=True).select_option("1")
    mapping.get_by_label("Reading of m2", exact=True).select_option(label="7 · frequency")
    mapping.get_by_role("button", name="Save").click()
    expect(mapping.get_by_text("Saved")).to_be_visible()
    settings = twin.settings()
    chosen = settings["modbus_slots"][0]
    assert (chosen["module"], chosen["slave_id"]) == ("SDM120", 17)
    assert settings["modbus_mapping"][:3] == [
        {"slot": 0, "reading": 0},
        {"slot": 1, "reading": 7},
        {"slot": 0, "reading": 0},
    ]
    twin.set_readings(m2=49.98)
    expect(mapping.locator(".mapped .value").nth(1)).to_have_text("49.98 Hz")
    expect(slot.locator("dl")).to_have_text("frequency 49.98 Hz")


def test_a_device_of_ones_own_is_offered_by_its_name(twin: ServedTwin, open_page: OpenPage) -> None:
    twin.get("/stm.cgi?mod_custom_set1=Heat%20pump*0*0*1*0&modbus_sensor=2101")
    page = open_page("modbus")
    slot = page.locator("form.card", has=page.get_by_role("heading", name="Slot 3"))
    chosen = slot.get_by_label("Connected module").locator("option:checked")
    expect(chosen).to_have_text("Heat pump")
    expect(page.get_by_label("m1", exact=True).locator("option[value='3']")).to_have_text(
        "3 · Heat pump"
    )


def test_a_slot_is_given_a_line_of_its_own_and_an_address(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("modbus")
    slot = page.locator("form.card", has=page.get_by_role("heading", name="Slot 2"))
    expect(slot.get_by_label("Parity").locator("option").first).to_have_text("as the module has it")
    slot.get_by_label("Bit rate").select_option("19200")
    slot.get_by_label("Parity").select_option("even")
    slot.get_by_label("Stop bits").select_option("2")
    slot.get_by_label("Modbus TCP address").fill("127.0.0.1:99999")
    expect(slot.locator(".wrong")).to_contain_text("a host name or address")
    slot.get_by_label("Modbus TCP address").fill("127.0.0.1:1502")
    slot.get_by_role("button", name="Save").click()
    expect(slot.get_by_text("Saved")).to_be_visible()
    assert twin.settings()["modbus_slots"][1] == {
        "module": "OFF",
        "slave_id": 1,
        "bitrate": 19200,
        "parity": "even",
        "stop_bits": 2,
        "host": "127.0.0.1:1502",
    }


def test_what_a_module_refuses_and_the_statistics_of_its_slot_are_shown(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?modbus_sensor=06")
    refused = RefusedRead(4, 0, 8, 2, "illegal data address")
    reports = twin.twin.controller.reports
    reports["modbus"] = lambda: {"1": SlotReport("GTIL", 1, None, {}, [refused])}
    reports["modbus_statistics"] = lambda: {
        "1": SlotStatistics(12, 9, 2, 1, {"2": 7, "4": 1}, 0.0305, None)
    }
    page = open_page("modbus")
    slot = page.locator("form.card", has=page.get_by_role("heading", name="Slot 1"))
    expect(slot.locator(".attention")).to_have_text(
        "Refused: registers 0-7, function 4, exception 2 (illegal data address)"
    )
    slot.get_by_text("Statistics").click()
    told = slot.locator("details dd")
    expect(told).to_have_text(["12", "2", "1", "2: 7, 4: 1", "31 ms / –"])


@pytest.mark.parametrize(("version", "slots"), [((), 7), (("3.5", "1.36"), 4)])
@pytest.mark.thorough
def test_the_mapping_offers_the_slots_of_the_version(
    serve: Serve, open_page: OpenPage, version: tuple[str, ...], slots: int
) -> None:
    page = open_page("modbus", of=serve(*version))
    expect(page.locator(".mapped")).to_have_count(ALL)
    expect(page.get_by_label("m30", exact=True).locator("option")).to_have_count(slots)


@pytest.mark.thorough
def test_a_version_with_one_slot_shows_its_readings_in_order(
    serve: Serve, open_page: OpenPage
) -> None:
    twin = serve("3.0", "1.58a")
    twin.get("/stm.cgi?modbus_sensor=1")
    page = open_page("modbus", of=twin)
    expect(page.get_by_label("Connected module")).to_have_count(1)
    expect(page.get_by_text("Modbus TCP server")).to_have_count(0)
    twin.set_readings(m1=231.5)
    expect(page.locator(".reading").first).to_have_text("m1 · voltage 231.50V")
