"""The drawer of a Modbus device: tried on the bus, ticked, named and saved; or described."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from leverframe.host.services import Service
from tests.clients.served_twin import LoopThread, ServedTwin
from tests.devices.modbus_ports import connect_modbus
from tests.devices.slaves import tcp_slaves
from tests.devices.test_modbus_bus import DEVICES, runs_of
from tests.ports import free_port
from tests.web.conftest import PHONE, REFUSALS, OpenPage, Serve

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
#: Fifteen of the widest letter: as long as a name may be.
WIDE = "W" * 15


@pytest.fixture(scope="module")
def meter() -> Iterator[str]:
    devices = [{"id": 1, "runs": runs_of(DEVICES["SDM120"][1])}]
    with tcp_slaves(devices, free_port()) as address:
        yield address


@pytest.fixture
def polling_twin(twin: ServedTwin, loop_thread: LoopThread) -> Iterator[ServedTwin]:
    """A controller that polls modules."""
    services = loop_thread.wait_for(_connect(twin))
    yield twin
    for service in reversed(services):
        loop_thread.wait_for(service.close())


async def _connect(twin: ServedTwin) -> list[Service]:
    return await connect_modbus(twin.twin.controller)


def drawer(page: Page) -> Locator:
    return page.locator("dialog.drawer")


def save(page: Page) -> None:
    footer = drawer(page).locator("form.card > footer")
    footer.get_by_role("button", name="Save").click()
    expect(footer.get_by_role("status")).to_have_text("Saved")


def mappings(twin: ServedTwin) -> list[tuple[int, int]]:
    mapping = twin.settings()["modbus_mapping"]
    return [(one["slot"], one["reading"]) for one in mapping if one["slot"]]


def give(page: Page, *lines: str, header: str = HEADER, name: str = "pump.csv") -> None:
    text = "\n".join([header, *lines]) + "\n"
    drawer(page).get_by_label("Import from CSV").set_input_files(
        {"name": name, "mimeType": "text/csv", "buffer": text.encode()}
    )


def test_meter_is_read_before_it_is_saved_and_keeps_what_is_ticked(
    polling_twin: ServedTwin, open_page: OpenPage, meter: str
) -> None:
    twin = polling_twin
    page = open_page("things?thing=SLOT1", allow=REFUSALS)
    form = drawer(page)
    form.get_by_label("SDM120", exact=True).check()
    form.get_by_label("Modbus TCP address").fill(meter)
    power = form.locator(".kept li", has_text="Active power").first
    expect(power).to_contain_text("register 12")
    expect(power.locator(".value")).to_have_text("114.25 W")
    assert twin.settings()["modbus_slots"][0]["module"] == "OFF"

    # Another page takes the first place in the meantime: both stay.
    form.get_by_label("Voltage", exact=True).check()
    form.get_by_label("Active power", exact=True).check()
    form.get_by_label("Name of Active power").fill(WIDE + "W")
    expect(form.get_by_role("alert").filter(has_text="15")).to_be_visible()
    twin.get("/stm.cgi?modbusmapping=" + "*".join(["25", *["00"] * 29]))
    expect(page.locator(".things .rows a[href$='thing=m1']")).to_have_count(1)
    form.get_by_label("Name of Active power").fill(WIDE)
    save(page)
    assert sorted(mappings(twin)) == [(1, 0), (1, 2), (2, 5)]
    place = next(
        at
        for at, one in enumerate(twin.settings()["modbus_mapping"])
        if (one["slot"], one["reading"]) == (1, 2)
    )
    assert twin.settings()["modbus_names"][place] == WIDE
    expect(form.locator(".kept li", has_text="Active power").first).to_contain_text("114.25")

    # Unticked, it is free again, with its name.
    form.get_by_label("Active power", exact=True).uncheck()
    save(page)
    assert sorted(mappings(twin)) == [(1, 0), (2, 5)]
    assert twin.settings()["modbus_names"][place] == ""


@pytest.mark.thorough
def test_silent_bus_says_what_to_do_and_a_removed_device_frees_its_readings(
    polling_twin: ServedTwin, open_page: OpenPage
) -> None:
    twin = polling_twin
    twin.get("/stm.cgi?modbus_sensor=01&modbusmapping=" + "*".join(["10", "12", *["00"] * 28]))
    page = open_page("things?thing=SLOT1", allow=REFUSALS)
    form = drawer(page)
    expect(form.get_by_text("This board is simulated")).to_be_visible()
    form.get_by_label("Modbus TCP address").fill(f"127.0.0.1:{free_port()}")
    expect(form.locator(".attention", has_text="No connection")).to_be_visible()
    form.get_by_role("button", name="Discard").click()
    form.locator("summary", has_text="SDM120").click()
    form.get_by_label("none", exact=True).check()
    expect(form.get_by_text("Saving removes the device")).to_be_visible()
    save(page)
    assert twin.settings()["modbus_slots"][0]["module"] == "OFF"
    assert mappings(twin) == []


@pytest.mark.thorough
def test_unknown_device_is_described_by_hand_and_by_a_table(
    twin: ServedTwin, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page("things?thing=SLOT2", viewport=PHONE)
    form = drawer(page)
    form.get_by_label("Describe another device").check()
    form.get_by_label("Name of the device").fill("Heat pump")
    give(page, "0,Flow,°C,4,70000,int16,none,1", name="bad.csv")
    said = form.get_by_role("alert").filter(has_text="bad.csv")
    expect(said).to_contain_text("Line 2, column “register”: invalid value “70000”.")
    give(page, '7,"Flow, ""hot""",°C,4,1000,int32,byte and word,10', "29,Last,,3,5,float,none,1")
    expect(form.get_by_text("pump.csv was imported into the table.")).to_be_visible()
    form.get_by_role("button", name="Add a reading").click()
    begun = form.locator(".described details", has_text="no name yet")
    begun.get_by_label("Name").fill("Return")
    begun = form.locator(".described details", has_text="Return")
    begun.get_by_label("Register").fill("65536")
    form.locator("form.card > footer").get_by_role("button", name="Save").click()
    expect(begun.get_by_label("Register")).to_be_focused()
    begun.get_by_label("Register").fill("1002")
    form.get_by_label("Return", exact=True).check()
    save(page)
    settings = twin.settings()
    assert settings["modbus_slots"][1]["module"] == "custom1"
    device = settings["modbus_devices"][0]
    assert (device["name"], device["readings"][7]) == ("Heat pump", FLOW)
    assert (device["readings"][0]["name"], device["readings"][0]["register"]) == ("Return", 1002)
    assert mappings(twin) == [(2, 0)]
    with page.expect_download() as download:
        form.get_by_role("button", name="Export as CSV").click()
    assert download.value.suggested_filename == "modbus-device-1.csv"
    exported = tmp_path / "exported.csv"
    download.value.save_as(exported)
    page.goto(page.url.replace("SLOT2", "SLOT3"))
    page.reload()
    form.get_by_label("Describe another device").check()
    form.get_by_label("Import from CSV").set_input_files(exported)
    save(page)
    devices = twin.settings()["modbus_devices"]
    assert devices[1]["readings"] == devices[0]["readings"]


@pytest.mark.thorough
def test_older_versions_keep_all_readings_of_their_single_slot(
    serve: Serve, open_page: OpenPage
) -> None:
    page = open_page("things?thing=SLOT1", of=serve("3.0", "1.58a"))
    form = drawer(page)
    expect(form.get_by_label("Describe another device")).to_have_count(0)
    form.get_by_label("SDM120", exact=True).check()
    expect(form.get_by_text("All readings are recorded")).to_be_visible()
    expect(form.locator(".kept input[type=checkbox]")).to_have_count(0)
