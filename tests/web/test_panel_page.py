"""The Panel page, "Status for user", in a real browser."""

from io import BytesIO
from typing import Any

import pytest
import requests
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.clients.served_twin import HOST, ServedTwin, eventually
from tests.patience import PATIENCE_S
from tests.web.conftest import PHONE, OpenPage, Serve
from tests.web.signing_in import ADMIN, sign_in_as_user
from tests.web.touch import Point, drag_fingers

pytestmark = pytest.mark.needs_program("chromium")

#: Places of OUT0 and DS1 in the lists of positions.
OUT0, DS1 = 0, 22
PICTURE = (800, 400)
#: Whether OUT0 stands in the middle of the picture.
AT_HALF = """() => {
  const box = document.querySelector(".placed[data-element=OUT0]").getBoundingClientRect();
  const stage = document.querySelector(".stage").getBoundingClientRect();
  const shares = [(box.x - stage.x) / stage.width, (box.y - stage.y) / stage.height];
  return shares.every((share) => Math.abs(share - 0.5) < 0.02);
}"""


def twin_address(twin: ServedTwin) -> str:
    return f"http://{HOST}:{twin.port}"


def upload(page: Page) -> None:
    buffer = BytesIO()
    Image.new("RGB", PICTURE, "#8899aa").save(buffer, "PNG")
    page.locator("input[type=file]").set_input_files(
        {"name": "house.png", "mimeType": "image/png", "buffer": buffer.getvalue()}
    )
    expect(page.get_by_role("img", name="Picture of the place")).to_be_visible()


def place(twin: ServedTwin, index: int, left: int, top: int) -> None:
    layout = twin.settings()["layout"]
    layout["top"][index], layout["left"][index] = top, left
    joined = {name: "*".join(map(str, layout[name])) for name in ("top", "left")}
    twin.get(f"/stm.cgi?postop=0*{joined['top']}&posleft=0*{joined['left']}")


def find_element(page: Page, label: str) -> Locator:
    return page.locator(f".placed[data-element='{label}']")


def read_place(twin: ServedTwin, index: int) -> tuple[Any, Any]:
    layout = twin.settings()["layout"]
    return layout["left"][index], layout["top"][index]


def drag(page: Page, element: Locator, to: tuple[float, float]) -> None:
    """By its upper left corner to a place of the picture, in its own pixels."""
    element.scroll_into_view_if_needed()
    grip, stage = element.bounding_box(), page.locator(".stage").bounding_box()
    assert grip
    assert stage
    scale = stage["width"] / PICTURE[0]
    page.mouse.move(grip["x"] + 2, grip["y"] + 2)
    page.mouse.down()
    page.mouse.move(stage["x"] + 50, stage["y"] + 50)
    page.mouse.move(stage["x"] + to[0] * scale + 2, stage["y"] + to[1] * scale + 2, steps=3)
    page.mouse.up()


