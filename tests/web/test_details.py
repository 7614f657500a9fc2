"""Details of all pages: what passes at the foot, what is printed, the manifest."""

import pytest
from playwright.sync_api import expect

from tests.web.conftest import PHONE, REFUSALS, OpenPage

pytestmark = pytest.mark.needs_program("chromium")

#: Whether most of what is drawn on a chart, its grid, is light; read from a copy.
IS_LIGHT = """(wanted) => {
  const drawn = document.querySelector(".chart canvas");
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = [drawn.width, drawn.height];
  const paper = copy.getContext("2d", { willReadFrequently: true });
  paper.drawImage(drawn, 0, 0);
  const { data } = paper.getImageData(0, 0, copy.width, copy.height);
  const shades = data.filter((_, at) => at % 4 === 0 && data[at + 3] > 200).sort();
  return shades[shades.length >> 1] > 128 === wanted;
}"""


@pytest.mark.thorough
def test_saved_message_is_shown_above_the_thumb_bar_of_a_phone(open_page: OpenPage) -> None:
    page = open_page("interface", viewport=PHONE)
    page.get_by_label("Name").first.fill("Lamp")
    page.get_by_label("Name").first.press("Enter")
    line = page.locator("form.card").first.get_by_role("status")
    expect(line).to_have_text("Saved")
    expect(line).to_be_in_viewport(ratio=1)
    box, bar = line.bounding_box(), page.locator(".phone-bar").bounding_box()
    assert box is not None
    assert bar is not None
    assert bar["y"] - 40 < box["y"] + box["height"] < bar["y"]
    assert box["x"] + box["width"] / 2 == pytest.approx(PHONE[0] / 2, abs=1)
    running = """(line) => line.getAnimations().map(
      (one) => [one.animationName, one.effect.getTiming().duration])"""
    assert line.evaluate(running) == [["passes", 6000]]
    line.evaluate("(line) => line.getAnimations()[0].finish()")
    expect(page.get_by_text("Saved", exact=True).first).to_be_hidden()


@pytest.mark.thorough
def test_print_shows_content_without_buttons(open_page: OpenPage) -> None:
    page = open_page("interface", theme="dark")
    expect(page.get_by_role("navigation").first).to_be_visible()
    page.emulate_media(media="print")
    expect(page.get_by_role("navigation")).to_have_count(0)
    expect(page.get_by_role("button", name="Save")).to_have_count(0)
    expect(page.locator("form.card").first).to_be_visible()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    page.emulate_media(media="screen")


@pytest.mark.thorough
def test_charts_are_drawn_light_on_paper(open_page: OpenPage) -> None:
    page = open_page("charts?labels=VCC", theme="dark")
    expect(page.locator(".chart canvas").first).to_be_visible()
    page.wait_for_function(IS_LIGHT, arg=False)
    page.emulate_media(media="print")
    page.wait_for_function(IS_LIGHT, arg=True)
    page.emulate_media(media="screen")


@pytest.mark.thorough
def test_browsers_can_install_the_pages(open_page: OpenPage) -> None:
    page = open_page("status")
    console = page.context.new_cdp_session(page)
    response = console.send("Page.getAppManifest")
    assert response["errors"] == []
    manifest = page.evaluate("(text) => JSON.parse(text)", response["data"])
    assert (manifest["name"], manifest["start_url"]) == ("Leverframe", "/")
    for icon in manifest["icons"]:
        drawn = """async (url) => {
          const image = Object.assign(new Image(), { src: url });
          await image.decode();
          return image.complete;
        }"""
        assert page.evaluate(drawn, response["url"].rpartition("/")[0] + "/" + icon["src"])


@pytest.mark.thorough
def test_address_with_nothing_is_a_page_with_the_way_to_status(open_page: OpenPage) -> None:
    page = open_page("status", language="cs", allow=REFUSALS)
    page.goto(page.url.partition("#")[0] + "nonsense")
    expect(page.get_by_role("heading", name="Tady nic není")).to_be_visible()
    page.get_by_role("link", name="Přejít na stránku Stav").click()
    expect(page.locator("main[data-page=status]")).to_be_visible()
