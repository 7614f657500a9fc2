"""Messages, System and More begin with an overview of states; forms come after it."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from leverframe.host.services import Sending
from tests.clients.served_twin import ServedTwin
from tests.web.conftest import PHONE, OpenPage, Serve
from tests.web.signing_in import sign_in_as_user
from tests.web.test_tasks import NO_SERVER

pytestmark = pytest.mark.needs_program("chromium")


def row(page: Page, title: str) -> Locator:
    return page.locator(".overview li").filter(has=page.get_by_role("link", name=title, exact=True))


def test_messages_begin_with_the_state_of_every_channel(serve: Serve, open_page: OpenPage) -> None:
    twin = serve(sending=Sending(capture=False))
    page = open_page("messages", of=twin)
    expect(page.locator("main form")).to_have_count(0)
    expect(row(page, "E-mail")).to_contain_text("not set up")
    expect(row(page, "Outbox")).to_contain_text("nothing sent yet")
    # What cannot be delivered is seen here, with the reason.
    twin.get(NO_SERVER)
    twin.get("/stm.cgi?testemail=1")
    problem = row(page, "E-mail").locator("[data-kind=attention]")
    expect(problem).to_contain_text("127.0.0.1 → ")
    expect(row(page, "E-mail").get_by_role("img", name="1 finding")).to_be_visible()
    row(page, "E-mail").get_by_role("link").click()
    expect(page.locator("[data-part=email] form").first).to_be_visible()
    page.locator(".part").get_by_role("link", name="Messages").click()
    expect(row(page, "MQTT")).to_contain_text("not set up")


def test_system_begins_with_states_and_each_group_has_an_address(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?sname=Greenhouse")
    page = open_page("system")
    expect(page.locator("main form")).to_have_count(0)
    expect(row(page, "Pages and clock")).to_contain_text("Greenhouse")
    expect(row(page, "Accounts")).to_contain_text("2 accounts")
    expect(row(page, "Display")).to_contain_text("off")
    row(page, "Display").get_by_role("link").click()
    expect(page).to_have_url(re.compile("open=display"))
    expect(page.locator("[data-part=display] form").first).to_be_visible()
    page.go_back()
    expect(row(page, "Firmware and site")).to_contain_text("HW 3.9 SW 1.75")


def test_single_group_needs_no_overview(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("system")
    sign_in_as_user(page, twin)
    expect(page.locator("[data-part=accounts][data-open]")).to_be_visible()
    expect(page.locator(".overview")).to_have_count(0)


def test_more_shows_the_state_of_the_pages_on_a_phone(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("more", viewport=PHONE)
    expect(row(page, "Status")).to_contain_text("no findings")
    expect(row(page, "Things")).to_contain_text(re.compile(r"\d+ things"))
    row(page, "Schedule").get_by_role("link").click()
    expect(page.locator("main[data-page=schedule]")).to_be_visible()
