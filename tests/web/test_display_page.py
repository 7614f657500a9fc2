"""The Display page in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.clients.served_twin import ServedTwin
from tests.web.cards import card, save
from tests.web.conftest import OpenPage, Serve

pytestmark = pytest.mark.needs_program("chromium")


def test_screen_is_saved_without_touching_the_others(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("display")
    second = card(page, "Screen 2")
    second.get_by_label("In rotation").check()
    second.get_by_label("Line 1").fill("T !01416 °C")
    second.get_by_label("Line 4").fill("100% & more")
    save(second)
    page.reload()
    expect(second.get_by_label("Line 4")).to_have_value("100% & more")
    screens = twin.settings()["oled"]["screens"]
    assert screens[1] == {"active": True, "lines": ["T !01416 °C", "", "", "100% & more"]}
    assert [screen["active"] for screen in screens] == [True, True, False, False]


@pytest.mark.thorough
def test_display_itself_and_its_bus_are_set(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("display")
    general = card(page, "Display")
    general.get_by_label("Display connected and on").check()
    general.get_by_label("Turns off after").fill("90")
    save(general)
    bus = card(page, "I2C bus")
    bus.get_by_label("Frequency").fill("100")
    save(bus)
    oled = twin.settings()["oled"]
    assert (oled["enabled"], oled["display_time"], oled["frequency"]) == (True, 90, 100)


@pytest.mark.thorough
def test_code_is_put_where_the_line_was_edited(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("display")
    expect(page.get_by_role("button", name="Insert")).to_be_disabled()
    first_line = card(page, "Screen 1").get_by_label("Line 1")
    first_line.fill("VCC V")
    first_line.press("End")
    first_line.press("ArrowLeft")
    page.get_by_label("Stands for").select_option(label="Supply voltage")
    page.get_by_label("Decimals").select_option("2")
    page.get_by_label("Minimum width").select_option("6")
    page.get_by_role("button", name="Insert").click()
    expect(first_line).to_have_value("VCC !00026V")
    page.keyboard.type("-")
    expect(first_line).to_have_value("VCC !00026-V")


@pytest.mark.thorough
def test_picture_follows_the_display(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("display")
    brightness = """() => {
      const picture = document.querySelector("img.oled");
      const canvas = new OffscreenCanvas(128, 64).getContext("2d");
      canvas.drawImage(picture, 0, 0, 128, 64);
      return canvas.getImageData(0, 0, 128, 64).data.some((byte, at) => at % 4 < 3 && byte > 0);
    }"""
    expect(page.get_by_role("img", name="Picture of the display")).to_be_visible()
    assert page.evaluate(brightness) is False
    general, first = card(page, "Display"), card(page, "Screen 1")
    first.get_by_label("Line 1").fill("Hello")
    save(first)
    general.get_by_label("Display connected and on").check()
    save(general)
    page.wait_for_function(brightness)


@pytest.mark.thorough
def test_versions_with_one_screen_have_their_own_form(serve: Serve, open_page: OpenPage) -> None:
    older = serve("3.5", "1.36")
    page = open_page("display", of=older)
    expect(page.get_by_label("Line 1")).to_have_count(1)
    single = card(page, "Display")
    single.get_by_label("Display connected and on").check()
    single.get_by_label("Line 3").fill("T !1416")
    save(single)
    page.reload()
    expect(single.get_by_label("Line 3")).to_have_value("T !1416")
    oled = older.settings()["oled"]
    assert (oled["enabled"], oled["screens"][0]["lines"]) == (True, ["", "", "T !1416", ""])


@pytest.mark.thorough
def test_codes_have_as_many_digits_as_the_version_wants(serve: Serve, open_page: OpenPage) -> None:
    page = open_page("display", of=serve("3.0", "1.58a"))
    page.get_by_label("Stands for").select_option(label="Temperature")
    expect(page.locator("output.code")).to_have_text("!1410")
