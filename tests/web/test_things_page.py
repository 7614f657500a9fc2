"""Things and their drawers in a real browser."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.clients.served_twin import ServedTwin
from tests.web.conftest import LOSSES, REFUSALS, OpenPage
from tests.web.own_menu import choose_language
from tests.web.signing_in import sign_in_as_user

pytestmark = pytest.mark.needs_program("chromium")

#: Rule 1: OUT0 is on while DS1 is at least 18 °C.
RULE = "/inpa.cgi?event=0*10*0*1800*200*0*0*0*0*0*0*0*1*0*0*0&eventon=0*1"
MAX_CLICKS_TO_NAME = 3


def find_row(page: Page, name: str) -> Locator:
    named = page.get_by_role("link", name=name, exact=True)
    return page.locator(".things .rows li").filter(has=named)


def drawer(page: Page) -> Locator:
    return page.locator("dialog.drawer")


def test_output_is_named_in_three_clicks_and_foreign_changes_are_shown(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("things", allow=REFUSALS)
    page.evaluate("window.clicks = 0; addEventListener('click', () => window.clicks++, true)")
    find_row(page, "Output 2").get_by_role("link").click()
    drawer(page).get_by_role("button", name="Rename").click()
    name = drawer(page).get_by_label("Name", exact=True)
    expect(name).to_be_focused()
    page.keyboard.type("Roof fan")
    drawer(page).get_by_role("button", name="Save").click()
    expect(drawer(page).get_by_role("heading", name="Roof fan")).to_be_visible()
    assert page.evaluate("window.clicks") <= MAX_CLICKS_TO_NAME
    # What programs call it is for those who ask, unless only names are wanted.
    expect(drawer(page).locator(".bar")).not_to_contain_text("OUT2")
    expect(drawer(page).get_by_text("OUT2", exact=True)).to_be_hidden()
    drawer(page).get_by_text("Advanced: Key in commands").click()
    expect(drawer(page).get_by_text("OUT2", exact=True)).to_be_visible()
    twin.get("/eeprom.cgi?bit2=1")
    expect(drawer(page).get_by_text("OUT2", exact=True)).to_have_count(0)
    assert twin.settings()["outputs"][2]["name"] == "Roof fan"

    expect(drawer(page).get_by_text(re.compile("^Advanced: Switch on and off"))).to_be_visible()
    lasts = drawer(page).get_by_label("Switch off automatically after")
    lasts.fill("soon")
    expect(drawer(page).get_by_role("alert")).to_contain_text("Write 10 s, 5 min or 1 h 25 min")
    lasts.fill("5 min")
    twin.get("/outs.cgi?ortime=2600")
    expect(drawer(page)).to_contain_text("was “never”, now “10 min”")
    page.go_back()
    expect(page.get_by_role("dialog").filter(has_text="unsaved")).to_be_visible()
    page.get_by_role("button", name="Stay").click()
    lasts.press("Escape")
    expect(lasts).to_have_value("10 min")
    page.keyboard.press("Escape")
    expect(drawer(page)).to_have_count(0)
    expect(find_row(page, "Roof fan").get_by_role("link")).to_be_focused()


@pytest.mark.thorough
def test_drawer_shows_why_an_output_is_on_its_uses_and_its_day(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get(RULE)
    twin.get("/stm.cgi?tname=0Greenhouse")
    twin.get("/stm.cgi?oname=0Pump")
    twin.set_readings(DS1=21.5)
    twin.get("/sim.cgi?advance=600")
    page = open_page("things?thing=OUT0")
    chain = drawer(page).locator(".chain")
    expect(chain).to_contain_text("Greenhouse was 21.5 °C")
    expect(chain).to_contain_text("at least 18 °C: met")
    expect(chain).to_contain_text("rule Rule 1")
    expect(chain).to_contain_text("Pump on")
    expect(drawer(page).locator(".uses")).to_contain_text("met")
    expect(drawer(page).locator("svg.bars rect.cause-rule").first).to_be_visible()
    chain.get_by_role("link", name="Greenhouse").click()
    expect(page).to_have_url(re.compile(r"#/things\?thing=DS1$"))
    expect(drawer(page).locator(".line .limit")).to_have_count(1)
    expect(drawer(page)).to_contain_text("Rules compare with 18 °C.")
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile("#/things$"))
    expect(find_row(page, "Pump")).to_contain_text("Rule 1")


def test_day_of_a_thing_is_unknown_before_the_recording(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/sim.cgi?advance=21600")
    page = open_page("things?thing=OUT0")
    day = drawer(page).locator("section", has=page.locator("svg.bars rect.lane"))
    expect(day).to_contain_text("never on, recorded since")
    ground = day.locator("rect.lane")
    expect(ground).to_have_attribute("x", "75.00%")
    expect(ground).to_have_attribute("width", "25.00%")


@pytest.mark.thorough
def test_pulse_takes_two_clicks_by_the_drawer_too(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("things")
    expect(find_row(page, "PWM output 2").locator(".plate")).to_have_text("P2")
    find_row(page, "Output 0").get_by_role("link").click()
    drawer(page).get_by_role("button", name="10 s", exact=True).click()
    expect(drawer(page).locator(".chain")).to_contain_text("Output 0 on for 10 s")
    expect(drawer(page).locator(".chain li").first).to_have_text(re.compile(r"^\s*by hand"))
    twin.get("/sim.cgi?advance=10")
    expect(drawer(page).locator(".chain")).to_contain_text("end of the pulse")


def test_added_thing_is_set_up_in_its_drawer(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("things")
    page.get_by_role("link", name="Watchdog: Add").click()
    drawer(page).get_by_label("Host to ping").fill("router.example")
    drawer(page).get_by_role("button", name="Save").click()
    expect(drawer(page).get_by_role("heading", name="router.example")).to_be_visible()
    drawer(page).get_by_role("button", name="Close").click()
    expect(find_row(page, "router.example")).to_be_visible()
    assert twin.settings()["watchdog"][0]["host"] == "router.example"


@pytest.mark.thorough
def test_user_who_may_only_switch_sees_things_without_their_settings(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("things")
    sign_in_as_user(page, twin)
    page.goto(f"http://127.0.0.1:{twin.port}/#/things?thing=OUT1")
    drawer(page).get_by_role("button", name="5 min").click()
    expect(drawer(page).get_by_role("switch")).to_have_attribute("aria-checked", "true")
    expect(drawer(page).locator(".chain")).to_contain_text("Output 1 on")
    expect(find_row(page, "Output 1")).to_contain_text("by hand")
    expect(drawer(page).get_by_role("button", name="Rename")).to_have_count(0)
    expect(page.get_by_role("link", name="Add")).to_have_count(0)


@pytest.mark.thorough
def test_values_of_things_stand_on_one_line_and_modules_are_distinct(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?modbus_sensor=01&modbus_sensor=11")
    twin.get("/stm.cgi?modbusmapping=" + "*".join(["17", "27", *["00"] * 28]))
    twin.get("/stm.cgi?mod_write_set1=Night%20setback*1*100*1*1800*2150")
    twin.get("/eeprom.cgi?string0=Open%20until%20ten")
    page = open_page("things", viewport=(1280, 800))
    for language in ("en", "pl", "fr", "hu", "cs"):
        choose_language(page, language)
        values = page.locator(".things .rows .value")
        expect(values.filter(has_text="1800 · ")).to_be_visible()
        line_px = 30
        assert max(values.evaluate_all("(all) => all.map((one) => one.offsetHeight)")) <= line_px
        slots = page.locator("[aria-labelledby=list-devices] .rows .who")
        assert len(set(slots.all_text_contents())) == len(["1", "2"])
        readings = page.locator("[aria-labelledby=list-mapped] .rows .who")
        assert len(set(readings.all_text_contents())) == len(["m1", "m2"])


@pytest.mark.thorough
def test_drawer_over_a_lost_connection_shows_the_last_values(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.set_readings(DS1=21.5)
    page = open_page("things?thing=DS1", allow=LOSSES)
    expect(drawer(page).locator(".present")).to_have_text("21.5 °C")
    page.context.set_offline(True)
    # A drawer covers the line of the page on a phone.
    expect(drawer(page).get_by_role("alert")).to_contain_text("Connection lost")
    expect(drawer(page).locator(".present")).to_have_text("was 21.5 °C")
    expect(page.locator(".things .rows .value").first).to_have_text("was off")
    page.context.set_offline(False)
    expect(drawer(page).locator(".present")).to_have_text("21.5 °C")


def test_refused_field_leaves_no_request_and_further_ones_stand(open_page: OpenPage) -> None:
    page = open_page("things?thing=PWM1")
    drawer(page).get_by_text("As request").click()
    request = drawer(page).locator("details.request")
    expect(request.locator("pre")).to_contain_text("pwmd=1")
    drawer(page).get_by_label("Set duty").fill("140")
    expect(request.locator(".note")).to_contain_text("No request is shown while a field is invalid")
    expect(request.locator("pre")).to_contain_text("pwm1=1")


@pytest.mark.thorough
def test_read_only_account_sees_no_module_setup(twin: ServedTwin, open_page: OpenPage) -> None:
    twin.get("/stm.cgi?modbus_sensor=11&modbusid=112")
    twin.get("/stm.cgi?modbusmapping=" + "*".join(["20", *["00"] * 29]))
    page = open_page("things?thing=SLOT2")
    sign_in_as_user(page, twin)
    expect(drawer(page).locator(".finding")).to_contain_text("has not answered yet")
    expect(drawer(page)).not_to_contain_text("not set up yet")


@pytest.mark.thorough
def test_free_place_is_called_by_its_future_name(open_page: OpenPage) -> None:
    page = open_page("things?thing=SLOT2")
    expect(drawer(page).get_by_role("heading", name="Modbus device 2")).to_be_visible()
    page = open_page("things?thing=m3")
    expect(drawer(page).get_by_role("heading", name="Modbus reading 3")).to_be_visible()


@pytest.mark.thorough
def test_readings_of_a_module_are_chosen_by_name_in_every_language(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?modbus_sensor=01")
    twin.get("/stm.cgi?modbusmapping=" + "*".join(["10", *["00"] * 29]))
    page = open_page("things?thing=m1", language="fr")
    expect(drawer(page).get_by_role("heading", name="Tension")).to_be_visible()
    expect(drawer(page).locator(".mapped select").nth(1)).to_contain_text("0 · tension")
