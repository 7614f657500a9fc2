"""The Variables page in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.clients.served_twin import ServedTwin, eventually
from tests.web.cards import card, save
from tests.web.conftest import OpenPage, Serve

pytestmark = pytest.mark.needs_program("chromium")


def test_a_lever_switches_an_event_variable(twin: ServedTwin, open_page: OpenPage) -> None:
    third = open_page("variables").get_by_role("switch").filter(has_text="EVENT3")
    third.click()
    expect(third).to_have_attribute("aria-checked", "true")
    eventually(lambda: twin.state()["EVENT3"], 1)


def test_a_name_stands_on_the_lever_as_soon_as_it_is_saved(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    page = open_page("variables")
    names = card(page, "Names of the event variables")
    names.get_by_label("EVENT2").fill("Night")
    save(names)
    expect(page.get_by_role("switch").filter(has_text="Night")).to_contain_text("EVENT2")


def test_stored_variables_are_saved_by_kind(twin: ServedTwin, open_page: OpenPage) -> None:
    page = open_page("variables")
    for heading, label, value in [
        ("Bytes", "byte1", "-128"),
        ("Words", "word3", "32767"),
        ("Double words", "dword0", "-2147483648"),
        ("Texts", "string1", "kept *&=+%'"),
    ]:
        card(page, heading).get_by_label(label, exact=True).fill(value)
        save(card(page, heading))
    bits = card(page, "Bits")
    bits.get_by_label("bit5").check()
    save(bits)
    page.reload()
    expect(bits.get_by_label("bit5")).to_be_checked()
    variables = twin.settings()["variables"]
    assert (variables["bytes"][1], variables["words"][3]) == (-128, 32767)
    assert (variables["dwords"][0], variables["strings"][1]) == (-2147483648, "kept *&=+%'")
    assert variables["bits"][4:] == [0, 1, 0, 0]


@pytest.mark.thorough
def test_variables_with_a_meaning_of_their_own_are_not_offered_here(
    serve: Serve, open_page: OpenPage
) -> None:
    page = open_page("variables")
    expect(page.get_by_label("bit0")).to_be_visible()
    for label in ("bit1", "bit2", "bit3", "byte0", "word0"):
        expect(page.get_by_label(label, exact=True)).to_have_count(0)
    # There the first bit signs the administrator in.
    expect(open_page("variables", of=serve("3.5", "1.36")).get_by_label("bit0")).to_have_count(0)


@pytest.mark.thorough
def test_where_only_rules_set_event_variables_they_are_shown_without_a_lever(
    serve: Serve, open_page: OpenPage
) -> None:
    older = open_page("variables", of=serve("3.0", "1.58a"))
    expect(older.locator(".reading").filter(has_text="EVENT8")).to_contain_text("off")
    expect(older.locator(".lever")).to_have_count(0)
    expect(card(older, "Names of the event variables")).to_have_count(0)
