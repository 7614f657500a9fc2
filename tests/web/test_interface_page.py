"""Pages and clock in a real browser: homepage, what is shown, the picture, the clock."""

from datetime import UTC, datetime
from io import BytesIO

import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.clients.served_twin import ServedTwin
from tests.web.cards import titled
from tests.web.conftest import OpenPage, Serve

pytestmark = pytest.mark.needs_program("chromium")


HOMEPAGES = {
    "Status for user": "panel",
    "Serial port": "serial",
    "Modbus": "modbus",
    "Status": "status",
}


def test_an_address_without_a_page_opens_the_homepage(open_page: OpenPage) -> None:
    page = open_page("interface")
    address = page.url.partition("#")[0]
    for chosen, opened in HOMEPAGES.items():
        page.get_by_label("First page").select_option(chosen)
        titled(page, "Pages").get_by_role("button", name="Save").click()
        expect(titled(page, "Pages").get_by_role("status")).to_have_text("Saved")
        page.goto(f"{address}health")
        page.goto(address)
        expect(page.locator(f"main[data-page={opened}]")).to_be_visible()
        page.goto(f"{address}#/interface")


@pytest.mark.thorough
def test_the_older_homepage_is_chosen_where_the_version_has_it(
    serve: Serve, open_page: OpenPage
) -> None:
    old = serve("3.5", "1.36")
    page = open_page("interface", of=old)
    expect(page.get_by_label("Show only names")).to_have_count(0)
    page.get_by_label("First page").select_option("Status for user")
    titled(page, "Pages").get_by_role("button", name="Save").click()
    expect(titled(page, "Pages").get_by_role("status")).to_have_text("Saved")
    settings = old.settings()
    assert (settings["ui"]["homepage"], settings["variables"]["bits"][2]) == ("Status for user", 1)
    expect(page.get_by_label("Sign the administrator in by itself")).to_be_visible()


def test_name_clock_picture_and_places_are_set_and_shown(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    data = BytesIO()
    Image.new("RGB", (40, 30), "white").save(data, "PNG")
    twin.get("/stm.cgi?oname=1Pump")
    page = open_page("interface")
    page.get_by_label("Name of the controller").fill("Boiler room")
    titled(page, "Pages").get_by_role("button", name="Save").click()
    expect(titled(page, "Pages").get_by_role("status")).to_have_text("Saved")
    expect(page.locator(".brand")).to_have_text("Boiler room")
    assert twin.get("/json/network.json").json()["sname"] == "Boiler room"

    clock = titled(page, "Clock")
    clock.get_by_label("Another time").fill("2026-03-01T12:30:00")
    clock.get_by_role("button", name="Set to that time").click()
    expect(clock.get_by_role("status").last).to_have_text("The clock was set.")
    # The tests' controller lives in UTC; the command takes the wall time.
    assert twin.state()["time"] == datetime(2026, 3, 1, 12, 30, tzinfo=UTC).timestamp()
    expect(clock.locator(".value")).to_contain_text("2026")
    expect(clock.locator(".since")).to_contain_text("behind this browser")

    picture = titled(page, "Picture of the panel")
    expect(picture.get_by_role("button", name="Use this picture")).to_be_disabled()
    picture.get_by_label("PNG, JPEG, GIF or WebP").set_input_files(
        {"name": "plan.png", "mimeType": "image/png", "buffer": data.getvalue()}
    )
    picture.get_by_role("button", name="Use this picture").click()
    expect(picture.get_by_role("img")).to_be_visible()
    picture.get_by_role("button", name="Remove the picture").click()
    picture.get_by_role("button", name="Remove the picture").click()
    expect(picture.get_by_role("img")).to_have_count(0)
    assert twin.get("/api/panel").json() == {"picture": None}

    shown = titled(page, "What the Status page shows")
    shown.get_by_label("Pump (OUT1)").uncheck()
    shown.get_by_role("button", name="Save").click()
    expect(shown.get_by_role("status")).to_have_text("Saved")
    visible = twin.settings()["layout"]["visible"]
    assert [index for index, one in enumerate(visible) if not one] == [1]
    page.goto(page.url.replace("interface", "status"))
    expect(page.get_by_role("switch", name="Output 0", exact=True)).to_be_visible()
    expect(page.get_by_role("switch", name="Pump")).to_have_count(0)
