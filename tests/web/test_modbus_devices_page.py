"""The Modbus devices page in a real browser: thirty readings by hand and by CSV."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.clients.served_twin import ServedTwin
from tests.web.conftest import PHONE, OpenPage, Serve

pytestmark = pytest.mark.needs_program("chromium")

HEADER = "reading,name,unit,function,register,type,endian,divisor"
FLOW: dict[str, Any] = {
    "name": 'Flow, "hot"',
    "unit": "°C",
    "divisor": 10,
    "register": 1000,
    "function": 4,
    "type": "int32",
    "endian": "byte and word",
}


def table(page: Page) -> Locator:
    return page.locator("form.readings")


def give(page: Page, *lines: str, header: str = HEADER, name: str = "pump.csv") -> None:
    text = "\n".join([header, *lines]) + "\n"
    page.get_by_label("Import from CSV").set_input_files(
        {"name": name, "mimeType": "text/csv", "buffer": text.encode()}
    )


def test_readings_are_described_in_the_table_and_show_what_is_measured(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?modbus_sensor=1100")
    twin.get("/stm.cgi?modbusmapping=" + "*".join(["24", *["00"] * 29]))
    before = twin.settings()["modbus_devices"]
    page = open_page("modbus_devices?device=2")
    form = table(page)
    form.get_by_label("Name, reading 7").fill(FLOW["name"])
    form.get_by_label("Unit, reading 7").fill(FLOW["unit"])
    form.get_by_label("Function, reading 7").select_option("4")
    form.get_by_label("Register, reading 7").fill("1000")
    form.get_by_label("Type, reading 7").select_option("int32")
    form.get_by_label("Swapped, reading 7").select_option("byte and word")
    form.get_by_label("Divided by, reading 7").select_option("10")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_text("Saved")).to_be_visible()
    before[1]["readings"][7] = FLOW
    assert twin.settings()["modbus_devices"] == before
    page.reload()
    expect(form.get_by_label("Name, reading 7")).to_have_value(FLOW["name"])

    form.get_by_label("Register, reading 3").fill("65536")
    form.get_by_role("button", name="Save").click()
    # The row may be far up in the table.
    expect(form.get_by_label("Register, reading 3")).to_be_focused()
    expect(form.locator("tr", has_text="65\u00a0535.").get_by_role("alert")).to_have_text(
        "Out of range. Allowed: 0 to 65\u00a0535."
    )
    form.get_by_label("Register, reading 3").press("Escape")
    expect(form.get_by_label("Register, reading 3")).to_have_value("0")

    # What is typed for one device stays while another is looked at.
    form.get_by_label("Name, reading 0").fill("Flow")
    page.get_by_role("button", name="Device 1").click()
    expect(form.get_by_label("Name, reading 0")).to_have_value("")
    twin.set_readings(m1=38.25)
    expect(form.locator("tbody tr").nth(4).locator("td").last).to_have_text("38.25")
    expect(page.get_by_text("In slot: 2")).to_be_visible()
    page.get_by_role("button", name="Device 2 · changed").click()
    expect(form.get_by_label("Name, reading 0")).to_have_value("Flow")


@pytest.mark.thorough
def test_phone_shows_readings_that_are_described_one_free_place_and_the_rest_when_asked(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("modbus_devices", viewport=PHONE)
    rows = table(page).locator("tbody tr:visible")
    expect(rows).to_have_count(1)
    give(page, "7,Flow,°C,4,1000,int16,none,1")
    expect(rows).to_have_count(2)
    expect(table(page).get_by_label("Name, reading 7")).to_have_value("Flow")
    table(page).get_by_role("button", name="Show all 30").click()
    expect(rows).to_have_count(30)
    expect(table(page).get_by_role("button", name="Show all")).to_have_count(0)


@pytest.mark.thorough
def test_table_is_imported_exported_and_changes_nothing_before_it_is_saved(
    twin: ServedTwin, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page("modbus_devices")
    give(page, "0,Flow,°C,4,70000,int16,none,1", name="bad.csv")
    said = page.get_by_role("alert")
    expect(said).to_contain_text("bad.csv was not imported; nothing changed")
    expect(said).to_contain_text("Line 2, column “register”: invalid value “70000”.")
    expect(table(page).get_by_role("button", name="Save")).to_be_disabled()
    give(page, "0;Flow;°C;4;1000;int16;none;1", header=HEADER.replace(",", ";"))
    expect(table(page).get_by_label("Name, reading 0")).to_have_value("Flow")
    assert twin.settings()["modbus_devices"][0]["readings"][0]["name"] == ""
    table(page).get_by_role("button", name="Discard").click()
    expect(table(page).get_by_label("Name, reading 0")).to_have_value("")

    give(page, '7,"Flow, ""hot""",°C,4,1000,int32,byte and word,10', "29,Last,,3,5,float,none,1")
    expect(page.get_by_text("pump.csv was imported into the table.")).to_be_visible()
    table(page).get_by_role("button", name="Save").click()
    expect(table(page).get_by_text("Saved")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export as CSV").click()
    assert download.value.suggested_filename == "modbus-device-1.csv"
    exported = tmp_path / "exported.csv"
    download.value.save_as(exported)
    page.get_by_role("button", name="Device 4").click()
    page.get_by_label("Import from CSV").set_input_files(exported)
    table(page).get_by_role("button", name="Save").click()
    expect(table(page).get_by_text("Saved")).to_be_visible()
    devices = twin.settings()["modbus_devices"]
    assert devices[0]["readings"][7] == FLOW
    assert devices[3]["readings"] == devices[0]["readings"]


@pytest.mark.thorough
def test_older_version_has_fewer_devices_and_no_swapping(serve: Serve, open_page: OpenPage) -> None:
    page = open_page("modbus_devices", of=serve("3.5", "1.36"))
    expect(page.locator(".devices button")).to_have_count(3)
    expect(page.get_by_label("Swapped, reading 0")).to_have_count(0)
    expect(page.get_by_label("Divided by, reading 0").locator("option")).to_have_count(3)


@pytest.mark.thorough
def test_version_without_devices_has_no_such_page(serve: Serve, open_page: OpenPage) -> None:
    page = open_page("things", of=serve("3.0", "1.58a"))
    expect(page.get_by_role("link", name="PID regulator").first).to_be_visible()
    expect(page.get_by_role("link", name="Modbus devices", exact=True)).to_have_count(0)
