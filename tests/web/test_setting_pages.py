"""Every form of settings: each field changed, saved, compared, and found again.

Groups of settings and drawers are walked as people would: first something impossible is typed into
every field, which has to be refused on the spot, then another valid value; then the card is saved,
and what was typed is looked for in `/api/settings`. When all are through, the browser reloads, and
every field has to show what was typed into it.
In older versions only fields of commands are tried that differ there from the newest version.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from leverframe.core.profile import Profile
from leverframe.interface.descriptions.listing import CommandDescription, command_table
from tests.boundary_profiles import NEWEST
from tests.web.conftest import OpenPage, Serve
from tests.web.test_pages import go, routes

pytestmark = pytest.mark.needs_program("chromium")

WALK = (Path(__file__).parent / "walk.js").read_text(encoding="utf-8")

#: What a hint says about a text, and one that fits; the first that is found counts.
TEXTS = [
    ("a host name or address", "host.example"),
    ("items in double quotes", '"internet","me","secret"'),
    ("at least 8 characters", "long enough"),
    ("one level of a topic", "walked"),
    ("a topic without", "walked/here"),
    ("such as europe/warsaw", "Europe/Warsaw"),
    ("host with optional", "host.example/walked"),
    ("eight bytes", "28:FF:64:1E:8C:16:03:5A"),
    ("", "Walked *&=+%'"),
]
#: Beginnings of the ids of fields that are left alone, and why.
SKIPPED = {
    "auth": "requiring a sign-in would end the walk",
    "outblock": "locked outputs refuse what later drawers set; see test_thing_settings.py",
}
#: The drawers of the last thing of each kind, where a wrong place would show, and those of all.
DRAWERS = [
    *["OUT5", "PWM3", "INPD4", "INPA6", "DS8", "T1", "H1", "P1", "DIFF6", "POWER6", "SLOT3"],
    *["m30", "WRITE8", "WDOG6", "EVENT8", "STRING1", "INPA4"],
    *[f"all-{name}" for name in ("outputs", "pwm", "digital", "sensors", "meters", "texts")],
]
#: Those of older versions that have fields of their own, which will not become more.
DRAWERS_OF_HW30 = [
    *["INPA4", "INPA6", "DIFF3", "POWER4", "SLOT1", "WRITE8", "all-sensors", "all-texts"],
]
DRAWERS_OF_SW136 = [
    *["DIFF3", "POWER4", "m30", "all-pwm", "all-sensors", "all-texts"],
]
#: Chromium gives advice about passwords that are typed; a card of settings is no sign-in.
ADVICE = r"\[DOM\]"
#: Fields that do not come from the settings.
LIVE = ["powset"]


def by_name(profile: Profile) -> dict[str, list[CommandDescription]]:
    found: dict[str, list[CommandDescription]] = {}
    for command in command_table(profile):
        if command["items"]:
            found.setdefault(command["items"][0]["name"], []).append(command)
    return found


def same_as_in_newest(profile: Profile) -> list[str]:
    """List the beginnings of ids of fields whose commands are as in the newest version."""
    if profile == NEWEST:
        return []
    newest = by_name(NEWEST)
    beginnings: list[str] = []
    for name, commands in by_name(profile).items():
        if newest.get(name) == commands:
            forms = [command["items"][0]["text"] for command in commands]
            # As fields call their command: lib/forms/bound_field.js makes ids of it.
            beginnings += [name, re.sub("<.>", "", name), *forms]
    return [re.sub(r"[^\w-]", "_", beginning) + "-" for beginning in beginnings]


def walk(page: Page, name: str, skipped: list[str]) -> tuple[list[str], dict[str, Any]]:
    """Try one page: what did not go as it should, and what was typed by the ids of the fields."""
    go(page, name)
    # A version that lacks this page shows why instead.
    if page.locator("main .trouble").count():
        return [], {}
    options = {"texts": TEXTS, "skipped": [*SKIPPED, *skipped], "hidden": LIVE}
    found = page.evaluate("(options) => walk(options)", options)
    return found["problems"], found["values"]


def list_lost(page: Page, name: str, typed: dict[str, Any]) -> list[str]:
    """The fields of a page that do not show what was typed."""
    go(page, name)
    shown = page.evaluate("(ids) => shownValues(ids)", list(typed))
    return [
        f"{field} shows {shown[field]!r} instead of {value!r} after a reload"
        for field, value in typed.items()
        if shown[field] != value
    ]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("profile", "labels"),
    [
        pytest.param(NEWEST, DRAWERS, id="newest"),
        pytest.param(Profile("3.0", "1.58a"), DRAWERS_OF_HW30, id="hw30"),
        pytest.param(Profile("3.5", "1.36"), DRAWERS_OF_SW136, id="sw136"),
    ],
)
def test_every_field_of_every_page_is_saved_and_shown_again(
    serve: Serve, open_page: OpenPage, profile: Profile, labels: list[str]
) -> None:
    page = open_page(of=serve(profile.hw, profile.sw), allow=ADVICE, fresh=True)
    page.add_init_script(WALK)
    # The language is one of the settings; here it stays as it is.
    page.evaluate("localStorage.setItem('leverframe.language', 'en')")
    page.reload()
    drawers = [f"things?thing={label}" for label in labels]
    skipped = same_as_in_newest(profile)
    walks = {name: walk(page, name, skipped) for name in [*routes(page), *drawers]}
    assert [name for name in drawers if not walks[name][1]] == []
    page.reload()
    troubles = {
        name: problems + (list_lost(page, name, typed) if typed else [])
        for name, (problems, typed) in walks.items()
    }
    assert {name: found for name, found in troubles.items() if found} == {}
