"""Text of strangers stands in a line and does nothing else, and means the same as before."""

import ast
import json
import tomllib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.errors import print_lines, print_warnings, printable, printable_json
from leverframe.host.configuration.keys import as_toml
from leverframe.units.unit_text import toml_value
from tests.effort import examples
from tests.units.hostile_unit import ACTING

PACKAGE = Path(__file__).parents[2] / "src" / "leverframe"
#: Parts whose texts come from units: they print by `print_lines` alone.
ABOUT_UNITS = ("units", "recording")

anything = st.text(st.characters(exclude_categories=("Cs",)) | st.sampled_from(ACTING))


def test_every_acting_character_becomes_an_escape() -> None:
    for letter in (*ACTING, *map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), "\ud800"):
        shown = printable(letter)
        assert shown.startswith("\\")
        assert shown.isascii()


def test_letters_of_all_languages_and_spaces_stay() -> None:
    text = "Zażółć gęślą jaźń, 温度 – température\u202f: 21\u00a0°C 🌡"
    assert printable(text) == text


@given(st.text())
def test_printable_text_is_one_line(text: str) -> None:
    shown = printable(text)
    assert "\n" not in shown
    assert not any(letter in ACTING for letter in shown)
    assert printable(shown) == shown


@examples(200)
@given(st.recursive(anything, lambda inner: st.lists(inner) | st.dictionaries(anything, inner)))
def test_printable_json_means_the_same(document: object) -> None:
    for text in (
        msgspec.json.encode(document).decode(),
        msgspec.json.format(msgspec.json.encode(document), indent=2).decode(),
        json.dumps(document, ensure_ascii=False),
    ):
        shown = printable_json(text)
        assert json.loads(shown) == document
        assert not any(letter in ACTING for letter in shown if letter != "\n")


@given(anything)
def test_values_of_toml_mean_the_same(text: str) -> None:
    for written in (toml_value(text), as_toml(text)):
        assert tomllib.loads(f"x = {written}")["x"] == text
        assert printable(written) == written


def test_each_text_is_printed_as_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_lines(["one\ntwo\x1b[2J", "three"])
    print_warnings(["four\r"])
    output, errors = capsys.readouterr()
    assert output == "one\\u000atwo\\u001b[2J\nthree\n"
    assert errors == "leverframe: four\\u000d\n"


def test_commands_about_units_print_by_the_one_guarded_way() -> None:
    printing = [
        f"{file.relative_to(PACKAGE)}:{node.lineno}"
        for part in ABOUT_UNITS
        for file in (PACKAGE / part).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]
    assert printing == []
