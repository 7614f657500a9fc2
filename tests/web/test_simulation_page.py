"""The page of the simulated board in a real browser: every control acts on the controller."""

import re
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.clients.served_twin import ServedTwin, eventually
from tests.web.conftest import REFUSALS, OpenPage

pytestmark = pytest.mark.needs_program("chromium")

SENSOR = "28:FF:64:1E:8C:16:03:5A"


def card(page: Page, heading: str) -> Locator:
    exact = page.get_by_role("heading", name=heading, exact=True)
    return page.locator("section.card").filter(has=exact)


def knob(page: Page, label: str) -> Locator:
    return page.locator(f".turn[data-reading='{label}']")


def turn(page: Page, label: str, typed: str) -> None:
    field = knob(page, label).get_by_role("textbox")
    field.fill(typed)
    field.press("Enter")


def last_request(page: Page) -> Locator:
    return card(page, "Last request").locator("pre")


def test_every_reading_has_a_knob_and_what_is_turned_is_felt(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("simulation")
    labels = twin.get("/api/sim").json()["readings"]
    shown = page.locator(".turn").evaluate_all("(all) => all.map((one) => one.dataset.reading)")
    assert sorted(shown) == sorted(labels)
    # Things by their names; how requests call them stands small behind.
    expect(knob(page, "DS1").locator("label")).to_have_text("Thermometer 1 DS1")
    assert page.locator(".pin .lever").count() == 4

    # What is not possible is refused before sending.
    for typed, said in (("200", "Out of range."), ("warm", "not a number")):
        turn(page, "DS1", typed)
        expect(card(page, "Temperatures").get_by_role("alert")).to_contain_text(
            re.compile(said, re.IGNORECASE)
        )
    assert twin.state()["DS1"] is None
    expect(last_request(page)).to_have_count(0)

    turned = {"INPA1": 1.25, "VCC": 11.5, "TEMP": 31.5, "T1": 20.5, "m30": 7.25, "PM2.5": 8.5}
    for label, value in turned.items():
        # A decimal comma is as good as a point.
        turn(page, label, str(value).replace(".", ","))
        address = f"http://127.0.0.1:{twin.port}/sim.cgi?{label}={value}"
        expect(last_request(page)).to_have_text(f"curl -X POST '{address}'")
        expect(knob(page, label).get_by_role("textbox")).to_have_value(str(value))
    readings = twin.get("/api/sim").json()["readings"]
    assert {label: readings[label]["value"] for label in turned} == turned

    page.get_by_role("slider", name="Humidity", exact=True).press("End")
    expect(last_request(page)).to_contain_text("H1=100")
    eventually(lambda: twin.state()["H1"], 100)

    # What others do to the board shows.
    twin.set_readings(CO2=800, DS1=21.5)
    expect(knob(page, "CO2").get_by_role("textbox")).to_have_value("800")
    page.get_by_role("button", name="Unplug Thermometer 1").click()
    expect(page.get_by_role("button", name="Plug in Thermometer 1")).to_be_visible()
    page.goto(f"http://127.0.0.1:{twin.port}/#/status")
    expect(page.locator("[data-label=DS1][data-absent]")).to_be_visible()
    assert twin.state()["DS1"] is None


@pytest.mark.thorough
def test_inputs_buses_and_codes_are_at_hand(twin: ServedTwin, open_page: OpenPage) -> None:
    twin.get(f"/stm.cgi?dswrite=1:{SENSOR}")
    page = open_page("simulation", allow=REFUSALS)
    lever = page.get_by_role("switch", name=re.compile("INPD2"))
    expect(lever.locator(".word")).to_have_text("open")
    for word, level in (("closed", 0), ("open", 1), ("closed", 0)):
        lever.click()
        expect(lever.locator(".word")).to_have_text(word)
        assert twin.state()["INPD2"] == level
    page.get_by_role("button", name="Unplug Input 2").click()
    expect(lever.locator(".word")).to_have_text("open")
    assert twin.get("/api/sim").json()["levels"]["INPD2"] is None

    # A 1-Wire sensor is plugged in, turned and unplugged; what is no ID is refused in words.
    bus = card(page, "1-Wire")
    bus.get_by_label("ID of the sensor").fill("28:FF")
    bus.get_by_role("button", name="Plug in", exact=True).click()
    expect(bus.get_by_role("alert")).to_contain_text("not a 1-Wire ID")
    bus.get_by_label("ID of the sensor").fill(SENSOR.lower())
    bus.get_by_role("button", name="Plug in", exact=True).click()
    field = bus.get_by_role("textbox", name=SENSOR)
    expect(field).to_have_value("20")
    assert twin.state()["DS1"] == 20
    field.fill("-3.5")
    field.press("Enter")
    expect(last_request(page)).to_contain_text(f"{SENSOR}=-3.5")
    eventually(lambda: twin.state()["DS1"], -3.5)
    bus.get_by_role("button", name=f"Unplug {SENSOR}").click()
    expect(bus.get_by_text("Nothing is connected to the bus.")).to_be_visible()
    assert twin.state()["DS1"] is None

    page.get_by_label("Responding sensor").select_option("HTS221")
    expect(last_request(page)).to_contain_text("i2c=HTS221")
    eventually(lambda: twin.get("/api/sim").json()["i2c"]["found"], "HTS221")

    page.get_by_label("Code to scan").fill("590 & 1+1")
    page.get_by_role("button", name="Scan", exact=True).click()
    expect(page.get_by_text("Scanned last: 590 & 1+1")).to_be_visible()
    assert twin.state()["barcode"] == "590 & 1+1"


@pytest.mark.thorough
def test_sms_is_received_obeyed_and_answered_and_a_host_answers_and_falls_silent(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?gsmcode=1234")
    page = open_page("simulation")
    sms = card(page, "Receive an SMS")
    for text in ("0000:out1=1", "1234:out0=1"):
        sms.get_by_label("Text").fill(text)
        sms.get_by_role("button", name="Receive").click()
        expect(sms.locator("li").first).to_contain_text(text)
    expect(sms.locator("li").nth(0)).to_contain_text("OK OUT 100000")
    expect(sms.locator("li").nth(1)).to_contain_text("not answered")
    assert (twin.state()["OUT0"], twin.state()["OUT1"]) == (1, 0)

    hosts = card(page, "Hosts that answer pings")
    hosts.get_by_label("Host").fill("router")
    hosts.get_by_label("Milliseconds").fill("12")
    hosts.get_by_role("button", name="Let it answer").click()
    expect(hosts.get_by_text("router answers after 12 ms")).to_be_visible()
    assert twin.get("/api/sim").json()["hosts"] == {"router": 12}
    hosts.get_by_role("button", name="Stop answering").click()
    expect(hosts.get_by_text("router answers")).to_have_count(0)


def test_time_goes_forward_by_steps_to_what_is_due_and_to_a_moment(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/outs.cgi?ortime=07200&out0=1")
    start = twin.state()["time"]
    page = open_page("simulation")
    time = card(page, "Time")
    time.get_by_label("To date and time").fill("2001-01-01T00:00:00")
    time.get_by_role("button", name="Go there").click()
    expect(time.get_by_role("alert")).to_contain_text("time only goes forward")
    for button, seconds in (("+1 s", 1), ("+1 min", 61), ("+1 h", 3661)):
        time.get_by_role("button", name=button, exact=True).click()
        eventually(lambda: twin.state()["time"] - start, seconds)
        expect(time.get_by_role("button", name=button, exact=True)).to_be_enabled()
    time.get_by_role("button", name="To the next due event").click()
    expect(time.get_by_text("Nothing is due.")).to_be_visible()
    assert (twin.state()["OUT0"], twin.state()["time"]) == (0, start + 7200)
    moment = datetime.fromtimestamp(start + 90_000, UTC)
    time.get_by_label("To date and time").fill(f"{moment:%Y-%m-%dT%H:%M:%S}")
    time.get_by_role("button", name="Go there").click()
    expect(last_request(page)).to_contain_text("advance=82800")
    eventually(lambda: twin.state()["time"], start + 90_000)


@pytest.mark.thorough
def test_plants_are_wired_snapshots_taken_and_faults_set_and_what_lacks_something_is_refused(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("simulation", allow=REFUSALS)
    plants = card(page, "Plants")
    plants.get_by_role("button", name="Wire").click()
    expect(plants.get_by_role("alert")).to_contain_text("needs outside")
    plants.get_by_label("Kind").select_option("load")
    plants.get_by_label("Resulting reading").select_option("m1")
    plants.get_by_label("Reading with power").fill("5")
    plants.get_by_role("button", name="Wire").click()
    expect(plants.locator(".wired")).to_have_text(
        "measured load · Switch: Output 0 · Resulting reading: Modbus reading 1 · "
        "Reading with power: 5"
    )
    assert twin.state()["m1"] == 0
    knob(page, "m1").get_by_role("button", name="Unplug").click()
    expect(knob(page, "m1").get_by_role("button", name="Plug in")).to_be_visible()
    page.get_by_role("button", name="Back to the plant").click()
    expect(knob(page, "m1").get_by_role("textbox")).to_have_value("0")
    plants.get_by_role("button", name="Remove all").click()
    expect(plants.get_by_text("No plants.")).to_be_visible()

    snapshots = card(page, "Snapshots")
    snapshots.get_by_label("Name of the snapshot").fill("a/b")
    snapshots.get_by_role("button", name="Take").click()
    expect(snapshots.get_by_role("alert")).to_contain_text("1 to 40 letters")
    snapshots.get_by_label("Name of the snapshot").fill("before")
    snapshots.get_by_role("button", name="Take").click()
    expect(snapshots.locator(".wired")).to_contain_text("before")
    twin.get("/outs.cgi?out0=1")
    snapshots.get_by_role("button", name="Restore before").click()
    expect(last_request(page)).to_contain_text("/api/sim/snapshots?restore=before")
    eventually(lambda: twin.state()["OUT0"], 0)
    snapshots.get_by_role("button", name="Delete before").click()
    expect(snapshots.locator(".wired li")).to_have_count(0)

    faults = card(page, "Faults")
    expect(faults.get_by_text("No faults.")).to_be_visible()
    faults.get_by_role("button", name="Inject fault").click()
    expect(faults.get_by_role("alert")).to_contain_text("needs delay")
    faults.get_by_label("Fault", exact=True).select_option("sensor_85")
    expect(faults.get_by_text("A DS18B20 that lost its supply")).to_be_visible()
    faults.get_by_label("The reading label", exact=True).select_option("DS2")
    faults.get_by_role("button", name="Inject fault").click()
    expect(faults.locator(".wired")).to_contain_text(
        "thermometer shows 85 °C · the reading: Thermometer 2 acted 1 time"
    )
    assert twin.state()["DS2"] == 85
    faults.get_by_role("button", name="End fault 1").click()
    expect(faults.get_by_text("No faults.")).to_be_visible()
    assert twin.state()["DS2"] is None


@pytest.mark.thorough
def test_numbers_are_shown_and_taken_as_the_language_writes_them(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.set_readings(T1=20.5)
    page = open_page("simulation", language="pl")
    expect(knob(page, "T1").get_by_role("textbox")).to_have_value("20,5")
    knob(page, "T1").get_by_role("slider").fill("21.5")
    expect(knob(page, "T1").get_by_role("textbox")).to_have_value("21,5")
    page.locator("#plant-kind").select_option("load")
    page.locator("#plant-reading").select_option("m1")
    page.locator("#plant-on").fill("0,5")
    plants = page.locator("section.card", has=page.locator("#plant-kind"))
    plants.locator("form.ask").get_by_role("button").click()
    expect(plants.locator(".wired")).to_contain_text("0,5")
    assert "on:0.5" in str(twin.get("/api/sim").json()["plants"]["wired"])


@pytest.mark.thorough
def test_board_that_is_not_simulated_has_no_such_page(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("console")
    expect(page.get_by_role("link", name="Simulated board")).to_be_visible()
    start = twin.get("/api/start").json()
    page.route("**/api/start", lambda route: route.fulfill(json=start | {"board": "linux"}))
    page.reload()
    expect(page.get_by_role("link", name="API console")).to_be_visible()
    expect(page.get_by_role("link", name="Simulated board")).to_have_count(0)
