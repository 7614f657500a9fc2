"""The search in a real browser: by the key `/` to a thing, a field, a command and a page."""

import pytest
from playwright.sync_api import Page, Route, expect

from tests.clients.served_twin import ServedTwin
from tests.web.conftest import OpenPage


def look_for(page: Page, typed: str) -> None:
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name="Search")).to_be_focused()
    page.keyboard.type(typed)
    # It says nothing more once it has looked through everything, and found something.
    expect(page.locator("dialog.search [role=status]")).to_have_text("")


@pytest.mark.thorough
def test_keyboard_alone_leads_to_things_fields_commands_and_pages(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?oname=2Żarówka")
    page = open_page("status")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    assert not [url for url in asked if "/pages/search/" in url]
    look_for(page, "zarow")
    expect(page.locator("#search-found li").first).to_contain_text("Żarówka")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Żarówka")).to_be_visible()
    assert page.url.endswith("#/status?thing=OUT2")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)

    look_for(page, "name of the controller")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Name of the controller")).to_be_focused()

    page.locator("main").focus()
    look_for(page, "pulse seconds")
    page.keyboard.press("Enter")
    expect(page.locator("details.row[open] summary")).to_contain_text("/outs.cgi?pulse<A>=<B>")
    expect(page.get_by_label("seconds (B)")).to_be_in_viewport()

    page.locator("main").focus()
    look_for(page, "mqtt")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(
        page.locator("main[data-page=messages][aria-busy=false] [data-part=mqtt][data-open]")
    ).to_be_visible()
    # What is typed before the search has come is not lost.
    page.get_by_role("button", name="Search").click()
    page.keyboard.type("qqqq")
    expect(page.get_by_text("No results for “qqqq”.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.thorough
def test_text_typed_while_the_search_loads_is_searched(
    open_page: OpenPage,
) -> None:
    page = open_page("status", fresh=True)
    held: list[Route] = []
    page.route("**/pages/search/dialog.js", lambda route: held.append(route))
    with page.expect_request("**/pages/search/dialog.js"):
        page.get_by_role("button", name="Search").click()
    page.keyboard.type("mqtt")
    expect(page.get_by_role("dialog")).to_have_count(0)
    held[0].continue_()
    expect(page.get_by_role("combobox", name="Search")).to_have_value("mqtt")
    expect(page.locator("#search-found li").first).to_be_visible()


@pytest.mark.thorough
def test_back_closes_the_search_and_what_was_found_takes_its_place(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("rules")
    page.goto(f"{page.url.partition('#')[0]}#/schedule")
    expect(page.locator("main[data-page=schedule][aria-busy=false]")).to_be_visible()
    search = page.locator("dialog.search")
    look_for(page, "rules")
    page.go_back()
    expect(search).to_have_count(0)
    assert page.url.endswith("#/schedule")
    # Once closed otherwise, it is no step any more.
    look_for(page, "status")
    page.keyboard.press("Escape")
    expect(search).to_have_count(0)
    look_for(page, "status")
    expect(page.locator("#search-found li").first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("main[data-page=status][aria-busy=false]")).to_be_visible()
    page.go_back()
    expect(page.locator("main[data-page=schedule][aria-busy=false]")).to_be_visible()
    page.go_back()
    expect(page.locator("main[data-page=rules]")).to_be_visible()


@pytest.mark.thorough
def test_open_page_is_found_without_navigation(open_page: OpenPage) -> None:
    page = open_page("status")
    page.locator("nav.groups").get_by_role("link", name="Schedule").click()
    expect(page.locator("main[data-page=schedule][aria-busy=false]")).to_be_visible()
    look_for(page, "schedule")
    page.locator("#search-found a[href='#/schedule']").click()
    expect(page.locator("dialog.search")).to_have_count(0)
    page.go_back()
    expect(page.locator("main[data-page=status]")).to_be_visible()
