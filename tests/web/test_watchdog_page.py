"""The Watchdog page in a real browser: six entries, each with what it has seen."""

import pytest
from playwright.sync_api import expect

from tests.clients.served_twin import ServedTwin
from tests.web.conftest import OpenPage

pytestmark = pytest.mark.needs_program("chromium")


def test_an_entry_is_saved_beside_the_others_and_shows_what_it_sees(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("watchdog")
    second = page.locator("form.card").nth(1)
    guard = page.locator(".guard").nth(1)
    expect(guard).to_have_text("off")
    second.get_by_label("Watch this host").check()
    second.get_by_label("Host to ping").fill("router.example")
    second.get_by_label("Output to restart").select_option("PWM1")
    second.get_by_label("Failures before a restart").fill("2")
    second.get_by_label("Wait after the controller’s start").fill("5")
    second.get_by_role("button", name="Save").click()
    expect(second.get_by_role("heading")).to_have_text("Watchdog 2 · router.example")
    entries = twin.settings()["watchdog"]
    assert (entries[1]["host"], entries[1]["output"], entries[1]["failures"]) == (
        "router.example",
        "PWM1",
        2,
    )
    assert [entry["enabled"] for entry in entries] == [False, True, *[False] * 4]
    expect(guard).to_contain_text("waiting")
    twin.get("/sim.cgi?ping=router.example:12.5")
    twin.get("/sim.cgi?advance=6")
    expect(guard).to_contain_text("watching")


def test_a_number_out_of_range_is_refused_beside_its_field(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    first = open_page("watchdog").locator("form.card").nth(0)
    first.get_by_label("Wait for an answer").fill("61")
    first.get_by_role("button", name="Save").click()
    expect(first.get_by_role("alert")).to_have_text("Out of range. Allowed: 1 s to 1 min.")
    assert twin.settings()["watchdog"][0]["timeout"] == 2
