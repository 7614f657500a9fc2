"""The Charts page in a real browser."""

import csv
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import APIResponse, Locator, Page, Route, expect

from tests.clients.served_twin import ServedTwin
from tests.stopwatch import delay_s
from tests.web.conftest import PHONE, OpenPage, within_a_second
from tests.web.touch import Point, drag_fingers

pytestmark = pytest.mark.needs_program("chromium")

DAY_OF_SECONDS = (Path(__file__).parents[2] / "bench/day_of_seconds.js").read_text(encoding="utf-8")
#: Five times what is wanted.
MAX_MS = 1000


def simulate_hour(twin: ServedTwin) -> None:
    """DS1 for an hour, away in the middle of it; OUT2 on at its end."""
    twin.set_readings(DS1=20.0)
    twin.get("/sim.cgi?advance=1200")
    twin.set_readings(DS1=None)
    twin.get("/sim.cgi?advance=600")
    twin.set_readings(DS1=24.0)
    twin.get("/outs.cgi?out2=1")
    twin.get("/sim.cgi?advance=600")


def plot(page: Page, number: int = 0) -> Locator:
    return page.locator(".u-over").nth(number)


def parameters(page: Page) -> dict[str, list[str]]:
    return parse_qs(page.url.partition("?")[2])


def drag(page: Page, part: tuple[float, float], key: str = "") -> None:
    """Across a share of the first chart."""
    expect(page.locator(".charts[aria-busy=false]")).to_be_visible()
    box = plot(page).bounding_box()
    assert box
    y = box["y"] + box["height"] / 2
    if key:
        page.keyboard.down(key)
    page.mouse.move(box["x"] + box["width"] * part[0], y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * part[1], y, steps=5)
    page.mouse.up()
    if key:
        page.keyboard.up(key)


