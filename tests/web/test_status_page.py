"""The Status page in a real browser."""

import re
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.clients.served_twin import ServedTwin, eventually
from tests.web.conftest import LOSSES, PHONE, OpenPage, Serve, within_a_second
from tests.web.signing_in import sign_in_as_user

pytestmark = pytest.mark.needs_program("chromium")


def lever(page: Page, name: str) -> Locator:
    return page.get_by_role("switch", name=name, exact=True)


def post(page: Page, label: str) -> Locator:
    """A lever with what stands around it."""
    return page.locator(f".post[data-label='{label}']")


def tile(page: Page, label: str) -> Locator:
    return page.locator(f".tile[data-label='{label}']")


def test_levers_switch_count_down_are_locked_and_shown_inverted(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("status")
    expect(page.get_by_text("Everything is OK.")).to_be_visible()
    out0, out1 = lever(page, "Output 0"), lever(page, "Output 1")
    out1.click()
    expect(out1).to_have_attribute("aria-checked", "true")
    expect(out1).to_contain_text("on")
    expect(post(page, "OUT1")).to_contain_text("by hand")
    eventually(lambda: twin.state()["OUT1"], 1)

    with page.expect_response(lambda reply: "pwmd=375" in reply.url):
        page.get_by_label("Duty of PWM output 3").fill("75")
    expect(page.get_by_label("Duty of PWM output 3")).to_have_value("75")
    assert twin.settings()["pwm"][3]["duty"] == 75

    # The return time counts down on the lever.
    twin.get("/outs.cgi?ortime=030")
    out0.click()
    expect(out0).to_contain_text("0:30 left")
    twin.get("/sim.cgi?advance=1")
    expect(out0).to_contain_text("0:29 left")
    twin.get("/sim.cgi?advance=29")
    expect(out0).not_to_contain_text("left")

    # A locked output says why it does not move.
    twin.get("/stm.cgi?outblock=1")
    expect(out0).to_contain_text("locked")
    out0.dispatch_event("click")
    # A press shows who locked it, and when.
    expect(post(page, "OUT0").get_by_role("alert")).to_have_text(
        re.compile(r"^locked by 127\.0\.0\.1, \d\d:\d\d: only rules, the schedule and the watchdog")
    )
    assert twin.state()["OUT0"] == 0
    twin.get("/stm.cgi?outblock=0")
    expect(out0).not_to_contain_text("locked")

    # The delay of a rule counts down on the lever that it moves.
    twin.get("/inpa.cgi?event=0*10*0*2150*50*0*3*0*0*0*0*0*1*60*0*0&eventon=0*1")
    rule = twin.settings()["rules"][0]
    twin.set_readings(**{rule["source"]: 40.0})
    expect(post(page, rule["action"])).to_contain_text("Rule 1 acts in 1 min")

    expect(tile(page, "INPD2")).to_contain_text("open")
    twin.get("/stm.cgi?outnn=1&inpdnn=2")
    expect(out0).to_have_attribute("aria-checked", "true")
    expect(tile(page, "INPD1")).to_contain_text("open")
    expect(tile(page, "INPD2")).to_contain_text("closed")
    twin.get("/outs.cgi?ortime=00")
    out0.click()
    expect(out0).to_have_attribute("aria-checked", "false")
    eventually(lambda: twin.state()["OUT0"], 1)


@pytest.mark.thorough
def test_pulse_takes_two_clicks_and_leaves_the_return_time_alone(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/outs.cgi?ortime=0600")
    page = open_page("status")
    menu = page.locator("details.pulse").first
    page.locator("summary[aria-label='Output 0: on for']").click()
    page.get_by_role("button", name="10 s").click()
    expect(lever(page, "Output 0")).to_contain_text("0:10 left")
    assert twin.settings()["outputs"][0]["return_time"] == 600
    twin.get("/sim.cgi?advance=10")
    expect(lever(page, "Output 0")).to_have_attribute("aria-checked", "false")

    menu.locator("summary").click()
    expect(menu).to_have_attribute("open", "")
    page.keyboard.press("Escape")
    expect(menu).not_to_have_attribute("open", "")
    expect(menu.locator("summary")).to_be_focused()

    # Or it lasts as long as is written, or until a time of day; what cannot be read stays there.
    menu.locator("summary").click()
    menu.get_by_role("textbox").fill("a while")
    menu.get_by_role("button", name="Switch on").click()
    expect(page.get_by_text("Not a duration.")).to_be_visible()
    expect(menu.get_by_role("textbox")).to_have_value("a while")
    menu.get_by_role("textbox").fill("1 min 30 s")
    menu.get_by_role("button", name="Switch on").click()
    expect(lever(page, "Output 0")).to_contain_text("1:30 left")
    menu.locator("summary").click()
    until = datetime.fromtimestamp(twin.state()["time"] + 110, UTC)
    menu.get_by_role("textbox").fill(f"{until:%H:%M}")
    menu.get_by_role("button", name="Switch on").click()
    expect(lever(page, "Output 0")).to_contain_text("1:50 left")
    expect(menu).not_to_have_attribute("open", "")


def test_foreign_changes_show_within_a_second_and_absent_readings_show_since_when(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    for value in (20.0, 30.0, 25.0):
        twin.set_readings(DS1=value)
        twin.get("/sim.cgi?advance=600")
    twin.get("/stm.cgi?dswrite=1:28:FF:00:00:00:00:00:01")
    page = open_page("status", allow=LOSSES)
    # Every reading has a line of the last hour, and a value that changed is marked once.
    path = tile(page, "DS1").locator("path.course")
    expect(path).to_have_attribute("d", re.compile(r"^M\d+ .*L\d+ "))
    before = path.get_attribute("d")
    expect(tile(page, "DS1")).not_to_have_attribute("data-beat", re.compile("."))
    twin.set_readings(DS1=40.0)
    expect(tile(page, "DS1")).to_have_attribute("data-beat", "1")
    expect(tile(page, "VCC")).not_to_have_attribute("data-beat", re.compile("."))
    expect(path).not_to_have_attribute("d", before or "")

    twin.get("/stm.cgi?oname=2Pump")
    expect(lever(page, "Pump")).to_be_visible()
    twin.get("/outs.cgi?out2=1")
    within_a_second(lambda: lever(page, "Pump").get_attribute("aria-checked"), "true")
    twin.set_readings(DS1=61.4)
    within_a_second(lambda: "61.4" in tile(page, "DS1").inner_text(), True)

    # Without a connection nothing is said to be fine.
    page.context.set_offline(True)
    expect(page.locator(".glance")).to_contain_text("No connection: the current state is unknown")
    expect(page.locator(".glance .fine")).to_have_count(0)
    page.context.set_offline(False)
    expect(page.locator(".glance .fine")).to_be_visible()

    twin.set_readings(DS1=None)
    expect(page.locator(".tile[data-absent]")).to_contain_text("▲ silent since")
    expect(tile(page, "DS1").locator(".value")).to_contain_text("61.4")
    expect(page.locator(".glance .findings")).to_contain_text("Thermometer 1 no longer responds.")


def test_finding_shows_within_a_second_where_to_repair_it_and_disappears_with_the_repair(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("status", language="pl")
    count = page.locator("nav.groups .finding-count")
    expect(count).to_have_count(0)
    twin.get("/inpa.cgi?event=0*100*0*0*0*0*28*0*0*0*0*0*1*0*0*0&eventon=0*1")
    finding = page.locator(".glance .findings li")
    mail_finding = finding.filter(has_text="Nie można wysłać poczty")
    within_a_second(lambda: (mail_finding.count(), count.all_inner_texts()), (1, ["▲ 1"]))
    expect(page.locator(".glance .fine")).to_have_count(0)
    finding.get_by_role("link").click()
    expect(page.locator("main[data-page=messages] > .findings")).to_contain_text(
        "Nie można wysłać poczty"
    )
    twin.get("/stm.cgi?em8=Open")
    twin.get("/stm.cgi?em1=mail.example")
    twin.get("/stm.cgi?em5=keeper@example.org")
    within_a_second(page.locator(".findings").count, 0)
    expect(count).to_have_count(0)


@pytest.mark.thorough
def test_names_stand_on_status_and_what_is_shown_can_be_chosen(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?oname=0Lamp")
    # Counts pulses at the third digital input.
    twin.get("/inpa.cgi?powsel=1*8&powim=11000&powset=15000")
    twin.set_readings(DS1=20.0, DS2=20.0, INPA1=1.0)
    page = open_page("status")
    meter = page.locator("table.meters tbody tr")
    expect(meter).to_have_count(1)
    expect(meter.get_by_role("link", name="Meter 2")).to_be_visible()
    expect(meter.locator("td").nth(2)).to_have_text("5 kWh")
    expect(post(page, "OUT0").get_by_role("link", name="Lamp")).to_be_visible()
    expect(page.get_by_role("heading", name="Readings")).to_be_visible()
    # No internal key is among them.
    main = page.locator("main")
    for part in (".glance", ".frame", ".tiles", ".meters, .empty"):
        for text in main.locator(part).all_inner_texts():
            assert not re.search(r"\b(OUT|PWM|INPA|INPD|DS|EVENT|POWER)\d", text), text

    page.get_by_role("button", name="Choose what is shown").click()
    page.get_by_role("dialog").get_by_label("Output 1", exact=True).uncheck()
    page.get_by_role("dialog").get_by_label("Thermometer 2", exact=True).uncheck()
    page.get_by_role("button", name="Save").click()
    expect(lever(page, "Lamp")).to_be_visible()
    expect(lever(page, "Output 1")).to_have_count(0)
    expect(tile(page, "DS2")).to_have_count(0)
    hidden = [i for i, on in enumerate(twin.settings()["layout"]["visible"]) if not on]
    assert hidden == [1, 23]


@pytest.mark.thorough
def test_reading_opens_its_drawer(twin: ServedTwin, open_page: OpenPage) -> None:
    twin.get("/inpa.cgi?event=0*10*1*2150*50*0*0*0*0*0*0*0*1*0*0*0")
    source = twin.settings()["rules"][0]["source"]
    twin.set_readings(**{source: 21.4375})
    page = open_page("status")
    tile(page, source).click()
    drawer = page.get_by_role("dialog")
    expect(page).to_have_url(re.compile(rf"#/status\?thing={source}$"))
    expect(drawer).to_contain_text("21.4375")
    expect(drawer.locator(".line svg")).to_be_visible()
    expect(drawer.get_by_role("link", name="Rule 1")).to_be_visible()
    expect(drawer.get_by_role("link", name="Create a rule from this")).to_have_attribute(
        "href", f"#/rules?source={source}"
    )
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    expect(page).to_have_url(re.compile("#/status$"))
    expect(tile(page, source)).to_be_focused()
    page.keyboard.press("Enter")
    expect(drawer).to_be_visible()
    page.go_back()
    expect(drawer).to_have_count(0)
    expect(tile(page, source)).to_be_focused()
    page.go_forward()
    page.reload()
    drawer.get_by_role("button", name="Close").click()
    expect(drawer).to_have_count(0)
    expect(page).to_have_url(re.compile("#/status$"))


@pytest.mark.thorough
def test_thirty_readings_of_modules_find_their_place_on_a_phone(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.set_readings(**{f"m{number}": float(number) for number in range(1, 31)})
    page = open_page("status", viewport=PHONE)
    expect(page.locator(".tile[data-label^=m]")).to_have_count(30)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.thorough
def test_older_version_shows_what_it_has(serve: Serve, open_page: OpenPage) -> None:
    page = open_page("status", of=serve("3.0", "1.58a"))
    expect(lever(page, "Output 5")).to_be_visible()
    expect(page.get_by_text("Everything is OK.")).to_be_visible()


@pytest.mark.thorough
def test_user_who_may_only_switch_sees_no_log_and_no_complaint(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?oname=0Lamp")
    page = open_page("status")
    sign_in_as_user(page, twin)
    lever(page, "Lamp").click()
    expect(lever(page, "Lamp")).to_have_attribute("aria-checked", "true")
    expect(page.locator(".log")).to_have_count(0)
    expect(page.get_by_role("button", name="Choose what is shown")).to_have_count(0)
    tile(page, "VCC").click()
    expect(page.get_by_role("dialog")).to_contain_text("On the board")
    expect(page.get_by_role("link", name="Create a rule from this")).to_have_count(0)


#: Whether whatever is seen of a menu is its own, looked at every few pixels down its middle.
IS_ON_TOP = """(menu) => {
  const { left, top, width, height } = menu.getBoundingClientRect();
  const isOwn = (x, y) => menu.contains(document.elementFromPoint(x, y));
  return Array.from({ length: height / 4 - 2 }, (_, step) => top + 4 * (step + 1))
    .every((y) => [0.2, 0.5, 0.8].every((share) => isOwn(left + share * width, y)));
}"""


@pytest.mark.thorough
def test_pulse_menu_covers_the_rows_below_it_on_a_phone(open_page: OpenPage) -> None:
    page = open_page("status", viewport=PHONE, touch=True)
    page.locator("details.pulse summary").first.click()
    menu = page.locator("details.pulse .menu")
    expect(menu).to_be_visible()
    assert menu.evaluate(IS_ON_TOP)

    # Also that of the last output, which is near the bar at the lower end.
    page.locator("details.pulse summary").last.click()
    expect(menu).to_have_count(1)
    expect(menu).to_be_in_viewport(ratio=1)
    eventually(lambda: menu.evaluate(IS_ON_TOP), True)


@pytest.mark.thorough
def test_summary_of_readings_matches_the_readings_below(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.set_readings(DS1=21.5)
    page = open_page("status")
    tiles = page.locator(".tile")
    expect(tile(page, "DS1")).to_be_visible()
    expect(page.locator(".glance small")).to_contain_text(f"{tiles.count()} readings watched")
    # The state of an input an hour ago is unknown if the controller has just started.
    expect(tile(page, "INPD1").locator(".tendency")).to_have_text("since 00:00")
    twin.get("/sim.cgi?INPD1=1&advance=7200")
    page.reload()
    expect(tile(page, "INPD1").locator(".tendency")).to_have_text("over 1 h")
    # What lasts is one bar, not one for every minute.
    expect(tile(page, "INPD1").locator("rect")).to_have_count(1)


@pytest.mark.thorough
def test_slider_shows_its_number_while_its_output_is_off(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?pwmd=270")
    page = open_page("status")
    expect(post(page, "PWM2").get_by_role("switch")).to_contain_text("off")
    expect(post(page, "PWM2").locator("output")).to_have_text("70 %")
    expect(post(page, "PWM2").locator("output")).to_be_visible()


@pytest.mark.thorough
def test_rule_that_got_its_name_later_is_called_by_it_by_every_account(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/inpa.cgi?event=0*102*0*0*0*0*3*0*0*0*0*0&eventon=0*1")
    twin.get("/sim.cgi?INPD3=0&advance=5")
    page = open_page("status")
    expect(post(page, "OUT3").locator(".cause")).to_have_text("Rule 1")
    twin.get("/inpa.cgi?rulename=0*Door%20open")
    expect(post(page, "OUT3").locator(".cause")).to_have_text("Door open")
    sign_in_as_user(page, twin)
    expect(post(page, "OUT3").locator(".cause")).to_have_text("Door open")
