"""What a card of settings does with secrets and lists, on a page of its own.

What a card sends and refuses is tested without a browser: logic/forms.test.js.

The card is made in the browser from the modules of the pages, so that no setting page is needed.
"""

import json
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.clients.served_twin import ServedTwin
from tests.web.conftest import OpenPage

pytestmark = pytest.mark.needs_program("chromium")

SHOW_CARD = """
async (spec) => {
  // The files of this version: the same modules as the page's own, with their words.
  const base = document.querySelector("script[type=module]").src.replace(/[^/]+$/, "");
  const [{ render }, { Form }, { Context }, { keepDrawn }, { Live }, words] = await Promise.all([
    import(base + "vendor/lit-html.js"),
    import(base + "lib/forms/form.js"),
    import(base + "lib/live/context.js"),
    import(base + "lib/live/drawing.js"),
    import(base + "lib/live/live.js"),
    import(base + "lib/format/words.js"),
  ]);
  const place = document.createElement("div");
  document.body.prepend(place);
  const context = new Context(new Live());
  await context.load();
  await Promise.all([context.knowCommands(), words.completeWords()]);
  const form = new Form(context, spec);
  keepDrawn(() => render(form.view(), place));
}
"""


def show_card(page: Page, *fields: dict[str, Any], **more: Any) -> Locator:
    """A card with these fields; their labels are the names of the commands and letters."""
    named = [
        {"plainLabel": f"{field['command']} {field.get('part', field.get('letter', ''))}".strip()}
        | field
        for field in fields
    ]
    page.evaluate(SHOW_CARD, json.loads(json.dumps({"heading": "card", "fields": named, **more})))
    return page.locator("form.card").first


def save(card: Locator) -> None:
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("status")).to_have_text("Saved")


def test_secret_that_a_changed_command_carries_is_asked_for_again(
    twin: ServedTwin, open_page: OpenPage
) -> None:
    twin.get("/stm.cgi?mqtt=1*broker.example*1883*cellar*secret*leverframe*0")
    letters = [{"command": "mqtt", "letter": letter} for letter in "ABCDEFG"]
    card = show_card(open_page("more"), *letters)
    password = card.get_by_label("mqtt E")
    expect(password).to_have_attribute("type", "password")
    expect(password).to_have_value("")
    card.get_by_label("mqtt B").fill("other.example")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("alert")).to_contain_text("Enter this value again")
    expect(password).to_be_focused()
    password.fill("other secret")
    save(card)
    mqtt = twin.settings()["mqtt"]
    assert (mqtt["host"], mqtt["username"], mqtt["password"]) == ("other.example", "cellar", "***")


@pytest.mark.thorough
def test_list_grows_and_shrinks_within_its_limits(twin: ServedTwin, open_page: OpenPage) -> None:
    card = show_card(
        open_page("more"),
        {"command": "gsmnumber<A>", "at": {"A": 1}, "path": "gsm.sms.0.numbers"},
    )
    card.get_by_role("button", name="Add").click()
    card.get_by_role("textbox").fill("+48123456789")
    card.get_by_role("button", name="Add").click()
    card.get_by_role("textbox").nth(1).fill("12")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("alert")).to_contain_text("Wrong format")
    card.get_by_role("button", name="Remove").nth(1).click()
    save(card)
    assert twin.settings()["gsm"]["sms"][0]["numbers"] == ["+48123456789"]