def test_chart_shows_gaps_follows_time_and_zooms_by_drag(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    simulate_hour(twin)
    page = open_page("charts?labels=DS1&range=1h")
    expect(plot(page)).to_be_visible()
    now = twin.state()["time"]
    # The value under the cursor: present, absent, present again.
    box = plot(page).bounding_box()
    assert box
    said = []
    for ago in (2000, 900, 300):
        page.mouse.move(box["x"] + box["width"] * (1 - ago / 3600), box["y"] + 50)
        said.append(page.locator(".courses tbody td").last.inner_text())
    assert said == ["20.0", "–", "24.0"], now
    page.mouse.move(0, 0)

    drag(page, (0.5, 0.75))
    expect(page.get_by_role("button", name="Back to now")).to_be_visible()
    shown = parameters(page)
    assert float(shown["from"][0]) == pytest.approx(now - 1800, abs=30)
    assert float(shown["to"][0]) == pytest.approx(now - 900, abs=30)

    drag(page, (0.5, 0.75), key="Shift")
    expect(page.locator(".charts[aria-busy=false]")).to_be_visible()
    moved = parameters(page)
    assert float(moved["from"][0]) == pytest.approx(now - 1800 - 225, abs=30)

    plot(page).dblclick()
    expect(page.get_by_role("button", name="1 h")).to_have_attribute("aria-pressed", "true")
    assert parameters(page)["range"] == ["1h"]

    # Back closes the zoom, too.
    drag(page, (0.5, 0.75))
    expect(page.get_by_role("button", name="Back to now")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("button", name="1 h")).to_have_attribute("aria-pressed", "true")

    page.mouse.move(0, 0)
    expect(page.locator(".courses")).to_contain_text("24.0")
    twin.get("/sim.cgi?advance=10")
    twin.set_readings(DS1=33.5)
    within_a_second(lambda: "33.5" in page.locator(".courses").inner_text(), True)


def test_chart_loses_nothing_of_what_is_heard(twin: ServedTwin, open_page: OpenPage) -> None:
    simulate_hour(twin)
    page = open_page("charts?labels=DS1&range=1h")
    last = page.locator(".courses tbody td").last
    clock = page.locator(".connection time")
    # Two messages about one moment.
    before = clock.inner_text()
    twin.get("/sim.cgi?advance=60")
    expect(clock).not_to_have_text(before)
    expect(page.locator(".charts[aria-busy=false]")).to_be_visible()
    twin.set_readings(DS1=33.5)
    expect(last).to_have_text("33.5")

    # A message while an answer that is older is on its way.
    before = clock.inner_text()
    held: list[tuple[Route, APIResponse]] = []

    def change_before_answer(route: Route) -> None:
        query = parse_qs(route.request.url.partition("?")[2])
        is_of_a_day = float(query["to"][0]) - float(query["from"][0]) > 2 * 3600
        if held or not is_of_a_day:
            # One that follows an earlier message may still come.
            route.continue_()
            return
        held.append((route, route.fetch()))
        twin.get("/sim.cgi?advance=60&DS1=35.5")

    page.route("**/api/history?*", change_before_answer)
    page.get_by_role("button", name="24 h").click()
    expect(clock).not_to_have_text(before)
    [(route, answer)] = held
    route.fulfill(response=answer)
    expect(last).to_have_text("35.5")


@pytest.mark.thorough
def test_labels_and_range_are_chosen_kept_by_the_address_and_had_as_a_table(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("charts")
    # Without a choice, readings that are there are drawn.
    expect(page.locator(".courses")).to_have_count(2)
    expect(page.get_by_text("Recorded since")).to_be_visible()
    for name in ("Board temperature", "Supply voltage"):
        page.get_by_label(name).uncheck()
    expect(page.get_by_text("Choose what to draw.")).to_be_visible()

    simulate_hour(twin)
    page.evaluate("location.hash = '#/charts?labels=DS1&range=1h'")
    # Open at the side of a wide screen.
    page.get_by_label("Output 2", exact=True).check()
    expect(plot(page, 1)).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download as CSV").click()
    rows = list(csv.reader(StringIO(download.value.path().read_text(encoding="utf-8"))))
    assert rows[0][0].startswith("time (")
    assert rows[0][1:] == ["Thermometer 1 (°C)", "Output 2"]
    assert "Thermometer-1_Output-2_2026-01-0" in download.value.suggested_filename
    assert [row[1] for row in rows[1:] if row[1]] != []
    assert [float(text) for text in rows[-1][1:]] == [24.0, 1.0]
    assert "" in [row[1] for row in rows]

    page.get_by_role("button", name="7 d").click()
    assert parameters(page) == {"labels": ["DS1,OUT2"], "range": ["7d"]}
    page.reload()
    expect(page.get_by_role("button", name="7 d")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".courses")).to_have_count(2)


@pytest.mark.thorough
def test_yesterday_stands_behind_and_the_same_time_is_on_the_timeline(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.set_readings(DS1=18.0)
    twin.get("/sim.cgi?advance=86400")
    simulate_hour(twin)
    page = open_page("charts?labels=DS1,OUT2&range=1h")
    page.get_by_role("button", name="Yesterday").click()
    before = page.locator(".courses").first
    expect(before.locator("th").last).to_have_text("Yesterday")
    expect(before.locator("td").last).to_have_text("18.0")
    assert parameters(page)["behind"] == ["day"]
    # The cursor that was left on a chart stands on the timeline, and on the charts again.
    page.mouse.click(*on_plot(page, 0.4)[0])
    page.mouse.move(0, 0)
    moment = before.locator("th").nth(3)
    expect(moment).not_to_have_text("Last")
    left_at = moment.inner_text()
    page.get_by_role("link", name="On the timeline").click()
    expect(page.locator(".timeline .bars .cause-hand").first).to_be_visible()
    assert (page.locator(".flag text").text_content() or "-") in left_at
    page.go_back()
    expect(before.locator("th").nth(3)).to_have_text(left_at)


def on_plot(page: Page, *shares: float) -> list[Point]:
    """Points in the middle of the first chart, at shares of its width."""
    expect(page.locator(".charts[aria-busy=false]")).to_be_visible()
    plot(page).scroll_into_view_if_needed()
    box = plot(page).bounding_box()
    assert box
    return [(box["x"] + box["width"] * share, box["y"] + box["height"] / 2) for share in shares]


def read_span(page: Page) -> tuple[float, float]:
    expect(page.get_by_role("button", name="Back to now")).to_be_visible()
    shown = parameters(page)
    return float(shown["from"][0]), float(shown["to"][0])


@pytest.mark.thorough
def test_fingers_move_and_stretch_the_time_and_still_scroll_the_page(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    simulate_hour(twin)
    page = open_page("charts?labels=DS1,VCC,OUT2&range=1h", viewport=PHONE, touch=True)
    now = twin.state()["time"]
    [(x, y)] = on_plot(page, 0.5)
    before = page.evaluate("scrollY")
    drag_fingers(page, ((x, y), (x + 4, y - 200)))
    page.wait_for_function("(before) => scrollY > before + 50", arg=before)
    assert parameters(page)["range"] == ["1h"]

    # Two fingers stretch the time, and two taps return.
    far_left, left, right, far_right = on_plot(page, 0.25, 0.375, 0.625, 0.75)
    drag_fingers(page, (left, far_left), (right, far_right))
    assert read_span(page) == pytest.approx((now - 2700, now - 900), abs=60)
    drag_fingers(page, (far_left, left), (far_right, right))
    page.wait_for_function(f"!location.hash.includes('from={now - 2700:.0f}')")
    assert read_span(page) == pytest.approx((now - 3600, now), abs=60)
    for _ in range(2):
        page.touchscreen.tap(*left)
    expect(page.get_by_role("button", name="1 h")).to_have_attribute("aria-pressed", "true")

    # One finger moves it, and never past now.
    left, right = on_plot(page, 0.25, 0.75)
    drag_fingers(page, (left, right))
    assert read_span(page) == pytest.approx((now - 5400, now - 1800), abs=60)
    drag_fingers(page, (right, left))
    drag_fingers(page, (right, left))
    page.wait_for_function(f"location.hash.includes('to={now:.0f}')")
    assert read_span(page) == pytest.approx((now - 3600, now), abs=60)

    # For those without a mouse there are buttons, too.
    page.get_by_role("button", name="Back to now").click()
    page.get_by_role("button", name="Earlier").click()
    assert float(parameters(page)["to"][0]) == pytest.approx(now - 1800, abs=2)
    page.get_by_role("button", name="Zoom in").click()
    shown = parameters(page)
    assert float(shown["to"][0]) - float(shown["from"][0]) == pytest.approx(1800, abs=2)
    page.get_by_role("button", name="Back to now").click()
    expect(page.get_by_role("button", name="1 h")).to_have_attribute("aria-pressed", "true")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    # A chart does not run away under a finger.
    left, right = on_plot(page, 0.25, 0.75)
    console = page.context.new_cdp_session(page)
    for kind, points in (("touchStart", [left]), ("touchMove", [right])):
        touches = [{"x": x, "y": y} for x, y in points]
        console.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})
    twin.get("/sim.cgi?advance=1")
    twin.set_readings(DS1=33.5)
    expect(page.locator(".courses").first).to_contain_text("33.5")
    console.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert read_span(page) == pytest.approx((now - 5400, now - 1800), abs=60)


def milliseconds_to_draw(page: Page) -> float:
    before = delay_s()
    took_ms: float = page.evaluate(DAY_OF_SECONDS)
    return took_ms - 1000 * (delay_s() - before)


@pytest.mark.thorough
def test_day_of_seconds_is_drawn_immediately(
    open_page: OpenPage, record_property: Callable[[str, object], None]
) -> None:
    page = open_page("charts?labels=VCC")
    milliseconds = min(milliseconds_to_draw(page) for _ in range(3))
    # The best of three: others use the machine, too.
    record_property("a day of seconds drawn, ms", round(milliseconds))
    print(f"a day of seconds drawn in {milliseconds:.0f} ms")
    assert milliseconds < MAX_MS