def test_picture_is_uploaded_and_elements_are_dragged_onto_it_and_stored(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.set_readings(DS1=61.4)
    page = open_page("panel")
    page.get_by_role("button", name="Arrange").click()
    upload(page)
    page.get_by_role("button", name="Remove the picture").click()
    page.get_by_role("button", name="Remove the picture").click()
    expect(page.get_by_role("img")).to_have_count(0)
    assert twin.get("/api/panel").json() == {"picture": None}
    upload(page)
    drag(page, page.locator(".tray [data-element=OUT0]"), (200, 100))
    drag(page, page.locator(".tray [data-element=DS1]"), (600, 300))
    drag(page, find_element(page, "OUT0"), (300, 160))
    # Nothing on the way is selected, and no drag leads out of the picture.
    assert page.evaluate("getSelection().toString()") == ""
    drag(page, find_element(page, "OUT0"), (795, 395))
    inside = page.evaluate(
        "() => { const [stage, one] = ['.stage', '.placed[data-element=OUT0]'].map((found) => "
        "document.querySelector(found).getBoundingClientRect()); "
        "return one.right <= stage.right + 1 && one.bottom <= stage.bottom + 1 }"
    )
    assert inside
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Arrange")).to_be_visible()
    assert read_place(twin, OUT0) == (304, 160)
    assert read_place(twin, DS1) == (600, 304)

    page.reload()
    expect(find_element(page, "DS1")).to_contain_text("61.4")
    expect(page.get_by_text("this account is read-only")).to_have_count(0)
    lever = find_element(page, "OUT0").get_by_role("switch")
    lever.click()
    expect(lever).to_have_attribute("aria-checked", "true")
    eventually(lambda: twin.state()["OUT0"], 1)

    # A read-only account sees why it cannot switch.
    twin.get("/eeprom.cgi?bit3=1")
    sign_in_as_user(page, twin)
    expect(page.get_by_text("this account is read-only")).to_have_count(1)
    expect(lever).to_be_disabled()
    lever.dispatch_event("click")
    expect(page.get_by_role("button", name="Arrange")).to_have_count(0)
    state = requests.get(f"{twin_address(twin)}/api/state", auth=ADMIN, timeout=PATIENCE_S).json()
    assert state["OUT0"] == 1


@pytest.mark.thorough
def test_elements_are_placed_and_moved_by_keyboard(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("panel")
    page.get_by_role("button", name="Arrange").click()
    page.locator(".tray [data-element=OUT0]").press("Enter")
    # An unsaved arrangement is not left by accident.
    page.get_by_role("link", name="Charts").click()
    page.get_by_role("button", name="Stay").click()
    out0 = find_element(page, "OUT0")
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Shift+ArrowLeft"):
        out0.press(key)
    expect(out0).to_have_attribute("aria-label", "Output 0: 66 from the left, 68 from the top")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Arrange")).to_be_visible()
    assert read_place(twin, OUT0) == (66, 68)

    page.get_by_role("button", name="Arrange").click()
    out0.press("Delete")
    expect(out0).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(out0).to_have_count(1)
    out0.press("Delete")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Arrange").click()
    out0.press("Delete")
    expect(out0).to_have_count(0)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Arrange")).to_be_visible()
    assert read_place(twin, OUT0) == (0, 0)

    # The focus goes with an element that changes its place.
    page.get_by_role("button", name="Arrange").click()
    page.locator(".tray [data-element=OUT3]").press("Enter")
    expect(find_element(page, "OUT3")).to_be_focused()
    page.keyboard.press("Delete")
    expect(page.locator(".tray [data-element=OUT3]")).to_be_focused()


def middle(element: Locator) -> Point:
    box = element.bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.thorough
def test_fingers_place_elements_and_take_them_off(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("panel", viewport=PHONE, touch=True)
    page.get_by_role("button", name="Arrange").click()
    upload(page)
    stage = page.locator(".stage")

    for label in ("OUT4", "OUT5"):
        page.locator(f".tray [data-element={label}]").tap()
        expect(find_element(page, label)).to_be_in_viewport()
    upper, lower = (
        find_element(page, "OUT4").bounding_box(),
        find_element(page, "OUT5").bounding_box(),
    )
    assert upper
    assert lower
    assert upper["y"] + upper["height"] <= lower["y"]
    below = middle(page.get_by_role("heading", name="Not on the picture"))
    drag_fingers(page, (middle(find_element(page, "OUT5")), below))
    expect(find_element(page, "OUT5")).to_have_count(0)
    drag_fingers(page, (middle(page.locator(".tray [data-element=OUT0]")), middle(stage)))
    expect(find_element(page, "OUT0")).to_be_visible()

    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Arrange")).to_be_visible()
    left, top = read_place(twin, OUT0)
    assert 0.2 < left / PICTURE[0] < 0.6
    assert 0.2 < top / PICTURE[1] < 0.6
    assert read_place(twin, 4) != (0, 0)
    assert read_place(twin, 5) == (0, 0)

    # Elements keep their place on the picture of a phone, and the levers are below it once more.
    place(twin, OUT0, 400, 200)
    page.wait_for_function(AT_HALF)
    assert page.locator(".list-of-placed").get_by_role("switch").count() == 2
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.thorough
def test_older_version_has_fewer_places(serve: Serve, open_page: OpenPage) -> None:
    old = serve("3.0", "1.40")
    page = open_page("panel", of=old)
    page.get_by_role("button", name="Arrange").click()
    page.locator(".tray [data-element=OUT5]").press("Enter")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Arrange")).to_be_visible()
    assert len(old.settings()["layout"]["top"]) == 43
    assert read_place(old, 5) != (0, 0)
