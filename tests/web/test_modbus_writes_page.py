"""The page of Modbus writes in a real browser: set up, written by hand, and what came of it."""

import pytest
from playwright.sync_api import expect

from leverframe.hardware.modbus_master import ModbusMaster
from leverframe.hardware.write_reports import DIFFERS, WriteReport
from leverframe.process.ports import connect_writing
from tests.clients.served_twin import ServedTwin
from tests.web.cards import card, save, titled
from tests.web.conftest import REFUSALS, OpenPage

pytestmark = pytest.mark.needs_program("chromium")


def test_a_write_is_set_up_and_its_values_are_written_by_hand(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    controller = twin.twin.controller
    without_bus = ModbusMaster(
        None, controller.engine.settings, controller.sense, controller.troubles, lambda: 0.0
    )
    connect_writing(controller, without_bus)
    twin.get("/stm.cgi?modbus_sensor=06")
    page = open_page("modbus_writes")
    night = card(page, "Modbus write 2")
    expect(night.get_by_role("button", name="Write the first value now")).to_have_count(0)
    night.get_by_label("Name").fill("Night")
    night.get_by_label("Slot").fill("1")
    night.get_by_label("Register or coil").fill("100")
    night.get_by_label("Type").select_option("float")
    night.get_by_label("Value when the rule begins to act").fill("18.5")
    night.get_by_label("Value when it ceases").fill("21.5")
    save(night)
    assert twin.settings()["modbus_writes"][1] == {
        "name": "Night",
        "slot": 1,
        "register": 100,
        "type": "float",
        "on_value": 18.5,
        "off_value": 21.5,
        "endian": "none",
    }
    night.get_by_role("button", name="Write the first value now").click()
    expect(night.get_by_text("Written and read back")).to_be_visible()
    last = titled(page, "Last writes")
    expect(last).to_contain_text("Slot 1, register 100")
    expect(last).to_contain_text("18.5 · written and read back")
    bench = twin.twin.controller.board.bench
    assert bench is not None
    assert bench.modules == {"slot 1 register 100": 18.5}


def test_a_write_that_is_refused_says_why(twin: ServedTwin, open_page: OpenPage) -> None:
    twin.get("/stm.cgi?mod_write_set1=Valve*1*10*0*1*0")
    page = open_page("modbus_writes", allow=REFUSALS)
    valve = card(page, "Modbus write 1")
    valve.get_by_role("button", name="Write the second value now").click()
    expect(valve.get_by_text("No module is chosen for Modbus slot 1")).to_be_visible()


def test_a_difference_is_shown_with_its_sentence(twin: ServedTwin, open_page: OpenPage) -> None:
    report = WriteReport(2, 7, "coil", 1.0, "rule 3", 0.0, DIFFERS, 0.0, "1 was written, but 0.")
    twin.twin.controller.reports["modbus_writes"] = lambda: [report]
    page = open_page("modbus_writes")
    last = titled(page, "Last writes")
    expect(last).to_contain_text("Slot 2, coil 7")
    expect(last).to_contain_text("something else is read back")
    expect(last.get_by_text("1 was written, but 0.")).to_be_visible()


def test_a_rule_can_choose_a_write(twin: ServedTwin, open_page: OpenPage) -> None:
    twin.get("/inpa.cgi?event=0*104*0*1*0*0*201*0*0*0*0*0*1*0*0*0")
    page = open_page("rules")
    expect(page.get_by_text("Modbus write 2").first).to_be_visible()
