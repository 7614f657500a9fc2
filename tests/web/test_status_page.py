"""The Status page in a real browser."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from leverframe.profile import Profile
from tests.clients.served_twin import LoopThread, ServedTwin, served

pytestmark = pytest.mark.needs_program("chromium")

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture
def twin() -> Iterator[ServedTwin]:
    thread = LoopThread()
    try:
        with served(thread, Profile()) as twin:
            yield twin
    finally:
        thread.close()


@pytest.fixture
def page(twin: ServedTwin) -> Iterator[Page]:
    """The page, open and live; what the browser complains of fails the test."""
    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=list(QUIET)
        )
        page = browser.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text))
        # A refused request is no fault of the page, but the browser writes it to its console.
        page.goto(f"http://127.0.0.1:{twin.port}/")
        expect(page.locator(".connection[data-kind=live]")).to_be_visible()
        yield page
        browser.close()
    assert [text for text in complaints if "423 (Locked)" not in text] == []


def test_a_lever_switches_its_output(twin: ServedTwin, page: Page) -> None:
    out1 = page.get_by_role("switch").filter(has_text="OUT1")
    out1.click()
    expect(out1).to_have_attribute("aria-checked", "true")
    assert twin.state()["OUT1"] == 1


def test_what_changes_elsewhere_shows_by_itself(twin: ServedTwin, page: Page) -> None:
    twin.get("/stm.cgi?oname=2Pump")
    twin.get("/outs.cgi?out2=1")
    twin.feel(DS1=61.4)
    expect(page.get_by_role("switch").filter(has_text="Pump")).to_have_attribute(
        "aria-checked", "true"
    )
    expect(page.locator(".reading").filter(has_text="DS1")).to_contain_text("61.4")


def test_an_absent_reading_says_since_when(twin: ServedTwin, page: Page) -> None:
    twin.feel(DS1=20.0)
    twin.feel(DS1=None)
    expect(page.locator(".reading[data-absent]")).to_contain_text("absent since")


def test_the_duty_follows_the_slider(twin: ServedTwin, page: Page) -> None:
    page.get_by_label("duty of PWM3").fill("75")
    expect(page.locator(".duty output").nth(3)).to_have_text("75 %")
    assert twin.settings()["pwm"][3]["duty"] == 75


def test_a_locked_output_says_why_it_does_not_move(twin: ServedTwin, page: Page) -> None:
    twin.get("/stm.cgi?outblock=1")
    page.get_by_role("switch").filter(has_text="OUT0").click()
    expect(page.get_by_role("alert")).to_contain_text("locked")
