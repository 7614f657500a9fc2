"""The description of the command table: complete, plain data, and true for its version."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from leverframe.core.profile import Profile
from leverframe.interface.descriptions.listing import (
    CommandDescription,
    command_table,
    describe_row,
    example_texts,
)
from leverframe.interface.descriptions.schemas import reply_schemas
from leverframe.interface.table.lookup import TABLE, Call, find
from tests.boundary_profiles import PROFILES
from tests.effort import some_of

NEWEST = Profile()
OLDEST = Profile("3.0", "1.10")


def describe(profile: Profile, line: str) -> dict[str, Any]:
    return next(found for found in command_table(profile) if found["line"] == line)


@pytest.mark.parametrize("profile", some_of(PROFILES), ids=str)
def test_table_of_a_version_is_what_it_offers(profile: Profile) -> None:
    lines = [found["line"] for found in command_table(profile)]
    assert lines == [row.line for row in TABLE if row.is_offered(profile)]


@pytest.mark.parametrize("profile", [NEWEST, OLDEST], ids=str)
def test_description_is_plain_data(profile: Profile) -> None:
    table = command_table(profile)
    assert json.loads(json.dumps(table)) == table


@pytest.mark.parametrize("profile", [NEWEST, OLDEST], ids=str)
def test_table_is_what_the_openapi_document_says_about_it(profile: Profile) -> None:
    (found,), named = reply_schemas([list[CommandDescription]])
    schema = {"components": {"schemas": named}, **found}
    assert list(Draft202012Validator(schema).iter_errors(command_table(profile))) == []


@pytest.mark.parametrize("profile", some_of(PROFILES), ids=str)
def test_filling_the_text_of_every_item_gives_a_command_of_the_row(profile: Profile) -> None:
    """A form needs nothing but the description: it replaces each hole and joins the items."""
    for row in TABLE:
        if not row.is_offered(profile) or not row.form.items:
            continue
        found = describe_row(row, profile)
        query = "&".join(item["text"] for item in found["items"])
        for letter, text in example_texts(row, profile).items():
            query = query.replace(f"<{letter}>", text)
        assert query == found["example"].partition("?")[2]
        (call,) = find(found["method"], found["path"], query.split("&"), profile)
        assert isinstance(call, Call)


def _letters(found: dict[str, Any]) -> list[str]:
    return [field["letter"] for field in found["fields"]]


def test_field_is_described_with_limits_and_words() -> None:
    found = describe(NEWEST, "GET /stm.cgi?modbus_sensor=<A><B>")
    index, module = found["fields"]
    assert index["schema"] == {"type": "integer", "minimum": 0, "maximum": 2}
    assert index["allowed"] == "0 to 2"
    assert module["schema"]["x-words"]["9"] == "DTSU666"
    assert found["sets"] == {"B": ["modbus_slots.{A}.module"]}
    assert found["available"] == "HW 3.5+"


def test_words_follow_the_version() -> None:
    line = "GET /stm.cgi?usart_sensor=<A>"
    words = [
        describe(profile, line)["fields"][0]["schema"]["x-words"]["6"]
        for profile in (NEWEST, OLDEST)
    ]
    assert words == ["bar/QR code scanner", "SDM120"]


def test_fields_that_a_version_does_not_have_are_left_out() -> None:
    line = next(row.line for row in TABLE if "?event=" in row.line)
    newest, oldest = describe(NEWEST, line), describe(OLDEST, line)
    assert "".join(_letters(newest)) == "ABCDEFGHIJKLMNOP"
    assert "".join(_letters(oldest)) == "ABCDEFGHIJKL"
    assert oldest["items"][0]["text"] == "event=<A>*<B>*<C>*<D>*<E>*<F>*<G>*<H>*<I>*<J>*<K>*<L>"


def test_optional_fields_are_described() -> None:
    line = next(row.line for row in TABLE if "?event=" in row.line)
    fields = describe(NEWEST, line)["fields"]
    assert [field["letter"] for field in fields if field["optional"]] == ["L", "M", "N", "O", "P"]


def test_every_kind_of_body_is_described() -> None:
    bodies = {
        found["line"].partition("?")[2]: found["body"]
        for found in command_table(NEWEST)
        if found["body"]
    }
    assert {name: body["kind"] for name, body in bodies.items()} == {
        "mod_custom_save": "list",
        "modbus_readings_save": "list",
        "oled_save": "form",
        "wwwfileupload": "upload",
        "settingsupload": "upload",
        "pictureupload": "upload",
        "sched_save": "list",
        "users_save": "list",
        "signin": "form",
        "passwd": "form",
    }
    assert bodies["users_save"]["item"] == "u<A>=<B>*<C>*<D>"
    assert bodies["users_save"]["fields"][0]["allowed"] == "0 to 49"
    assert bodies["pictureupload"]["max_bytes"] == 16 << 20


def test_list_item_has_only_the_fields_of_its_version() -> None:
    older = describe(Profile("3.5", "1.49"), "POST /post.cgi?mod_custom_save")
    assert older["body"]["item"] == "m<A><B>=<C>*<D>*<E>*<F>*<G>*<H>"
    assert [field["letter"] for field in older["body"]["fields"]] == list("ABCDEFGH")


def test_rows_with_the_same_line_keep_their_own_meaning() -> None:
    meanings = {
        str(profile): describe(profile, "GET /eeprom.cgi?bit2=<A>")["doc"]
        for profile in (Profile("3.9", "1.57"), Profile("3.9", "1.44"))
    }
    assert "names" in meanings["HW 3.9 SW 1.57"]
    assert "homepage" in meanings["HW 3.9 SW 1.44"]
