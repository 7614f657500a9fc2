"""The settings of things in their drawers, in a real browser: one story for each kind of work.

That every field of every drawer is saved and shown again: test_setting_pages.py.
"""

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from leverframe.devices.modbus_master import ModbusMaster
from leverframe.devices.module_slot import RefusedRead, SlotReport, SlotStatistics
from leverframe.host.ports import connect_writing
from tests.clients.served_twin import ServedTwin
from tests.web.cards import card, save
from tests.web.conftest import REFUSALS, OpenPage, Serve
from tests.web.test_pages import go

pytestmark = pytest.mark.needs_program("chromium")

BOILER = "28:FF:64:1E:8C:16:03:5A"
NO_ID = "00:00:00:00:00:00:00:00"


def drawer_of(page: Page, thing: str) -> Locator:
    go(page, f"things?thing={thing}")
    return page.locator("dialog.drawer")


def form_of(page: Page, thing: str) -> Locator:
    return drawer_of(page, thing).locator("form.card").first


def test_found_sensors_show_live_values_beside_the_positions(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("onewire")
    drawer = page.locator("dialog.drawer")
    expect(drawer.locator(".positions li")).to_have_count(8)
    expect(drawer.locator(".empty")).to_contain_text("Check the wiring")
    # A sensor that is plugged in appears, and changes while it is held.
    twin.get(f"/sim.cgi?onewire={BOILER}&{BOILER}=21.5")
    found = drawer.locator(".found li", has_text=BOILER)
    expect(found.locator("b")).to_have_text("21.5 °C")
    twin.get(f"/sim.cgi?{BOILER}=29")
    expect(found.locator("b")).to_have_text("29.0 °C")
    # Both stand side by side, and neither reaches into the other.
    assert found.evaluate("(one) => one.scrollWidth <= one.clientWidth")
    # One click assigns it to the first free position, which shows the same value.
    first = drawer.locator(".positions li").first
    expect(first).to_contain_text("free")
    found.get_by_role("button", name="Assign").click()
    expect(found).to_contain_text("assigned to Thermometer 1")
    expect(first).to_contain_text("29.0 °C")


@pytest.mark.thorough
def test_sensors_are_found_connected_and_freed(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("onewire")
    drawer = page.locator("dialog.drawer")
    expect(drawer.get_by_role("heading", name="Connect sensors")).to_be_visible()
    expect(drawer.locator(".empty")).to_contain_text("Check the wiring")
    twin.get(f"/sim.cgi?onewire={BOILER}")
    drawer.get_by_label(f"Position of {BOILER}").select_option("DS3")
    drawer.get_by_role("button", name="Assign").click()
    expect(drawer.locator(".found")).to_contain_text("assigned to Thermometer 3")

    twin.get("/sim.cgi?i2c=BME280&T1=21.5&H1=54")
    drawer.get_by_role("button", name="Detect the sensor").click()
    expect(drawer.get_by_text("Scan finished")).to_be_visible()
    sensors = card(page, "I²C sensors")
    expect(sensors.get_by_role("combobox")).to_have_value("BME280")
    # Of unused sensors only the titles are shown, until one is named.
    extra, name = card(page, "Additional sensor 2"), "Name of reading 1"
    expect(extra.get_by_label(name)).to_be_hidden()
    extra.locator("summary").first.click()
    extra.get_by_label(name).fill("Loft")
    extra.get_by_label(name).press("Enter")
    expect(extra.locator("details.unused")).to_have_count(0)
    expect(extra.get_by_label(name)).to_have_value("Loft")
    expect(card(page, "Additional sensor 1").get_by_label(name)).to_be_hidden()
    sensors.get_by_label("Additional dust sensor SPS30").check()
    save(sensors)
    assert (twin.settings()["i2c"]["primary"], twin.settings()["i2c"]["sps30"]) == ("BME280", True)

    twin.get("/stm.cgi?usart_sensor=6")
    twin.get("/sim.cgi?barcode=%3Cb%3E4006381333931")
    expect(drawer.locator(".reading .value")).to_have_text("<b>4006381333931")
    drawer.get_by_role("button", name="Connect the lighting module").click()
    expect(drawer.get_by_text("The lighting module is connected")).to_be_visible()

    third = form_of(page, "DS3")
    third.get_by_role("button", name="Free this position").click()
    expect(third).to_contain_text("Thermometer 3 then has no reading")
    third.get_by_role("button", name="Free this position").click()
    expect(third.get_by_role("button", name="Free this position")).to_have_count(0)
    assert twin.settings()["onewire"][2]["id"] == NO_ID


def test_drawer_changes_only_its_thing_and_shows_refusals(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?pwmp=18")
    twin.get("/inpa.cgi?sensor=21&multiplier=2200")
    twin.get("/inpa.cgi?powset=15000")
    page = open_page("things", allow=REFUSALS)
    fan = form_of(page, "PWM2")
    fan.locator("details.advanced summary").click()
    fan.get_by_label("Active low").check()
    save(fan)
    assert [one["active_low"] for one in twin.settings()["pwm"]] == [False, True, True, False]

    door = form_of(page, "INPD3")
    door.locator("details.advanced summary").click()
    door.get_by_label("Show inverted").check()
    save(door)
    expect(door).to_contain_text("shown inverted; the input is open")
    inputs = twin.settings()["digital_inputs"]
    assert [one["negate_display"] for one in inputs] == [False, False, True, False]

    twin.set_readings(INPA3=1.25)
    expect(form_of(page, "INPA3")).to_contain_text("at the pin: 1.250 V")
    second = form_of(page, "INPA2")
    second.locator("details.advanced summary").click()
    second.get_by_label("Gain").select_option("10")
    second.get_by_role("button", name="Save").click()
    field = second.locator(".field").filter(has=page.get_by_label("Gain"))
    expect(field.get_by_role("alert")).to_have_text(
        "Analog input 2 has the sensor 'off'; the gain can be set only with the sensor 'voltage up "
        "to 3.3 V or 5 V'. Set that first."
    )
    second.get_by_label("Gain").press("Escape")

    meter = drawer_of(page, "POWER2")
    meter.get_by_role("button", name="Reset the counter").click()
    meter.get_by_role("button", name="Reset the counter").click()
    expect(meter).to_contain_text("The counter was reset.")

    flags = form_of(page, "all-outputs")
    flags.get_by_label("Lock outputs").check()
    save(flags)
    assert twin.settings()["output_flags"]["lock"] is True


@pytest.mark.thorough
def test_watched_host_shows_its_last_pings(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("things")
    second = form_of(page, "WDOG2")
    second.get_by_label("Watch this host").check()
    second.get_by_label("Host to ping").fill("router.example")
    second.locator("details.advanced summary").click()
    second.get_by_label("Timeout").fill("61")
    expect(second.get_by_role("alert")).to_have_text("Out of range. Allowed: 1 s to 1 min.")
    second.get_by_label("Timeout").fill("2")
    save(second)
    assert [one["enabled"] for one in twin.settings()["watchdog"]] == [False, True, *[False] * 4]
    twin.get("/sim.cgi?ping=router.example:12.5")
    twin.get("/sim.cgi?advance=120")
    expect(second).to_contain_text("answered in 12.5 ms")


@pytest.mark.thorough
def test_modbus_module_is_connected_read_and_written(twin: ServedTwin, open_page: OpenPage) -> None:
    controller = twin.twin.controller
    without_bus = ModbusMaster(
        None, controller.engine.settings, controller.sense, controller.troubles, lambda: 0.0
    )
    connect_writing(controller, without_bus)
    twin.get("/stm.cgi?mod_custom_set1=Heat%20pump*0*0*1*0&modbus_sensor=2101")
    page = open_page("things")
    page.get_by_role("link", name="Modbus devices: Add").click()
    slot = page.locator("dialog.drawer form.card")
    slot.get_by_label("SDM120", exact=True).check()
    slot.get_by_label("Address (slave ID)").fill("17")
    save(slot)
    refused = RefusedRead(4, 0, 8, 2, "illegal data address")
    reports = controller.reports
    reports["modbus"] = lambda: {"1": SlotReport("SDM120", 1, None, {}, [refused])}
    reports["modbus_statistics"] = lambda: {
        "1": SlotStatistics(12, 9, 2, 1, {"2": 7, "4": 1}, 0.0305, None)
    }
    mapped = form_of(page, "m2")
    mapped.get_by_label("Reading shown").select_option("1")
    mapped.get_by_label("Number of the reading").select_option(label="7 · frequency")
    expect(mapped.locator("option[value='3']").first).to_have_text("3 · Heat pump")
    save(mapped)
    assert twin.settings()["modbus_mapping"][:2] == [
        {"slot": 0, "reading": 0},
        {"slot": 1, "reading": 7},
    ]
    twin.set_readings(m2=49.98)
    expect(mapped.locator(".mapped .value")).to_have_text("49.98 Hz")

    slot = drawer_of(page, "SLOT1")
    frequency = slot.locator(".kept li", has_text="Frequency").first
    expect(frequency.locator(".value")).to_have_text("49.98 Hz")
    # Two modules of a kind have one name: the drawer shows which it is, and its uses.
    expect(slot.locator(".about dd")).to_have_text("Modbus slot 1")
    expect(slot.locator(".uses")).to_contain_text("Frequency")
    expect(slot.locator(".attention")).to_have_text(
        "Refused: registers 0-7, function 4, exception 2 (illegal data address)"
    )
    slot.get_by_text("Statistics").click()
    values = slot.locator("details .values dd")
    expect(values).to_have_text(["12", "2", "1", "2: 7, 4: 1", "31 ms / –"])

    night = drawer_of(page, "WRITE2")
    night.get_by_label("Name", exact=True).fill("Night")
    night.get_by_label("Module in slot").select_option(label="1 · SDM120")
    night.get_by_label("Register or coil").fill("100")
    night.get_by_label("Type").select_option("float")
    night.get_by_label("Value at the start").fill("18.5")
    save(night.locator("form.card"))
    night.get_by_role("button", name="Write 18.5 now").click()
    expect(night.get_by_text("Written and read back", exact=True)).to_be_visible()
    expect(night).to_contain_text("18.5 · written and read back")
    bench = controller.board.bench
    assert bench is not None
    assert bench.modules == {"slot 1 register 100": 18.5}
    page.keyboard.press("Escape")
    expect(page.locator(".things .rows").get_by_role("link", name="Night")).to_be_visible()


@pytest.mark.thorough
def test_version_has_just_the_fields_of_its_commands(serve: Serve, open_page: OpenPage) -> None:
    page = open_page("things", of=serve("3.0", "1.58a"))
    expect(page.get_by_role("heading", name="Modbus readings")).to_have_count(0)
    output = form_of(page, "OUT0")
    output.locator("details.advanced summary").click()
    expect(output.get_by_label("On after startup")).to_be_visible()
    expect(output.get_by_label("Restore the last state after a restart")).to_have_count(0)
    first = form_of(page, "DIFF1")
    expect(first.get_by_label("First input")).to_be_visible()
    expect(first.get_by_label("Name")).to_have_count(0)
    expect(form_of(page, "SLOT1").get_by_label("SDM120", exact=True)).to_be_visible()


#: Waits until the page has received a finding: over a stream of its own, which gets it, too.
REPORTED = """(id) => new Promise((resolve) => {
  const stream = new EventSource("/api/stream");
  const look = ({ data }) => {
    if (!data.includes(id)) return;
    stream.close();
    requestAnimationFrame(() => requestAnimationFrame(resolve));
  };
  stream.addEventListener("state", look);
  stream.addEventListener("change", look);
})"""


@pytest.mark.thorough
def test_click_reaches_its_button_while_the_drawer_changes(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get(f"/stm.cgi?dswrite=3:{BOILER}")
    twin.set_readings(DS3=21.5)
    page = open_page("things")
    third = form_of(page, "DS3")
    third.get_by_role("button", name="Free this position").scroll_into_view_if_needed()
    box = third.get_by_role("button", name="Free this position").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    # A line more at the top of the drawer moves everything below it.
    twin.set_readings(DS3=None)
    page.evaluate(REPORTED, "sensor_lost.DS3")
    page.mouse.up()
    expect(third).to_contain_text("Thermometer 3 then has no reading")
    expect(page.locator("dialog.drawer .finding")).to_contain_text("no longer responds")
    # The question outlasts what else happens, and the same address asked for again.
    twin.set_readings(DS3=20)
    expect(page.locator("dialog.drawer .finding")).to_have_count(0)
    page.evaluate("location.hash = '#/status?thing=DS3'")
    expect(page.locator("main[data-page=status][aria-busy=false]")).to_be_attached()
    expect(third).to_contain_text("Thermometer 3 then has no reading")
    third.get_by_role("button", name="Free this position").click()
    expect(third.get_by_role("button", name="Free this position")).to_have_count(0)
    assert twin.settings()["onewire"][2]["id"] == NO_ID


@pytest.mark.thorough
def test_settings_of_a_drawer_come_when_nothing_above_them_moves_them(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.set_readings(DS3=21.5)
    twin.get("/sim.cgi?advance=3600")
    page = open_page("things", fresh=True)
    # They do not wait for ever: time stands still.
    page.clock.install()
    page.clock.pause_at(page.evaluate("Date.now() + 1000"))
    held: list[Route] = []
    page.route("**/api/history?*", lambda route: held.append(route))
    with page.expect_response("**/settings/onewire.js"), page.expect_response("**/onewire.json"):
        page.evaluate("location.hash = '#/things?thing=DS3'")
    page.evaluate("import('/web/settings/onewire.js')")
    drawer = page.locator("dialog.drawer")
    expect(drawer).to_contain_text("Reading the history")
    expect(drawer.locator("form.card")).to_have_count(0)
    held[0].continue_()
    expect(drawer.locator("form.card")).to_be_visible()
    expect(drawer.get_by_text("Reading the history")).to_have_count(0)
