"""The 1-Wire page in a real browser: scan the bus, give sensors to positions, free them again."""

import pytest
from playwright.sync_api import Page, expect

from tests.clients.served_twin import ServedTwin
from tests.web.conftest import OpenPage, Serve

pytestmark = pytest.mark.needs_program("chromium")

BOILER = "28:FF:64:1E:8C:16:03:5A"
GARDEN = "28:AA:00:1E:8C:16:03:11"
NO_ID = "00:00:00:00:00:00:00:00"


def attach(twin: ServedTwin, *ids: str) -> None:
    twin.get("/sim.cgi?" + "&".join(f"onewire={one}" for one in ids))


def scan(page: Page) -> None:
    page.get_by_role("button", name="Scan the 1-Wire bus").click()


def test_a_sensor_that_the_scan_finds_is_given_to_a_position(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    attach(twin, BOILER, GARDEN)
    page = open_page("onewire")
    scan(page)
    expect(page.get_by_text("Found: 2")).to_be_visible()
    chooser = page.get_by_label(f"Position of {BOILER}")
    # Each is offered a free position of its own.
    expect(page.get_by_label(f"Position of {GARDEN}")).to_have_value("DS1")
    expect(chooser).to_have_value("DS2")
    chooser.select_option("DS3")
    page.locator(".found li", has_text=BOILER).get_by_role("button", name="Assign").click()
    expect(page.locator(".found li", has_text=BOILER)).to_contain_text("is DS3")
    assert [one["id"] for one in twin.settings()["onewire"][:3]] == [NO_ID, NO_ID, BOILER]
    # The position shows what it measures at once.
    twin.set_readings(DS3=61.4)
    third = page.locator("form.card", has=page.get_by_role("heading", name="DS3"))
    expect(third.locator(".value")).to_have_text("61.4°C")


def test_a_scan_that_begins_in_the_middle_finds_all(twin: ServedTwin, open_page: OpenPage) -> None:
    attach(twin, BOILER, GARDEN)
    twin.get("/stm.cgi?dswrite=0")
    page = open_page("onewire")
    scan(page)
    expect(page.locator(".found code")).to_have_text([GARDEN, BOILER])


def test_an_empty_bus_says_what_to_do(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("onewire")
    scan(page)
    expect(page.locator(".empty")).to_contain_text("Check the wiring")


def test_a_position_is_freed_by_a_second_press(twin: ServedTwin, open_page: OpenPage) -> None:
    twin.get(f"/stm.cgi?dswrite=1:{BOILER}")
    page = open_page("onewire")
    card = page.locator("form.card").first
    card.get_by_role("button", name="Free this position").click()
    expect(card).to_contain_text("DS1 then has no reading")
    assert twin.settings()["onewire"][0]["id"] == BOILER
    card.get_by_role("button", name="Free this position").click()
    expect(card).to_contain_text("no sensor assigned")
    assert twin.settings()["onewire"][0]["id"] == NO_ID


def test_an_id_of_the_wrong_form_is_refused_in_words(twin: ServedTwin, open_page: OpenPage) -> None:
    card = open_page("onewire").locator("form.card").first
    card.get_by_label("ID of the sensor").fill("28:ff")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("alert")).to_contain_text("Not the right form. Allowed: eight bytes")


@pytest.mark.parametrize(
    ("version", "cards"), [((), 8 + 3), (("3.0", "1.58a"), 8), (("3.5", "1.36"), 8)]
)
@pytest.mark.thorough
def test_a_version_offers_just_the_sensors_that_it_has(
    serve: Serve, open_page: OpenPage, version: tuple[str, ...], cards: int
) -> None:
    page = open_page("onewire", of=serve(*version))
    expect(page.locator("form.card")).to_have_count(cards)
