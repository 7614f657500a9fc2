"""The timeline in a real browser: causes at a press, by keys, by address, and advancing time."""

import pytest
from playwright.sync_api import Locator, Page, expect

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import VirtualClock
from leverframe.core.settings import Rule
from leverframe.interface.table.rules import event_query
from tests.clients.served_twin import ServedTwin
from tests.web.conftest import PHONE, OpenPage
from tests.web.test_pages import AXE, grave_violations

pytestmark = pytest.mark.needs_program("chromium")

START = VirtualClock.START
HOUR = 3600
HOT = Rule(source="DS1", compare=">=", reference=24, hysteresis=1, action="OUT3", on_delay=180)
REPEAT_KEY = """(place, [key, times]) => {
  for (let time = 0; time < times; time++)
    place.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}"""
MAIL = Rule(source="DS1", compare=">=", reference=24, action="eMail 1")


def simulate_day(twin: ServedTwin) -> None:
    """Too warm for half an hour: a fan and a mail; then a hand, with a return time."""
    twin.get("/stm.cgi?oname=3Roof%20fan&em8=Hot")
    for place, (rule, name) in enumerate(((HOT, "Too%20warm"), (MAIL, "Send"))):
        twin.get(f"/inpa.cgi?{event_query(place, rule, Profile())}&eventon={place}*1")
        twin.get(f"/inpa.cgi?rulename={place}*{name}")
    for celsius, seconds in ((20, HOUR), (24.1, HOUR // 2), (22.9, HOUR)):
        twin.set_readings(DS1=celsius)
        twin.get(f"/sim.cgi?advance={seconds}")
    twin.get("/outs.cgi?ortime=0600")
    twin.get("/outs.cgi?out0=1")


def board(page: Page) -> Locator:
    return page.locator(".timeline svg.bars[role=img]")


def place(page: Page, time: float, lane: str) -> tuple[float, float]:
    """Where a moment of a lane is on the screen."""
    expect(page.locator(".timeline[aria-busy=false]")).to_be_visible()
    cursor = page.get_by_role("slider")
    first, last = (float(cursor.get_attribute(f"aria-value{end}") or 0) for end in ("min", "max"))
    box, row = board(page).bounding_box(), page.locator(".labels li", has_text=lane).bounding_box()
    assert box
    assert row
    share = (time - first) / (last - first)
    return box["x"] + box["width"] * share, row["y"] + row["height"] / 2


def test_press_shows_the_whole_chain_and_fast_forwards(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    simulate_day(twin)
    page = open_page("timeline")
    page.mouse.click(*place(page, START + HOUR + 600, "Roof fan"))
    steps = page.locator(".chain li")
    expect(page.locator(".pick h2")).to_have_text("Roof fan on")
    expect(steps).to_have_count(7)
    expect(steps.nth(0)).to_contain_text("rose to 24.1 °C")
    expect(steps.nth(0)).to_contain_text("At least 24 °C: met. Ends below 23 °C.")
    expect(steps.nth(1)).to_contain_text("Too warm")
    expect(steps.nth(1)).to_contain_text("waited 3 min")
    expect(steps.nth(3)).to_contain_text("E-mail")
    expect(steps.nth(4)).to_contain_text("fell to 22.9 °C")
    # The interlock has a ring at each lane that took part: reading, rule, output, messages.
    expect(board(page).locator(".interlock circle")).to_have_count(4)
    page.evaluate(AXE)
    assert grave_violations(page, []) == []

    # What is to come is drawn as planned; the cursor that is let go there lets time pass.
    expect(board(page).locator(".planned")).to_have_count(1)
    x, _ = place(page, twin.state()["time"], "Roof fan")
    ahead, _ = place(page, twin.state()["time"] + 2 * HOUR, "Roof fan")
    flag = page.get_by_role("slider").bounding_box()
    assert flag
    page.mouse.move(x, flag["y"] + 15)
    page.mouse.down()
    page.mouse.move(ahead, flag["y"] + 15, steps=4)
    page.mouse.up()
    expect(board(page).locator(".planned")).to_have_count(0)
    state = twin.state()
    assert state["OUT0"] == 0
    assert state["time"] > START + 4 * HOUR

    # A drawn mouse zooms, and Back leads to what was shown before.
    x, y = place(page, START + HOUR, "Roof fan")
    page.mouse.move(x - 40, y)
    page.mouse.down()
    page.mouse.move(x + 80, y, steps=4)
    page.mouse.up()
    expect(page.get_by_role("button", name="Now")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("button", name="24 h")).to_have_attribute("aria-pressed", "true")


@pytest.mark.thorough
def test_on_a_phone_the_chain_stands_where_the_press_is_seen(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    simulate_day(twin)
    # So low that the lanes alone fill the screen.
    viewport = (PHONE[0], 560)
    page = open_page(f"timeline?at={START + HOUR + 900:.0f}", viewport=viewport, touch=True)
    expect(page.locator(".flag")).to_be_in_viewport()
    page.mouse.click(*place(page, START + HOUR + 900, "Roof fan"))
    expect(page.locator(".pick h2")).to_have_text("Roof fan on")
    expect(page.locator(".chain li").first).to_be_in_viewport(ratio=1)
    expect(page.locator(".labels li", has_text="Roof fan")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator(".pick").get_by_role("button", name="Close").click()
    expect(page.locator(".pick h2")).to_have_text("Why?")


@pytest.mark.thorough
def test_address_opens_at_a_moment_and_keys_do_what_a_mouse_does(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    simulate_day(twin)
    page = open_page(f"timeline?at={START + HOUR + 180:.0f}", viewport=PHONE, touch=True)
    expect(page.locator(".pick h2")).to_have_text("Roof fan on")
    # The picture is wider than a phone, and opens where the cursor is.
    expect(page.locator(".flag")).to_be_in_viewport()
    cursor = page.get_by_role("slider")
    expect(cursor).to_have_attribute("aria-valuenow", f"{START + HOUR + 180:.0f}")
    cursor.focus()
    page.keyboard.press("Escape")
    expect(page.locator(".pick h2")).to_have_text("Why?")
    page.keyboard.press("Home")
    expect(page.locator(".flag")).to_be_in_viewport()
    for _ in range(12):
        page.keyboard.press("PageUp")
    expect(page.locator(".flag")).to_be_in_viewport()
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    expect(page.locator("[data-aimed]")).to_contain_text("Roof fan")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".pick h2")).to_have_text("Roof fan on")
    # Keys that come faster than the picture is drawn are each one step.
    began = float(cursor.get_attribute("aria-valuenow") or 0)
    cursor.evaluate(REPEAT_KEY, ["PageUp", 3])
    expect(cursor).to_have_attribute("aria-valuenow", f"{began + 3 * HOUR:.0f}")
    page.get_by_role("link", name="Chart at").click()
    expect(page.locator(".charts")).to_be_visible()
