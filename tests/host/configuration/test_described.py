"""What is said about the keys of the configuration."""

from collections import Counter

import msgspec
import pytest

from leverframe.host.configuration import Config
from leverframe.host.configuration.keys import (
    REQUIRED,
    Key,
    describe_type,
    keys,
    list_labelled,
    nearest,
)
from tests.cases import for_each

ALL = [*keys(), *(key for tables in list_labelled() for key in tables.keys)]


@for_each("key", ALL, ids=lambda key: key.name)
def test_every_key_says_what_it_means(key: Key) -> None:
    assert key.description.endswith("."), f"{key.name} needs Meta(description=...) with a sentence"


@for_each("key", keys(), ids=lambda key: key.name)
def test_key_without_a_default_shows_a_value_that_fits(key: Key) -> None:
    if key.default in (None, REQUIRED):
        assert key.example is not None, f"{key.name} needs Meta(examples=[...])"
        msgspec.convert(key.example, key.hint)


def test_every_field_is_a_key_or_a_table_of_keys() -> None:
    places = {key.place[0] for key in keys()}
    assert places == set(Config.__struct_fields__)


@pytest.mark.parametrize("attribute", ["name", "variable", "flag"])
def test_no_two_keys_are_called_the_same(attribute: str) -> None:
    counted = Counter(getattr(key, attribute) for key in keys())
    assert [name for name, times in counted.items() if times > 1] == []


def test_names_follow_the_place_of_a_key() -> None:
    key = next(key for key in keys() if key.place == ("board", "onewire", "extra"))
    assert key.name == "board.onewire.extra"
    assert key.variable == "LEVERFRAME_BOARD_ONEWIRE_EXTRA"
    assert key.flag == "--board-onewire-extra"
    assert key.is_list


@for_each(
    ("name", "words"),
    [
        ("port", "a whole number from 0 to 65535"),
        ("tls", "true or false"),
        ("capture", "true or false"),
        ("ca_file", "a string of at least one character"),
        ("hosts", "a list of strings"),
        ("log_format", '"text" or "json"'),
        ("board.i2c.bus", "a whole number of at least 0"),
    ],
)
def test_allowed_values_are_described_in_words(name: str, words: str) -> None:
    (key,) = (key for key in keys() if key.name == name)
    assert describe_type(key.hint) == words


def test_slip_of_the_finger_finds_the_word_that_was_meant() -> None:
    assert nearest("prot", ["port", "host"]) == "port"
    assert nearest("zebra", ["port", "host"]) is None
