"""`leverframe commands`: a table for people, plain text for programs."""

import io

import pytest
from rich.console import Console

from leverframe.core.errors import DONE, NO
from leverframe.core.profile import Profile
from leverframe.host.command_line.listings import list_commands, print_commands
from leverframe.interface.table.lookup import TABLE
from tests.cases import for_each

NEWEST = Profile()


def print_table(word: str | None, profile: Profile = NEWEST, *, terminal: bool = False) -> str:
    out = io.StringIO()
    console = Console(
        file=out, force_terminal=terminal, width=120 if terminal else 60, color_system=None
    )
    print_commands(profile, word, console)
    return out.getvalue()


def commands(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(("GET ", "POST "))]


@pytest.mark.parametrize("profile", [NEWEST, Profile("3.0", "1.36")], ids=str)
def test_without_a_word_all_commands_of_the_version_are_listed(profile: Profile) -> None:
    assert commands(print_table(None, profile)) == [x.line for x in TABLE if x.is_offered(profile)]


@for_each(
    ("word", "line"),
    [
        ("ortime", "GET /outs.cgi?ortime=<A><B>"),
        ("RETURN_TIME", "GET /outs.cgi?ortime=<A><B>"),
        ("after it switches on", "GET /outs.cgi?ortime=<A><B>"),
        ("DTSU666", "GET /stm.cgi?modbus_sensor=<A><B>"),
        ("HV DC meter", "GET /inpa.cgi?sensor=<A><B>"),
    ],
)
def test_word_finds_commands_by_form_setting_sentence_and_code(word: str, line: str) -> None:
    assert commands(print_table(word)) == [line]


def test_word_that_nothing_contains_is_answered_with_a_sentence() -> None:
    assert print_table("[zzz]") == "HW 3.9 SW 1.75 has no command with '[zzz]'.\n"


@pytest.mark.parametrize(("word", "code"), [("ortime", DONE), ("zzz", NO), (None, DONE)])
def test_exit_code_says_whether_something_was_found(word: str | None, code: int) -> None:
    assert list_commands(word, "3.9", None) == code


def test_plain_text_is_never_wrapped() -> None:
    line = max((row.line for row in TABLE), key=len)
    assert line in commands(print_table("em9"))


def test_fields_show_their_codes() -> None:
    assert "    A: language codes 0-4 (0 PL, 1 EN, 2 FR, 3 HU, 4 CZ)\n" in print_table("lang=")


def test_fields_of_a_body_are_shown() -> None:
    assert "    frequency: 50 to 400, optional\n" in print_table("oled_save")


def test_deprecated_command_says_so() -> None:
    assert "(Deprecated.)" in print_table("gsmnumber=")


def test_terminal_gets_a_table_that_shows_brackets_as_they_are() -> None:
    text = print_table("toggle an output", terminal=True)
    assert "GET /outs.cgi?out=out<A>" in text
    assert "what it does" in text
    assert "┃" in text


def test_hardware_alone_is_that_with_its_newest_software(
    capsys: pytest.CaptureFixture[str],
) -> None:
    list_commands(None, "3.0", None)
    oldest = Profile("3.0", "1.58a")
    assert capsys.readouterr().out.split() == print_table(None, oldest).split()
