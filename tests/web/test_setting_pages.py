"""Every setting page of the list: each field changed, saved, compared, and found again.

The pages are walked as people would: in every field first something impossible, which has to be
refused on the spot, then another valid value; then the card is saved, what was typed is looked for
in `/api/settings`, and after a reload every field has to show it.
"""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import OpenPage, Serve
from tests.web.test_pages import go, page_names

pytestmark = pytest.mark.needs_program("chromium")

WALK = (Path(__file__).parent / "walk.js").read_text(encoding="utf-8")

#: What a hint says about a text, and one that fits; the first that is found counts.
TEXTS = [
    ("a host name or address", "host.example"),
    ("items in double quotes", '"internet","me","secret"'),
    ("at least 8 characters", "long enough"),
    ("one level of a topic", "walked"),
    ("a topic without", "walked/here"),
    ("host, perhaps", "host.example/walked"),
    ("eight bytes", "28:FF:64:1E:8C:16:03:5A"),
    ("", "Walked *&=+%'"),
]
#: Beginnings of the ids of fields that are left alone, and why.
SKIPPED = {
    "auth": "requiring a sign-in would end the walk",
}
#: Chromium gives advice about passwords that are typed; a card of settings is no sign-in.
ADVICE = r"\[DOM\]"
#: Fields that do not come from the settings.
LIVE = ["powset"]


def walk(page: Page, name: str) -> list[str]:
    """What did not go as it should on one page; nothing where this version has no such page."""
    go(page, name)
    if page.locator("main .trouble").count():
        return []
    options = {"texts": TEXTS, "skipped": list(SKIPPED), "hidden": LIVE}
    found = page.evaluate("(options) => walk(options)", options)
    problems: list[str] = found["problems"]
    page.reload()
    expect(page.locator(f"main[data-page={name}][aria-busy=false]")).to_be_visible()
    shown = page.evaluate("(ids) => shownValues(ids)", list(found["values"]))
    lost = [
        f"{field} shows {shown[field]!r} instead of {typed!r} after a reload"
        for field, typed in found["values"].items()
        if shown[field] != typed
    ]
    return problems + lost


@pytest.mark.parametrize(
    "version", [(), ("3.0", "1.58a"), ("3.5", "1.36")], ids=["newest", "hw30", "sw136"]
)
def test_every_field_of_every_page_is_saved_and_shown_again(
    serve: Serve, open_page: OpenPage, version: tuple[str, ...]
) -> None:
    page = open_page(of=serve(*version), allow=ADVICE)
    page.add_init_script(WALK)
    # The language is one of the settings; here it stays as it is.
    page.evaluate("localStorage.setItem('leverframe.language', 'en')")
    page.reload()
    troubles = {name: walk(page, name) for name in page_names(page)}
    assert {name: found for name, found in troubles.items() if found} == {}
